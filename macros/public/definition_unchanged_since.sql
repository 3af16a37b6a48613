{#- A generic test: what governs is still what governed as known at `known_at`, the state of knowledge that a report is pinned
    to. It warns by default, since nothing is broken when the past is rewritten: somebody has to look. One failing row is an
    interval of days on which the same answer was replaced by the same other one, with both.

    column_name:        the dates that count, those of the report's rows; or, on the model as a whole,
    from_date, to_date: every day of a period, both inclusive
    entity, known_at, groups, scope: as of attest.join_definition; permission is today's at both states of knowledge -#}
{% test definition_unchanged_since(model, entity, known_at, column_name=none, from_date=none, to_date=none, groups=none, scope=none) %}
{{ config(severity='warn') }}
{{- attest.require_duckdb('definition_unchanged_since') -}}
{%- if known_at is none -%}
  {%- do exceptions.raise_compiler_error("attest.definition_unchanged_since expects known_at, the instant the report is pinned to.") -%}
{%- endif -%}
{%- if (column_name is none) == (from_date is none and to_date is none) or (from_date is none) != (to_date is none) -%}
  {%- do exceptions.raise_compiler_error(
    "attest.definition_unchanged_since expects either a date column or both from_date and to_date.") -%}
{%- endif -%}
{%- set days -%}
(
{%- if column_name is not none %}
select {{ attest.to_date(column_name) }} as on_date, count(*) as facts
from {{ model }}
where {{ column_name }} is not null
group by all
{%- else %}
select cast(unnest(generate_series(period.from_date, period.to_date, interval 1 day)) as date) as on_date, cast(null as bigint) as facts
from (
  select cast({{ attest.literal(from_date) }} as date) as from_date, cast({{ attest.literal(to_date) }} as date) as to_date
) as period
where case when period.to_date >= period.from_date then true
  else error('attest: the period ends before it begins: ' || period.from_date || ' to ' || period.to_date) end
{%- endif %}
)
{%- endset -%}
with
answered as (
  select *
  from {{ attest.join_definition(
    attest.join_definition(days, 'on_date', entity=entity, prefix='then_', known_at=known_at, groups=groups, scope=scope),
    'on_date', entity=entity, prefix='now_', groups=groups, scope=scope) }}
),
-- days that follow one another among those asked, with the same answers
runs as (
  select *,
    row_number() over (order by on_date)
      - row_number() over (
        partition by then_outcome, then_evidence_id, then_content_hash, now_outcome, now_evidence_id, now_content_hash
        order by on_date) as run
  from answered
)
select
  min(on_date) as from_date,
  max(on_date) as to_date,
  sum(facts) as facts,
  then_outcome,
  arg_min(then_reason, on_date) as then_reason,
  then_evidence_id,
  then_content_hash,
  now_outcome,
  arg_min(now_reason, on_date) as now_reason,
  now_evidence_id,
  now_content_hash
from runs
where (then_outcome, then_evidence_id, then_content_hash) is distinct from (now_outcome, now_evidence_id, now_content_hash)
group by run, then_outcome, then_evidence_id, then_content_hash, now_outcome, now_evidence_id, now_content_hash
order by from_date
{% endtest %}
