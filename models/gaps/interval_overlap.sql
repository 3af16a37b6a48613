{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per two definitions of an entity that are in force on the same days, where neither scope decides between them: every
-- answer about these days is a `review`.
with
stretches as (
  select timeline.*, {{ attest.owner_today('timeline.owners') }} as owner
  from {{ attest.timeline_relation() }} as timeline
  where timeline.removed_on is null and not timeline.in_cycle
),
pairs as (
  select
    one.environment, one.entity_id, one.evidence_id, one.node_id, one.file, one.owner, other.evidence_id as other_id,
    greatest(one.valid_from, other.valid_from) as from_day,
    least(one.valid_to, other.valid_to) as before_day,
    greatest(one.recorded_at, other.recorded_at) as since
  from stretches as one
  join stretches as other
    on other.environment = one.environment and other.entity_id = one.entity_id
      -- the later one has the gap
      and (one.valid_from, one.evidence_id) > (other.valid_from, other.evidence_id)
      and coalesce(one.valid_from < other.valid_to, true) and coalesce(other.valid_from < one.valid_to, true)
  where
    -- in different places, or one in a part of the other's
    not coalesce(list_bool_or(list_transform(map_entries(one.scope), lambda key: other.scope[key.key] <> key.value)), false)
    and (one.scope = other.scope
      or not list_has_all(map_entries(one.scope), map_entries(other.scope))
        and not list_has_all(map_entries(other.scope), map_entries(one.scope)))
),
found as (
  select
    pairs.environment,
    definition.project_name,
    pairs.entity_id as entity,
    pairs.evidence_id,
    pairs.node_id,
    'one definition in force on a day' as expected,
    'also ' || pairs.other_id || ' from ' || pairs.from_day || coalesce(' to ' || (pairs.before_day - 1), ' on') as found,
    pairs.file,
    pairs.owner,
    pairs.since,
    'Say which one supersedes the other (`supersedes`), end one with `effective_to`, or give them different scopes.' as repair
  from pairs
  join {{ attest.recorded_assertions() }} as definition
    on definition.environment = pairs.environment and definition.entity_id = pairs.entity_id
      and definition.evidence_id = pairs.evidence_id and definition.known_until is null
)
{{ attest.gap_select('interval_overlap', 'error') }}
