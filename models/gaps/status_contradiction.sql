{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per definition that says `superseded` and that nothing ended, or `current` and that has ended.
with
found as (
  select
    timeline.environment,
    definition.project_name,
    timeline.entity_id as entity,
    timeline.evidence_id,
    timeline.node_id,
    if(timeline.status = 'superseded', 'an end, for a definition that is superseded', 'no end before today, for one that is current')
      as expected,
    if(timeline.valid_to is null, 'none', timeline.end_kind || ' since ' || timeline.valid_to) as found,
    timeline.file,
    {{ attest.owner_today('timeline.owners') }} as owner,
    if(timeline.status = 'superseded', timeline.recorded_at,
      greatest(timeline.recorded_at, {{ attest.start_of_day('timeline.valid_to') }})) as since,
    if(timeline.status = 'superseded',
      'Name its successor (`superseded_by`) or its last day (`effective_to`), or say `status: current`.',
      'Say `status: superseded` or `retired`, or move its end.') as repair
  from {{ attest.timeline_relation() }} as timeline
  join {{ attest.recorded_assertions() }} as definition
    on definition.environment = timeline.environment and definition.evidence_id = timeline.evidence_id
      and definition.entity_id = timeline.entity_id and definition.known_until is null
  where timeline.removed_on is null and {{ attest.status_contradicts('timeline') }}
)
{{ attest.gap_select('status_contradiction', 'warning') }}
