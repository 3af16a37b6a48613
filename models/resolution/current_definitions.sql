{{ config(materialized='view') }}{{ attest.stay('view') }}
-- One row per entity: the definition in force today (UTC) as now known, or the reason why there is none. For stewards:
-- nothing is masked. A definition that holds only in some scope makes its entity `clarify`.
with recursive
asks as (
  select row_number() over () as ask_id, entity.environment, entity.entity_id, timestamptz 'infinity' as known_at
  from (
    select distinct assertion.environment, assertion.entity_id
    from {{ attest.recorded_assertions() }} as assertion
    where assertion.environment = {{ attest.literal(attest.environment()) }}
  ) as entity
),
request as (
  select cast(null as varchar) as name, cast([] as varchar[]) as groups, true as steward, cast(map {} as map(varchar, varchar)) as scope
),
{{ attest.related_ctes(attest.recorded_assertions()) }},
{{ attest.stretch_ctes(attest.recorded_assertions()) }},
moments as (
  select asks.ask_id, {{ attest.today() }} as day from asks
),
{{ attest.decision_ctes(attest.recorded_assertions()) }}
select
  asks.environment,
  asks.entity_id,
  decisions.outcome,
  decisions.reason,
  decisions.evidence_id,
  governing.entity_type,
  governing.version,
  decisions.winner.valid_from,
  decisions.winner.valid_to,
  governing.title,
  governing.definition,
  governing.date_basis,
  governing.approved_by,
  governing.approved_at,
  governing.owners,
  governing.grain,
  governing.node_id,
  decisions.candidates,
  decisions.conflicts
from decisions
join asks on asks.ask_id = decisions.ask_id
left join {{ attest.recorded_assertions() }} as governing
  on governing.environment = asks.environment and governing.entity_id = asks.entity_id
    and governing.evidence_id = decisions.evidence_id and governing.known_until is null
