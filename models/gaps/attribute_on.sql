{{ config(materialized='resolver_functions', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}
{{- attest.stay('resolver_functions') }}
{%- do ref('attest', 'resolver_functions').render() %}
{{ attest.create_function('attribute_on', 'entity, attribute, on_date := null, known_at := null, groups := null, scope := null, environment := null') }}
