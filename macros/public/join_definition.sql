{#- For people's models: the rows of `relation`, each with the definition in force on its own date. It never changes the
    number of rows. Added columns, with `prefix`: outcome, reason, evidence_id, version, valid_from, valid_to (exclusive,
    null is open), content_hash.

    relation:      a relation, such as ref('orders'), or SQL text that can stand after `from`; with entity_column it is read
                   twice, first for its entities, and one that then has others is an error
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
asked_entities as (
{%- if entity is not none %}
  select {{ attest.literal(entity) }} as entity_id
{%- else %}
  select distinct cast(facts.{{ entity_column }} as varchar) as entity_id
  from {{ relation }} as facts
  where facts.{{ entity_column }} is not null
{%- endif %}
),
{{ attest.span_ctes(known_at, groups, scope) }}
select
  facts.*,
  coalesce(spans.outcome, 'abstain') as {{ prefix }}outcome,
  case
    when spans.reason is not null then spans.reason
    when {{ attest.to_date('facts.' ~ date_column) }} is null then if(collected.anything, 'no_date', 'nothing_collected')
{%- if entity_column is not none %}
    when facts.{{ entity_column }} is not null and {{ attest.to_date('facts.' ~ date_column) }} < date 'infinity'
      then error('attest: expected a relation that gives the same entities each time it is read, found another; make it a table first')
{%- endif %}
    else if(collected.anything, 'unknown_entity', 'nothing_collected')
  end as {{ prefix }}reason,
  spans.evidence_id as {{ prefix }}evidence_id,
  spans.version as {{ prefix }}version,
  spans.valid_from as {{ prefix }}valid_from,
  spans.valid_to as {{ prefix }}valid_to,
  spans.content_hash as {{ prefix }}content_hash
from {{ relation }} as facts
cross join collected
left join spans
  on spans.entity_id = {{ attest.literal(entity) if entity is not none else 'facts.' ~ entity_column }}
  and {{ attest.to_date('facts.' ~ date_column) }} >= spans.from_day
  and {{ attest.to_date('facts.' ~ date_column) }} < spans.before_day
)
{%- endmacro %}

{#- The CTEs from `asked_entities` (entity_id) to `spans`: one row per entity and stretch of days [from_day, before_day) with one
    decision; the stretches of an entity follow one another over all time. -#}
{% macro span_ctes(known_at, groups, scope) %}
{%- if attest.is_unit_test() %}
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
{%- endif %}
-- a mistyped instant must not answer as if none had been given
pinned as (
  select coalesce(given.known_at, timestamptz 'infinity') as known_at
  from (select {{ attest.to_instant(attest.literal(known_at)) }} as known_at, cast({{ attest.literal(known_at) }} as varchar) as text) as given
  where case
    when given.text is not null and given.known_at is null
      then error('attest: expected known_at as an instant such as 2025-06-30T12:00:00Z, found ' || given.text)
    when given.known_at > now() and isfinite(given.known_at)
      then error('attest: known_at lies in the future: ' || given.text)
    else true
  end
),
request as (
  select cast(null as varchar) as name, list_append({{ attest.groups_literal(groups) }}, 'everyone') as groups, false as steward,
    {{ attest.scope_literal(scope) }} as scope
),
asks as (
  select row_number() over () as ask_id, {{ attest.literal(attest.environment()) }} as environment, asked_entities.entity_id,
    pinned.known_at
  from asked_entities cross join pinned
),
{%- if attest.is_unit_test() %}
{{ attest.related_ctes('recorded') }},
{%- else %}
{{ attest.related_ctes(attest.evidence('assertions')) }},
entities as (
  select distinct related.entity_id from related
),
{{ attest.recorded_ctes('entities') }},
{%- endif %}
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
collected as (
  select exists (
    from {% if attest.is_unit_test() %}recorded{% else %}{{ attest.evidence('assertions') }}{% endif %} as assertion
    where assertion.environment = {{ attest.literal(attest.environment()) }}) as anything
),
spans as (
  select
    asks.entity_id,
    if(decisions.day = date '0001-01-01', date '-infinity', decisions.day) as from_day,
    coalesce(lead(decisions.day) over (partition by decisions.ask_id order by decisions.day), date 'infinity') as before_day,
    decisions.outcome,
    if(collected.anything, decisions.reason, 'nothing_collected') as reason,
    decisions.evidence_id,
    decisions.winner.version,
    decisions.winner.valid_from,
    decisions.winner.valid_to,
    decisions.winner.content_hash
  from decisions
  join asks on asks.ask_id = decisions.ask_id
  cross join collected
)
{% endmacro %}
