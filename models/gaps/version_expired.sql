{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per entity, and scope of it, whose last definition reached its last day with nothing after it, or is no longer stated (a
-- notice: that may be meant), and per definition in force whose certification has run out.
with
{{ attest.present_cte() }},
stretches as (
  select
    timeline.environment, timeline.entity_id, timeline.scope, timeline.evidence_id, timeline.valid_from, timeline.valid_to,
    timeline.end_kind, timeline.removed_on
  from {{ attest.timeline_relation() }} as timeline
),
last_ones as (
  select stretches.environment, stretches.entity_id, stretches.scope,
    max({ends: coalesce(stretches.valid_to, date 'infinity'), kind: stretches.end_kind, evidence_id: stretches.evidence_id}) as last
  from stretches
  group by stretches.environment, stretches.entity_id, stretches.scope
),
trouble as (
  select last_ones.environment, last_ones.entity_id, last_ones.last.evidence_id as evidence_id,
    'a definition in force today' as expected,
    if(last_ones.last.kind = 'removed', 'no longer stated since ' || last_ones.last.ends,
      'expired: its last day was ' || (last_ones.last.ends - 1)) as found,
    {{ attest.start_of_day('last_ones.last.ends') }} as since,
    if(last_ones.last.kind = 'removed', 'State it again; if it is over, with `status: retired` and its last day.',
      'Extend or remove `effective_to`, write the next version, or say `status: retired`.') as repair,
    if(last_ones.last.kind = 'removed', 'notice', 'warning') as severity
  from last_ones
  where last_ones.last.kind in ('expired', 'removed') and last_ones.last.ends <= {{ attest.today() }}
    -- a definition of wider scope holds there, too
    and not exists (
      from stretches as wider
      where wider.environment = last_ones.environment and wider.entity_id = last_ones.entity_id
        and list_has_all(map_entries(last_ones.scope), map_entries(wider.scope))
        and coalesce(wider.valid_to > {{ attest.today() }}, true))
  union all
  select stretches.environment, stretches.entity_id, stretches.evidence_id,
    'a certification that holds today', 'certified until ' || present.certified_until,
    {{ attest.start_of_day('present.certified_until + 1') }},
    'Have it certified again and move `certified_until`, or remove the key.', 'warning'
  from stretches
  join present
    on present.environment = stretches.environment and present.entity_id = stretches.entity_id
      and present.evidence_id = stretches.evidence_id
  where present.certified_until < {{ attest.today() }} and stretches.valid_from <= {{ attest.today() }}
    and coalesce(stretches.valid_to > {{ attest.today() }}, true)
),
found as (
  select
    trouble.environment,
    definition.project_name,
    trouble.entity_id as entity,
    trouble.evidence_id,
    definition.node_id,
    trouble.expected,
    trouble.found,
    definition.file,
    {{ attest.owner_today('definition.owners') }} as owner,
    greatest(trouble.since, definition.known_from) as since,
    trouble.repair,
    trouble.severity
  from trouble
  join {{ attest.recorded_assertions() }} as definition
    on definition.environment = trouble.environment and definition.entity_id = trouble.entity_id
      and definition.evidence_id = trouble.evidence_id and definition.known_until is null
)
{{ attest.gap_select('version_expired') }}
