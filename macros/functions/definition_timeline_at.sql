{% macro definition_timeline_at_function() %}
-- The rows of `definition_timeline` as known at `known_at`, of the definitions that a requester in `groups` may see.
with recursive
{{ attest.question_ctes("''", 'null', 'null', 'known_at', 'groups', 'null', 'environment') }},
asks as (
  select row_number() over () as ask_id, entity.environment, entity.entity_id, question.known_at
  from (
    select distinct assertion.environment, assertion.entity_id from {{ attest.recorded_assertions() }} as assertion
  ) as entity
  join question on question.environment = entity.environment
),
{{ attest.related_ctes(attest.recorded_assertions()) }},
{{ attest.stretch_ctes(attest.recorded_assertions()) }},
recorded as (
  select assertion.* from {{ attest.recorded_assertions() }} as assertion
),
{{ attest.nodes_seen_cte() }}
{{ attest.timeline_select(for_stewards=false) }}
{% endmacro %}
