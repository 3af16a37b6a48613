{#- A generic test: every date in the column has a definition that governs it. One failing row is a date (of an entity), with
    the outcome and reason that stand instead of an answer, and how many facts bear it. A null is no date: `not_null` tests that.

    entity, entity_column, known_at, groups, scope: as of attest.join_definition -#}
{% test covered_by_definition(model, column_name, entity=none, entity_column=none, known_at=none, groups=none, scope=none) %}
{{- attest.require_duckdb('covered_by_definition') -}}
{#- each distinct date is resolved once, however many facts there are -#}
{%- set dates -%}
(
select {{ entity_column or attest.literal(entity) }} as entity, {{ attest.to_date(column_name) }} as on_date, count(*) as facts
from {{ model }}
where {{ column_name }} is not null
group by all
)
{%- endset -%}
select entity, on_date, outcome, reason, facts
from {{ attest.join_definition(
  dates, 'on_date', entity=entity, entity_column='entity' if entity_column else none,
  known_at=known_at, groups=groups, scope=scope) }}
where outcome <> 'answer'
{% endtest %}
