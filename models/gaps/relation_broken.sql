{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per definition and thing it reads that was collected once and that no artifact contains any more.
with
{{ attest.present_cte() }},
{{ attest.broken_edge_ctes() }},
gone as (
  select assertion.node_id, max(assertion.known_from) as since
  from {{ attest.recorded_assertions() }} as assertion
  where assertion.environment = {{ attest.literal(attest.environment()) }} and assertion.removed_on is not null
    and assertion.known_until is null
  group by assertion.node_id
),
found as (
  select
    broken_ends.*,
    broken_ends.from_node || ', which it reads' as expected,
    'no longer in any artifact' || coalesce(' since ' || {{ attest.utc_date('gone.since') }}, '') as found,
    coalesce(gone.since, broken_ends.first_seen) as since,
    'Point `models` and `sources` at what took its place, or collect the project that has it.' as repair
  from broken_ends
  left join gone on gone.node_id = broken_ends.from_node
  where broken_ends.once_collected
)
{{ attest.gap_select('relation_broken', 'warning') }}
