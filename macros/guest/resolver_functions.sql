{#- Materialises a model whose SQL creates DuckDB table functions. They are for interactive SQL: nothing refers to them
    with `ref`. dbt-duckdb has a `table_function` of its own, which makes one a node and which fails where a root project
    sets `+persist_docs`: DuckDB takes no comment on a function's columns. -#}
{% materialization resolver_functions, adapter='duckdb' %}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {#- one at a time: DuckDB 1.5 keeps the names of windows from one statement of a text to the next -#}
  {% for created in sql.split('\n;') if created | trim %}
    {% call statement('main') -%}
      {{ created }}
    {%- endcall %}
  {% endfor %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': []}) }}
{% endmaterialization %}

{#- The statement that creates the table function `name`, whose SQL is the macro `<name>_function`. -#}
{% macro create_function(name, parameters) -%}
create or replace macro {{ this.incorporate(path={'identifier': name}).render() }}({{ parameters }}) as table
{{ attest[name ~ '_function']() }}
;
{%- endmacro %}

{#- The table function `name`, for the body of another: a body names no catalog. -#}
{% macro resolver_function(name) -%}
  {{ this.incorporate(path={'identifier': name}).include(database=false).render() }}
{%- endmacro %}

{#- Refuses, in one sentence, to become something that would answer from frozen evidence. A root project's
    configuration wins over a package's own, so this can only be seen here. -#}
{% macro stay(materialized) %}
  {%- if execute and model.config.materialized != materialized -%}
    {%- do exceptions.raise_compiler_error(
      "The root project's dbt_project.yml sets `models: +materialized: " ~ model.config.materialized ~ "` for every package, "
      ~ "which would freeze the attest resolver '" ~ model.name ~ "' (expected: " ~ materialized ~ "); "
      ~ "put that line under `models: " ~ project_name ~ ":` instead.") -%}
  {%- endif -%}
{% endmacro %}
