{#- The CTE `claims`: one row per claim that is stated now, of the environment that is asked. -#}
{% macro claim_ctes() %}
claims as (
  select folded.environment, folded.evidence_id, folded.attribute, folded.source, folded.place, folded.last.value as value,
    folded.last.effective_from as effective_from, folded.last.effective_to as effective_to, folded.last.certified as certified,
    folded.last.collector as collector, folded.last.source_version as source_version, folded.last.asserted_at as asserted_at,
    folded.last.artifact_id as artifact_id
  from (
    select
      claim.environment, claim.evidence_id, claim.attribute, claim.source, claim.place,
      arg_max(
        {stated: claim.stated, value: claim.value, effective_from: claim.effective_from, effective_to: claim.effective_to,
          certified: claim.certified, collector: claim.collector, source_version: claim.source_version,
          asserted_at: claim.asserted_at, artifact_id: claim.artifact_id},
        {a: claim.asserted_at, g: claim.generated_at, f: claim.artifact_id, i: claim.ingested_at}) as last
    from {{ attest.evidence('claims') }} as claim
    where claim.environment = {{ attest.literal(attest.environment()) }}
    group by claim.environment, claim.evidence_id, claim.attribute, claim.source, claim.place
  ) as folded
  where folded.last.stated
)
{% endmacro %}
