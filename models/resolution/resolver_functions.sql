{{ config(materialized='resolver_functions') }}{{ attest.stay('resolver_functions') }}
-- The table functions, all in one node: each node costs everybody's `dbt build` a tenth of a second.
{{ attest.create_function('definition_between', 'entity, from_date, to_date, known_at := null, groups := null, scope := null, environment := null') }}
{{ attest.create_function('definition_on', 'entity, on_date, known_at := null, groups := null, scope := null, environment := null') }}
{{ attest.create_function('support_on', 'entity, on_date, known_at := null, groups := null, scope := null, environment := null') }}
{{ attest.create_function('names_like', 'name, groups := null, environment := null') }}
{{ attest.create_function('definition_history', 'entity, known_at := null, groups := null, environment := null') }}
{{ attest.create_function('definition_timeline_at', 'known_at, groups := null, environment := null') }}
{{ attest.create_function('definition_changes_of', 'entity, known_at := null, groups := null, scope := null, environment := null') }}
{{ attest.create_function('explain_on', 'entity, on_date, known_at := null, groups := null, scope := null, environment := null') }}
{{ attest.create_function('lineage_upstream', 'node, known_at := null, groups := null, environment := null') }}
{{ attest.create_function('lineage_downstream', 'node, known_at := null, groups := null, environment := null') }}
{{ attest.create_function('lineage_path', 'from_node, to_node, known_at := null, groups := null, environment := null') }}
{{ attest.create_function('lineage_impact', 'node, known_at := null, groups := null, environment := null') }}
{{ attest.create_function('source_freshness_on', 'source, "at" := null, groups := null, environment := null') }}
