{#- Our own nodes go to one schema of their own, whatever a root project's naming says: dbt looks for this macro in the
    package of the node first, and uses ours for our nodes alone. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
  {{ attest.evidence_schema() }}
{%- endmacro %}
