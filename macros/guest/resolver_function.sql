{#- Materialises a model as a DuckDB table function with the model's `parameters`. It is for interactive SQL: nothing
    refers to it with `ref`. It has a name of its own because dbt-duckdb has a `table_function`, which would win over ours
    and which fails where a root project sets `+persist_docs`: DuckDB takes no comment on a function's columns. -#}
{% materialization resolver_function, adapter='duckdb' %}
  {%- set function = api.Relation.create(database=database, schema=schema, identifier=model.name) -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}
  {% call statement('main') -%}
    create or replace macro {{ function.render() }}({{ config.require('parameters') }}) as table
    {{ sql }}
  {%- endcall %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({'relations': []}) }}
{% endmaterialization %}

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
