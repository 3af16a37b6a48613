{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per thing to repair, of every kind. For stewards: nothing is masked.
{% set kinds = ['object_not_collected', 'identity_conflict', 'attribute_missing', 'source_conflict', 'relation_broken',
  'permission_missing', 'permission_anomaly', 'version_expired', 'interval_gap', 'interval_overlap', 'supersession_broken',
  'status_contradiction', 'history_rewritten', 'logic_changed', 'stale_collection'] %}
{% for kind in kinds -%}
select gap.* from {{ ref('attest', kind).include(database=false).render() }} as gap
{%- if not loop.last %}
union all
{% endif %}
{%- endfor %}
