{{ config(materialized='view') }}{{ attest.stay('view') }}
-- One row per definition that is in force for some time as now known, with the days [valid_from, valid_to) during which
-- it holds (valid_to null is open). For stewards: nothing is masked.
with recursive
asks as (
  select row_number() over () as ask_id, entity.environment, entity.entity_id, timestamptz 'infinity' as known_at
  from (
    select distinct assertion.environment, assertion.entity_id
    from {{ attest.recorded_assertions() }} as assertion
    where assertion.environment = {{ attest.literal(attest.environment()) }}
  ) as entity
),
{{ attest.related_ctes(attest.recorded_assertions()) }},
{{ attest.stretch_ctes(attest.recorded_assertions()) }}
select
  definition.environment,
  definition.entity_id,
  definition.evidence_id,
  definition.entity_type,
  definition.version,
  definition.scope,
  stretches.valid_from,
  stretches.valid_to,
  stretches.end_kind,
  stretches.ended_by,
  stretches.in_cycle,
  definition.removed_on,
  definition.status,
  definition.authority,
  definition.approved_by,
  definition.approved_at,
  definition.date_basis,
  definition.owners,
  definition.grain,
  definition.title,
  definition.definition,
  definition.models,
  definition.sources,
  definition.node_id,
  definition.file,
  definition.groups,
  definition.hidden,
  definition.known_from as recorded_at,
  definition.artifact_id,
  definition.content_hash
from stretches
join asks on asks.ask_id = stretches.ask_id
join {{ attest.recorded_assertions() }} as definition
  on definition.environment = asks.environment and definition.entity_id = asks.entity_id
    and definition.evidence_id = stretches.evidence_id and definition.known_until is null
where stretches.standing and stretches.valid_from < coalesce(stretches.valid_to, date 'infinity')
