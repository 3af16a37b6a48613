{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per thing that a definition reads, or explains, and that no artifact ever contained.
with
{{ attest.present_cte() }},
{{ attest.broken_edge_ctes() }},
found as (
  select
    broken_ends.environment,
    broken_ends.project_name,
    broken_ends.entity,
    broken_ends.evidence_id,
    broken_ends.node_id,
    broken_ends.from_node || ', which it reads' as expected,
    'in no artifact' as found,
    broken_ends.file,
    broken_ends.owner,
    broken_ends.first_seen as since,
    'Repair the name, or run `attest build` for the project that has it.' as repair
  from broken_ends
  where not broken_ends.once_collected
  union all
  select present.environment, present.project_name, present.entity_id, present.evidence_id, present.node_id,
    'a definition named ' || present.describes || ', which it explains', 'none was ever stated', present.file, present.owner,
    present.known_from, 'Repair the id in `describes`, or collect what states it.'
  from present
  where present.describes is not null and not exists (
    from {{ attest.recorded_assertions() }} as assertion
    where assertion.environment = present.environment and assertion.evidence_id = present.describes)
)
{{ attest.gap_select('object_not_collected', 'warning') }}
