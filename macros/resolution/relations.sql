{#- The resolver view that everything in people's models stands on. On other engines it is disabled, and a `ref` would
    keep the whole project from being parsed. -#}
{% macro recorded_assertions() -%}
  {%- if target.type == 'duckdb' -%}
    {{ ref('attest', 'recorded_assertions').include(database=false).render() }}
  {%- endif -%}
{%- endmacro %}

{#- Whether a unit test gives its rows: what it does not give cannot be read. -#}
{% macro is_unit_test() -%}
  {%- if target.type == 'duckdb' -%}{{ return(ref('attest', 'recorded_assertions').is_cte) }}{%- endif -%}
  {{ return(false) }}
{%- endmacro %}

{#- The environment that is asked where a question names none. -#}
{% macro environment() -%}
  {{ var('attest_environment', 'prod') }}
{%- endmacro %}
