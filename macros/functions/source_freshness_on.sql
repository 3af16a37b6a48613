{% macro source_freshness_on_function() %}
-- Exactly one row: how fresh `source` (or a model that is observed) was at an instant, by the last observation until then,
-- with the thresholds of that observation. A bare date is its end, null is now.
with recursive
{{ attest.lineage_ctes('source', '"at"', 'groups', 'environment') }},
observed as (
  select observation.*
  from {{ attest.evidence('freshness_observations') }} as observation
  join question on question.environment = observation.environment
    and coalesce(observation.snapshotted_at, observation.generated_at) <= question.known_at
  where observation.node_id in (select meant.node_id from meant)
  qualify row_number() over (order by coalesce(observation.snapshotted_at, observation.generated_at) desc,
    observation.generated_at desc, observation.artifact_id desc, observation.position) = 1
)
select
  case when meant.node_id is null then meant.outcome when observed.node_id is null then 'abstain' else 'answer' end as outcome,
  case when meant.node_id is null then meant.reason when observed.node_id is null then 'not_observed' else 'recorded' end as reason,
  meant.node_id as node,
  observed.outcome as freshness,
  observed.max_loaded_at,
  coalesce(observed.snapshotted_at, observed.generated_at) as observed_at,
  observed.age_seconds,
  observed.warn_after,
  observed.error_after,
  observed.filter,
  observed.message,
  observed.invocation_id,
  observed.artifact_id,
  meant.candidates
from meant
left join observed on true
{% endmacro %}
