{#- For models on any engine: the rows of `relation`, each with the answer of its own date from a timeline that `attest export`
    wrote, in plain SQL. It never changes the number of rows, and adds the columns of attest.join_definition, with `prefix`. What
    the timeline does not say is an `abstain`; where it says several things of one day, because it was put together by hand, the
    answer is `review`. The state of knowledge, groups and scope were those of the export.

    relation:      a relation, such as ref('orders'), or SQL text that can stand after `from`
    timeline:      the seed's relation
    date_column:   its date; it must be a date, since engines differ in the day of an instant
    entity:        the entity's id, the same for all rows; or
    entity_column: the column that holds it

    The result stands after `from`; where the engine wants it, with a name: `from {{ attest.join_timeline(…) }} as defined`. -#}
{% macro join_timeline(relation, timeline, date_column, entity=none, entity_column=none, prefix='') %}
  {%- if (entity is none) == (entity_column is none) -%}
    {%- do exceptions.raise_compiler_error("attest.join_timeline expects either entity or entity_column.") -%}
  {%- endif -%}
(
with
asked as (
  select distinct
    cast(facts.{{ date_column }} as date) as on_date,
    {{ attest.literal(entity) if entity is not none else 'facts.' ~ entity_column }} as entity_id
  from {{ relation }} as facts
),
answered as (
  select
    asked.on_date,
    asked.entity_id,
    count(*) as answers,
    min(timeline.outcome) as outcome,
    min(timeline.reason) as reason,
    min(timeline.evidence_id) as evidence_id,
    min(timeline.version) as version,
    min(timeline.valid_from) as valid_from,
    min(timeline.valid_to) as valid_to,
    min(timeline.content_hash) as content_hash
  from asked
  join {{ timeline }} as timeline
    on timeline.entity_id = asked.entity_id
    and (timeline.valid_from is null or timeline.valid_from <= asked.on_date)
    and (timeline.valid_to is null or asked.on_date < timeline.valid_to)
  group by asked.on_date, asked.entity_id
)
select
  facts.*,
  case when answered.answers is null then 'abstain' when answered.answers > 1 then 'review' else answered.outcome end as {{ prefix }}outcome,
  case
    when answered.answers > 1 then 'integrity'
    when answered.answers = 1 then answered.reason
    when facts.{{ date_column }} is null then 'no_date'
    else 'unknown_entity'
  end as {{ prefix }}reason,
  {% for column in ['evidence_id', 'version', 'valid_from', 'valid_to', 'content_hash'] -%}
  case when answered.answers = 1 and answered.outcome = 'answer' then answered.{{ column }} end as {{ prefix }}{{ column }}{{ ',' if not loop.last }}
  {% endfor -%}
from {{ relation }} as facts
left join answered
  on answered.on_date = cast(facts.{{ date_column }} as date)
  and answered.entity_id = {{ attest.literal(entity) if entity is not none else 'facts.' ~ entity_column }}
)
{%- endmacro %}
