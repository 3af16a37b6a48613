{{ config(materialized='view') }}{{ attest.stay('view') }}
-- One row per definition that is in force for some time as now known, with the days [valid_from, valid_to) during which
-- it holds (valid_to null is open). For stewards: nothing is masked.
with recursive
request as (
  select cast([] as varchar[]) as groups, true as steward
),
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
{{ attest.timeline_select(for_stewards=true) }}
