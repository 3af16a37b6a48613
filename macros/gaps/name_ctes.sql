{#- The CTEs `names` and `borne`, from `present`: each name of each entity today with how well it bears it (1 by its id, 2 an alias, 3 a
    dbt name of what governs; with ever, 4 anything that it was ever called), and the entities that bear a name best. -#}
{% macro name_ctes(ever=false) %}
names as (
  select distinct present.environment, present.entity_id, present.evidence_id, present.entity_id as name, 1 as bearing
  from present
  union
  select present.environment, present.entity_id, present.evidence_id, unnest(list_transform(list_filter(present.aliases, lambda alias:
    coalesce(alias.effective_from <= {{ attest.today() }}, true) and coalesce(alias.effective_to >= {{ attest.today() }}, true)),
    lambda alias: alias.alias)), 2
  from present where present.governs
  union
  select present.environment, present.entity_id, present.evidence_id, unnest(present.names), 3
  from present where present.governs
  {%- if ever %}
  union
  select given.environment, given.entity_id, cast(null as varchar), given.name, 4
  from (
    select assertion.environment, assertion.entity_id, assertion.entity_id as name from {{ attest.evidence('assertions') }} as assertion
    union
    select given.environment, given.entity_id, given.name from {{ attest.evidence('names') }} as given
  ) as given
  where given.environment = {{ attest.literal(attest.environment()) }}
  {%- endif %}
),
borne as (
  select names.environment, names.name, names.bearing, list_sort(list(distinct names.entity_id)) as entities
  from names
  group by names.environment, names.name, names.bearing
  qualify names.bearing = min(names.bearing) over (partition by names.environment, names.name)
)
{% endmacro %}

{#- One row per name that means one entity today, for stewards. -#}
{% macro names_sql() %}
with
{{ attest.present_cte() }},
{{ attest.name_ctes(ever=true) }}
select borne.name, borne.entities[1] as entity
from borne
where len(borne.entities) = 1
{% endmacro %}
