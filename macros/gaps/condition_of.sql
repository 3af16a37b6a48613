{#- Which of the twelve conditions of readiness a gap speaks against. -#}
{% macro condition_of(gap) -%}
  case
    when {{ gap }}.kind = 'identity_conflict' then 'stable_entity'
    when {{ gap }}.kind in ('status_contradiction', 'version_expired') then 'lifecycle'
    when {{ gap }}.kind in ('interval_gap', 'interval_overlap') then 'effective_time'
    when {{ gap }}.kind in ('object_not_collected', 'logic_changed') then 'technical_ids'
    when {{ gap }}.kind = 'relation_broken' then 'lineage'
    when {{ gap }}.kind in ('permission_missing', 'permission_anomaly') then 'permission'
    when {{ gap }}.kind = 'history_rewritten' then 'provenance'
    when {{ gap }}.kind = 'supersession_broken' then 'supersession'
    when {{ gap }}.kind = 'stale_collection' then 'freshness'
    when {{ gap }}.kind = 'source_conflict' then if(contains({{ gap }}.expected, 'owner'), 'owner', 'grain')
    when {{ gap }}.expected = 'effective_from' then 'effective_time'
    when {{ gap }}.expected = 'approved_by' then 'provenance'
    when {{ gap }}.expected in ('owner', 'grain') then {{ gap }}.expected
    else 'authority'
  end
{%- endmacro %}
