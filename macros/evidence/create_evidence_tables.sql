{#- On run start: the text that creates missing evidence tables, from the contract in models/evidence.yml. Empty text,
    and so no effect, on other adapters, on read-only files and where there is nothing to create. -#}
{% macro create_evidence_tables() %}
  {{- return(adapter.dispatch('create_evidence_tables', 'attest')()) -}}
{% endmacro %}

{% macro default__create_evidence_tables() %}
  {{- return('') -}}
{% endmacro %}

{% macro duckdb__create_evidence_tables() %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set contract = [] -%}
  {%- for node in graph.sources.values() if node.package_name == 'attest' and node.source_name == 'attest_evidence' -%}
    {%- do contract.append(node) -%}
  {%- endfor -%}
  {%- if not contract -%}{{ return('') }}{%- endif -%}

  {%- set database, schema = contract[0].database, contract[0].schema -%}
  {#- dbt has listed what our schema contains before it runs hooks: where nothing is missing this asks nothing -#}
  {%- set missing = [] -%}
  {%- for table in contract if adapter.get_relation(database, schema, table.name) is none -%}
    {%- do missing.append(table) -%}
  {%- endfor -%}
  {%- if not missing -%}{{ return('') }}{%- endif -%}
  {%- set read_only = run_query("select readonly from duckdb_databases() where database_name = '" ~ database ~ "'") -%}
  {%- if read_only.columns[0].values() | first -%}{{ return('') }}{%- endif -%}

  {%- set ddl = [] -%}
  {%- for table in missing -%}
    {%- set columns = [] -%}
    {%- for column in table.columns.values() -%}
      {%- do columns.append(column.name ~ ' ' ~ column.data_type) -%}
    {%- endfor -%}
    {%- do ddl.append('create table if not exists "' ~ database ~ '"."' ~ schema ~ '"."' ~ table.name
          ~ '" (' ~ columns | join(', ') ~ ')') -%}
    {%- if table.name == 'contract_versions' -%}
      {%- do ddl.append('insert into "' ~ database ~ '"."' ~ schema ~ '".contract_versions (version, applied_at) '
            ~ 'values (' ~ attest.contract_version() ~ ', now())') -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if ddl -%}
    {%- do ddl.insert(0, 'create schema if not exists "' ~ database ~ '"."' ~ schema ~ '"') -%}
  {%- endif -%}
  {{ return(ddl | join(';\n')) }}
{% endmacro %}

{#- Version of the evidence contract that this package reads and creates. -#}
{% macro contract_version() %}{{ return(1) }}{% endmacro %}
