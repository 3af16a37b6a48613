{#- A value of a macro argument as SQL text: none, text, a list of text or a mapping of text. -#}
{% macro literal(value) -%}
  {%- if value is none -%} null
  {%- elif value is mapping -%}
    map { {%- for key, item in value.items() %}{{ attest.literal(key) }}: {{ attest.literal(item) }}{{ ', ' if not loop.last }}{% endfor -%} }
  {%- elif value is iterable and value is not string -%}
    cast([{%- for item in value %}{{ attest.literal(item) }}{{ ', ' if not loop.last }}{% endfor -%}] as varchar[])
  {%- else -%} {{ dbt.string_literal(dbt.escape_single_quotes(value | string)) }}
  {%- endif -%}
{%- endmacro %}

{#- The requester's groups of a macro argument: in a dbt run, without one, the var attest_groups. -#}
{% macro groups_literal(groups) -%}
  {%- set given = groups if groups is not none else var('attest_groups', []) -%}
  {{ attest.to_list(attest.literal(given)) if given is string else attest.literal(given) }}
{%- endmacro %}

{#- The scope of a macro argument: a mapping, or none. -#}
{% macro scope_literal(scope) -%}
  {%- if scope and scope is not mapping -%}
    {%- do exceptions.raise_compiler_error("attest expects scope as a mapping such as {'region': 'EU'}, found " ~ scope) -%}
  {%- endif -%}
  cast({{ attest.literal(scope or {}) }} as map(varchar, varchar))
{%- endmacro %}
