{#- For `attest export`: one row per entity and stretch of days [valid_from, valid_to) with one outcome, reason and definition, null
    being without end. The rows of an entity follow one another over all time: a join on the days can double nothing. Of an
    entity that is hidden from the requester there is no row. -#}
{% macro timeline_sql(known_at, groups, scope) %}
with recursive
asked_entities as (
  select distinct assertion.entity_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.environment = {{ attest.literal(attest.environment()) }}
),
{{ attest.span_ctes(known_at, groups, scope) }},
answers as (
  select spans.*,
    {outcome: spans.outcome, reason: spans.reason, evidence_id: spans.evidence_id, content_hash: spans.content_hash} as answer
  from spans
  where spans.reason <> 'unknown_entity'
),
begun as (
  select answers.*,
    lag(answers.answer) over (partition by answers.entity_id order by answers.from_day) is distinct from answers.answer as begins
  from answers
),
numbered as (
  select begun.*, sum(cast(begun.begins as integer)) over (partition by begun.entity_id order by begun.from_day) as number
  from begun
)
select
  numbered.entity_id,
  nullif(min(numbered.from_day), date '-infinity') as valid_from,
  nullif(max(numbered.before_day), date 'infinity') as valid_to,
  numbered.answer.outcome,
  numbered.answer.reason,
  numbered.answer.evidence_id,
  any_value(numbered.version) as version,
  numbered.answer.content_hash
from numbered
group by numbered.entity_id, numbered.number, numbered.answer
order by numbered.entity_id, valid_from nulls first
{% endmacro %}
