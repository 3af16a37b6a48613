{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per hole between two definitions of an entity, in one scope: days on which nothing is in force, though something was
-- before and is after. It is the earlier definition's.
with
stretches as (
  select timeline.*, {{ attest.owner_today('timeline.owners') }} as owner
  from {{ attest.timeline_relation() }} as timeline
),
holes as (
  select
    earlier.environment, earlier.entity_id, earlier.evidence_id, earlier.node_id, earlier.file, earlier.owner,
    earlier.valid_to as from_day,
    min({day: later.valid_from, evidence_id: later.evidence_id, recorded_at: later.recorded_at}) as next,
    earlier.recorded_at
  from stretches as earlier
  join stretches as later
    on later.environment = earlier.environment and later.entity_id = earlier.entity_id and later.scope = earlier.scope
      and later.valid_from > earlier.valid_to
  where earlier.end_kind in ('expired', 'superseded')
    -- in force on the first day of the hole, if of wider scope
    and not exists (
      from stretches as other
      where other.environment = earlier.environment and other.entity_id = earlier.entity_id
        and list_has_all(map_entries(earlier.scope), map_entries(other.scope))
        and other.valid_from <= earlier.valid_to and coalesce(other.valid_to > earlier.valid_to, true))
  group by all
),
found as (
  select
    holes.environment,
    definition.project_name,
    holes.entity_id as entity,
    holes.evidence_id,
    holes.node_id,
    'a definition for every day until ' || holes.next.evidence_id || ' begins on ' || holes.next.day as expected,
    'none from ' || holes.from_day || ' to ' || (holes.next.day - 1) as found,
    holes.file,
    holes.owner,
    greatest(holes.recorded_at, holes.next.recorded_at) as since,
    'Move `effective_to` of this one or `effective_from` of the next, or except the gap if nothing held then.' as repair
  from holes
  join {{ attest.recorded_assertions() }} as definition
    on definition.environment = holes.environment and definition.entity_id = holes.entity_id
      and definition.evidence_id = holes.evidence_id and definition.known_until is null
)
{{ attest.gap_select('interval_gap', 'warning') }}
