{% macro names_like_function() %}
-- One row per entity with a name near `name` that the requester may see, the nearest first, at most three.
with
asked as (
  select
    cast(name as varchar) as text,
    list_append(coalesce({{ attest.to_list('groups') }}, {{ attest.to_list("getvariable('attest_groups')") }}, []), 'everyone') as in_groups,
    coalesce(cast(environment as varchar), cast(getvariable('attest_environment') as varchar),
      {{ attest.literal(attest.environment()) }}) as in_environment
),
{{ attest.recorded_ctes() }},
visible as (
  select distinct recorded.entity_id, unnest(list_append(
    list_concat(recorded.names, list_transform(recorded.aliases, lambda alias: alias.alias)), recorded.entity_id)) as spelled
  from recorded
  join asked on asked.in_environment = recorded.environment and list_has_any(recorded.groups, asked.in_groups)
),
near as (
  select
    visible.entity_id,
    max({likeness: jaro_winkler_similarity(lower(visible.spelled), lower(asked.text)), spelled: visible.spelled}) as best
  from visible cross join asked
  group by visible.entity_id
)
select near.entity_id as entity, near.best.spelled as nearest, near.best.likeness as likeness
from near
where near.best.likeness >= 0.75
order by near.best.likeness desc, near.entity_id
limit 3
{% endmacro %}
