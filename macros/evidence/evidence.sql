{#- The evidence table `table`, named without its catalog, so that a renamed or attached file still answers; rendered
    here, since `dbt build --empty` would otherwise put an empty subquery into our views for good. dbt finds a root
    project's source of our name before ours; ours is the one in our schema. On other engines it is disabled. -#}
{% macro evidence(table) -%}
  {%- if target.type != 'duckdb' -%}{{ return('') }}{%- endif -%}
  {%- set found = source('attest_evidence', table) -%}
  {%- if not found.is_cte and found.schema != attest.evidence_schema() -%}
    {%- set found = api.Relation.create(schema=attest.evidence_schema(), identifier=table) -%}
  {%- endif -%}
  {{ found.include(database=false).render() }}
{%- endmacro %}

{#- The schema of everything that is ours; the same words stand in models/evidence.yml, which can call no macro. -#}
{% macro evidence_schema() -%}
  {{ return(var('attest_schema', target.schema ~ '_attest')) }}
{%- endmacro %}
