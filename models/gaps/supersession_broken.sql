{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per link between definitions that cannot do what it says: to an id that nobody ever stated, in a circle, from a
-- successor without a first day, or from one that lost its authority.
with
{{ attest.present_cte() }},
links as (
  select present.environment, present.entity_id, present.evidence_id,
    unnest(list_distinct(list_concat(coalesce(present.supersedes, []), coalesce(present.superseded_by, [])))) as other_id
  from present
  where present.governs
),
trouble as (
  select links.environment, links.entity_id, links.evidence_id,
    'a definition named ' || links.other_id as expected, 'none was ever stated' as found,
    'Repair the id, or remove the link.' as repair
  from links
  where not exists (
    from {{ attest.recorded_assertions() }} as assertion
    where assertion.environment = links.environment and assertion.evidence_id = links.other_id)
  union all
  select timeline.environment, timeline.entity_id, timeline.evidence_id,
    'a successor and a predecessor', 'each of two ends the other',
    'Remove one of the two links, or repair `effective_from` of one.'
  from {{ attest.timeline_relation() }} as timeline
  where timeline.in_cycle and timeline.removed_on is null
  union all
  select present.environment, present.entity_id, present.evidence_id,
    'effective_from, for a definition that supersedes ' || present.supersedes[1], 'none: it ends nothing',
    'Add `effective_from`, the first day it holds.'
  from present
  where present.governs and present.effective_from is null and len(present.supersedes) > 0
  union all
  select timeline.environment, timeline.entity_id, timeline.evidence_id,
    'a successor that governs', timeline.ended_by || ' ended it on ' || timeline.valid_to || ' and is not authoritative now',
    'Give ' || timeline.ended_by || ' its authority back, say `status: void` there, or write the next version.'
  from {{ attest.timeline_relation() }} as timeline
  where timeline.end_kind = 'no_authority' and timeline.removed_on is null
),
found as (
  select
    trouble.environment,
    present.project_name,
    trouble.entity_id as entity,
    trouble.evidence_id,
    present.node_id,
    trouble.expected,
    trouble.found,
    present.file,
    present.owner,
    present.known_from as since,
    trouble.repair
  from trouble
  join present
    on present.environment = trouble.environment and present.entity_id = trouble.entity_id
      and present.evidence_id = trouble.evidence_id
)
{{ attest.gap_select('supersession_broken', 'error') }}
