{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per definition whose id two entities or projects state, and per governing definition with a name that means several
-- entities: who asks by it gets `clarify`. That a dbt name does, such as of a model and a source, is a notice.
with
{{ attest.present_cte() }},
ids as (
  select present.environment, present.evidence_id,
    list(distinct present.entity_id || ' of ' || present.project_name) as stated_for
  from present
  group by present.environment, present.evidence_id
  having len(stated_for) > 1
),
{{ attest.name_ctes() }},
trouble as (
  select ids.environment, ids.evidence_id, cast(null as varchar) as entity_id,
    'one entity of one project with this evidence_id' as expected,
    array_to_string(list_sort(ids.stated_for), '; ') as found,
    'Give one of them another `evidence_id`.' as repair,
    'error' as severity
  from ids
  union all
  select names.environment, names.evidence_id, names.entity_id,
    'a name of one entity: ' || names.name,
    'also of ' || array_to_string(list_filter(borne.entities, lambda entity: entity <> names.entity_id), ', '),
    if(names.bearing = 2, 'Take the alias away from all but one of them.',
      'Give the name to one of them as an alias (`aliases`), or rename one.'),
    if(names.bearing = 3, 'notice', 'error')
  from names
  join borne on borne.environment = names.environment and borne.name = names.name and borne.bearing = names.bearing
  where len(borne.entities) > 1
  -- the newest definition of the entity speaks for it
  qualify row_number() over (partition by names.environment, names.entity_id, names.name order by names.evidence_id desc) = 1
),
found as (
  select
    {{ attest.gap_about('present') }},
    trouble.expected,
    trouble.found,
    present.known_from as since,
    trouble.repair,
    trouble.severity
  from trouble
  join present
    on present.environment = trouble.environment and present.evidence_id = trouble.evidence_id
      and present.entity_id = coalesce(trouble.entity_id, present.entity_id)
)
{{ attest.gap_select('identity_conflict') }}
