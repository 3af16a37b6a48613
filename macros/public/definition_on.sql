{#- For people's models: a subquery of exactly one row, which definition of `entity` was in force on `on_date`; the same
    columns as the function. Arguments are values, not SQL: text, none, a list of groups, a mapping for the scope. -#}
{% macro definition_on(entity, on_date=none, known_at=none, groups=none, scope=none) %}
  {{- attest.require_duckdb('definition_on') -}}
  ({{ attest.definition_on_sql(
    attest.literal(entity), attest.literal(on_date), attest.literal(known_at), attest.groups_literal(groups),
    attest.scope_literal(scope), 'null') }})
{%- endmacro %}

{#- For people's models: a subquery of exactly one row, the definitions of `entity` from `from_date` to `to_date`, both
    inclusive; the same columns as the function. -#}
{% macro definition_between(entity, from_date, to_date, known_at=none, groups=none, scope=none) %}
  {{- attest.require_duckdb('definition_between') -}}
  ({{ attest.definition_between_sql(
    attest.literal(entity), attest.literal(from_date), attest.literal(to_date), attest.literal(known_at),
    attest.groups_literal(groups), attest.scope_literal(scope), 'null') }})
{%- endmacro %}

{% macro definition_on_sql(entity, on_date, known_at, groups, scope, environment) %}
with recursive
{{ attest.question_ctes(entity, on_date, on_date, known_at, groups, scope, environment) }},
{{ attest.knowledge_ctes() }},
{{ attest.answer_ctes() }},
{{ attest.nodes_seen_cte() }}
select result.* exclude (to_date, segments) replace ({{ attest.nodes_shown() }}) rename (from_date as on_date)
from result cross join nodes_seen
{% endmacro %}

{% macro definition_between_sql(entity, from_date, to_date, known_at, groups, scope, environment) %}
with recursive
{{ attest.question_ctes(entity, from_date, to_date, known_at, groups, scope, environment) }},
{{ attest.knowledge_ctes() }},
{{ attest.answer_ctes() }},
{{ attest.nodes_seen_cte() }}
select result.* replace ({{ attest.nodes_shown() }})
from result cross join nodes_seen
{% endmacro %}

{#- The models and sources of `result` of which the requester may see some definition; the others are told by `support_on`,
    without their names. -#}
{% macro nodes_shown() -%}
  list_filter(result.models, lambda node: list_contains(nodes_seen.node_ids, node)) as models,
  list_filter(result.sources, lambda node: list_contains(nodes_seen.node_ids, node)) as sources
{%- endmacro %}

{#- Refuses an engine that the resolvers do not run on, only where a macro is used and only when it is executed. -#}
{% macro require_duckdb(name) %}
  {%- if execute and target.type != 'duckdb' -%}
    {%- do exceptions.raise_compiler_error(
      "attest." ~ name ~ " runs on DuckDB, and this target is " ~ target.type
      ~ "; build a stand-alone warehouse with `attest build` and ask it there.") -%}
  {%- endif -%}
{% endmacro %}
