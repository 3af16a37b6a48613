{{ config(materialized='view') }}{{ attest.stay('view') }}
-- One row per change of an answer: from `known_at` on the answer for the days `from_date` to `to_date` (inclusive, null is
-- open) was another than before, because of the assertions named. The first answer is a change from `not_recorded_yet`. For
-- stewards: nothing is masked.
with recursive
recorded as (
  select assertion.* from {{ attest.recorded_assertions() }} as assertion
),
horizon as (
  select {{ attest.literal(attest.environment()) }} as environment, timestamptz 'infinity' as known_at
),
request as (
  select cast(null as varchar) as name, cast([] as varchar[]) as groups, true as steward, cast(map {} as map(varchar, varchar)) as scope
),
{{ attest.link_ctes('recorded') }},
bearing as (
  select recorded.entity_id, recorded.entity_id as by_entity
  from recorded join horizon on horizon.environment = recorded.environment
  union
  select bearing.entity_id, links_across.by_entity
  from bearing join links_across on links_across.of_entity = bearing.by_entity
),
{{ attest.change_ctes() }}
{{ attest.changes_select() }}
