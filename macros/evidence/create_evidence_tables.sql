{#- On run start: the text that creates missing evidence tables, and the columns that tables of an older release lack, from
    the contract in models/evidence.yml. Empty text, and so no effect, on other adapters, on read-only files and where
    there is nothing to create. -#}
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
  {%- set here = "database_name = '" ~ database ~ "' and schema_name = '" ~ schema ~ "'" -%}
  {%- set found = run_query("select table_name || '.' || column_name from duckdb_columns() where " ~ here).columns[0].values() -%}
  {%- set missing, lacking = [], [] -%}
  {%- for table in contract -%}
    {%- if adapter.get_relation(database, schema, table.name) is none -%}
      {%- do missing.append(table) -%}
    {%- else -%}
      {%- for column in table.columns.values() if table.name ~ '.' ~ column.name not in found -%}
        {%- do lacking.append('alter table "' ~ database ~ '"."' ~ schema ~ '"."' ~ table.name ~ '" add column if not exists '
              ~ column.name ~ ' ' ~ column.data_type) -%}
      {%- endfor -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if not missing and not lacking -%}{{ return('') }}{%- endif -%}
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
  {%- if missing -%}
    {%- do ddl.insert(0, 'create schema if not exists "' ~ database ~ '"."' ~ schema ~ '"') -%}
  {%- endif -%}
  {{ return((ddl + lacking) | join(';\n')) }}
{% endmacro %}

{#- Version of the evidence contract that this package reads and creates. -#}
{% macro contract_version() %}{{ return(1) }}{% endmacro %}
