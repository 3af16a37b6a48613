{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per edit of the words or dates of a definition that was in force when it was edited, and that nobody called a
-- correction: answers about the past became other ones. `found` tells how far it reaches.
with recursive
{{ attest.present_cte() }},
question as (
  select {{ attest.literal(attest.environment()) }} as environment, timestamptz 'infinity' as known_at
),
{{ attest.edge_ctes() }},
{{ attest.rewrite_ctes() }},
-- what reads the definition's node, or what it rests on
walked as (
  select distinct rewritten.evidence_id, start.node_id
  from rewritten
  cross join lateral (select unnest(list_concat([rewritten.node_id], coalesce(rewritten.models, []))) as node_id) as start
  where start.node_id is not null
  union
  select walked.evidence_id, edges.to_node
  from walked join edges on edges.from_node = walked.node_id
  where edges.kind <> 'test'
),
exposed as (
  select walked.evidence_id, list_sort(list(distinct walked.node_id)) as exposures
  from walked
  where starts_with(walked.node_id, 'exposure.')
  group by walked.evidence_id
),
found as (
  select
    {{ attest.gap_about('rewritten') }},
    'what was in force as it was recorded, or `corrects` with the reason' as expected,
    array_to_string(rewritten.edited, ', ') || ' edited on ' || {{ attest.utc_date('rewritten.known_from') }}
      || '; reaches ' || strftime(rewritten.from_day, '%Y-%m') || ' to ' || strftime(rewritten.to_day, '%Y-%m')
      || coalesce('; shown by ' || array_to_string(exposed.exposures, ', '), '') as found,
    rewritten.known_from as since,
    'If it was wrong all along, say why in `corrects`; if it changed, put it back and write a new version.' as repair
  from rewritten
  left join exposed on exposed.evidence_id = rewritten.evidence_id
)
{{ attest.gap_select('history_rewritten', 'error') }}
