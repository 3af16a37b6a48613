{#- For people's models: the rows of `relation`, each with the definition in force on its own date. It never changes the
    number of rows. Added columns, with `prefix`: outcome, reason, evidence_id, version, valid_from, valid_to (exclusive,
    null is open).

    relation:      a relation, such as ref('orders'), or SQL text that can stand after `from`
    date_column:   its date; an instant is taken at UTC
    entity:        the entity's id, the same for all rows; or
    entity_column: the column that holds it
    known_at:      the state of knowledge; none is everything recorded
    groups, scope: of the requester; without groups, the var attest_groups -#}
{% macro join_definition(relation, date_column, entity=none, entity_column=none, prefix='', known_at=none, groups=none, scope=none) %}
  {{- attest.require_duckdb('join_definition') -}}
  {%- if (entity is none) == (entity_column is none) -%}
    {%- do exceptions.raise_compiler_error("attest.join_definition expects either entity or entity_column.") -%}
  {%- endif -%}
(
with recursive
recorded as (
  -- a unit test gives only the columns that matter to it; what the view never leaves null gets its usual value here
  select assertion.* replace (
    {{ attest.literal(attest.environment()) }} as environment,
    coalesce(assertion.status, 'approved') as status,
    coalesce(assertion.supersedes, []) as supersedes,
    coalesce(assertion.superseded_by, []) as superseded_by,
    coalesce(assertion.scope, map {}) as scope,
    coalesce(assertion.known_from, timestamptz '-infinity') as known_from,
    coalesce(assertion.still_stated, true) as still_stated,
    coalesce(assertion.was_governing,
      assertion.authority = 'authoritative' and coalesce(assertion.status, 'approved') not in ('draft', 'void'), false) as was_governing,
    coalesce(assertion.logic_changed, false) as logic_changed,
    coalesce(assertion.hidden, false) as hidden
  )
  from {{ attest.recorded_assertions() }} as assertion
  where coalesce(assertion.environment, {{ attest.literal(attest.environment()) }}) = {{ attest.literal(attest.environment()) }}
),
request as (
  select cast(null as varchar) as name, list_append({{ attest.groups_literal(groups) }}, 'everyone') as groups, false as steward,
    {{ attest.scope_literal(scope) }} as scope
),
asks as (
  select row_number() over () as ask_id, entity.environment, entity.entity_id,
    coalesce({{ attest.to_instant(attest.literal(known_at)) }}, timestamptz 'infinity') as known_at
  from (
    select distinct assertion.environment, assertion.entity_id
    from recorded as assertion
    {%- if entity is not none %} where assertion.entity_id = {{ attest.literal(entity) }}{% endif %}
  ) as entity
),
{{ attest.related_ctes('recorded') }},
{{ attest.stretch_ctes() }},
moments as (
  select bound.ask_id, bound.day
  from (
    select asks.ask_id, date '0001-01-01' as day from asks
    union select stretches.ask_id, stretches.valid_from from stretches where stretches.valid_from is not null
    union select stretches.ask_id, stretches.valid_to from stretches where stretches.valid_to is not null
  ) as bound
),
{{ attest.decision_ctes() }},
spans as (
  select
    asks.entity_id,
    if(decisions.day = date '0001-01-01', date '-infinity', decisions.day) as from_day,
    coalesce(lead(decisions.day) over (partition by decisions.ask_id order by decisions.day), date 'infinity') as before_day,
    decisions.outcome,
    decisions.reason,
    decisions.evidence_id,
    decisions.winner.version,
    decisions.winner.valid_from,
    decisions.winner.valid_to
  from decisions
  join asks on asks.ask_id = decisions.ask_id
)
select
  facts.*,
  coalesce(spans.outcome, 'abstain') as {{ prefix }}outcome,
  coalesce(spans.reason, case
    when not exists (from recorded) then 'nothing_collected'
    when facts.{{ date_column }} is null then 'no_date'
    else 'unknown_entity'
  end) as {{ prefix }}reason,
  spans.evidence_id as {{ prefix }}evidence_id,
  spans.version as {{ prefix }}version,
  spans.valid_from as {{ prefix }}valid_from,
  spans.valid_to as {{ prefix }}valid_to
from {{ relation }} as facts
left join spans
  on spans.entity_id = {{ attest.literal(entity) if entity is not none else 'facts.' ~ entity_column }}
  and {{ attest.to_date('facts.' ~ date_column) }} >= spans.from_day
  and {{ attest.to_date('facts.' ~ date_column) }} < spans.before_day
)
{%- endmacro %}
