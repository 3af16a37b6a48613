{#- The CTEs from `recorded`, `asks`, `stretches`, `moments` and `request` to `decisions`: one row per moment, with
    exactly one outcome and one reason.

    moments: ask_id, day; one row per day to decide
    request: name (as asked, or null), groups (of the requester), steward (sees everything), scope; one row

    First the steward's result, then permission as a mask on it: what is disclosed but not permitted is a `deny`, what is
    hidden is uncovered time, and reasons and neighbours are taken from what the requester may see, with the ends that
    everything recorded has set. -#}
{% macro decision_ctes(recorded='recorded') %}
-- by today's permissions and for every state of knowledge: whether anything of the entity may be seen or known of
access as (
  select
    asks.ask_id,
    bool_or(request.steward or list_has_any(recorded.groups, request.groups)) as visible,
    bool_or(not recorded.hidden) as disclosed
  from asks
  join {{ recorded }} as recorded on recorded.entity_id = asks.entity_id and recorded.environment = asks.environment
  cross join request
  group by asks.ask_id
),
seen as (
  select
    moments.day,
    stretches.*,
    request.steward or list_has_any(stretches.groups, request.groups) as visible,
    not coalesce(list_bool_or(list_transform(map_entries(stretches.scope),
      lambda key: coalesce(request.scope[key.key] <> key.value, false))), false) as applies,
    stretches.standing and stretches.valid_from < coalesce(stretches.valid_to, date 'infinity') as ever_in_force,
    stretches.standing and moments.day >= stretches.valid_from
      and (stretches.valid_to is null or moments.day < stretches.valid_to) as covers,
    -- an end set by what the requester may not see stays, but is not explained
    list_filter(stretches.first_ends, lambda ending: ending.ended_by is null or request.steward
      or list_has_any(ending.ended_by_groups, request.groups))[1] as end_seen,
    if(covers and applies, {evidence_id: stretches.evidence_id, scope: stretches.scope,
      visible: request.steward or list_has_any(stretches.groups, request.groups),
      withheld: not (request.steward or list_has_any(stretches.groups, request.groups)) and not stretches.hidden,
      in_cycle: stretches.in_cycle, removed: stretches.removed_on is not null,
      needs_scope: coalesce(list_bool_or(list_transform(map_entries(stretches.scope),
        lambda key: request.scope[key.key] is null)), false)}, null) as party,
    request.name
  from moments
  join stretches on stretches.ask_id = moments.ask_id
  cross join request
),
-- everything known of the entity on one day: what is in force, and what an abstention's reason is taken from
weighed as (
  select
    seen.ask_id,
    seen.day,
    list(seen.party order by seen.evidence_id) filter (seen.party is not null) as covering,
    bool_or(seen.visible) as any_visible,
    bool_or(seen.removed_on is null) as any_stated,
    bool_or(seen.visible and seen.approved and seen.authoritative and seen.applies) as any_candidate,
    bool_or(seen.visible and seen.approved and seen.authoritative) as any_candidate_elsewhere,
    bool_or(seen.visible and seen.authoritative) as any_authoritative,
    bool_or(seen.visible and seen.authoritative and seen.status = 'draft') as any_draft,
    bool_or(seen.visible and seen.standing and seen.applies) as any_dated,
    min(seen.valid_from) filter (seen.visible and seen.applies and seen.ever_in_force) as first_day,
    min(seen.valid_from) filter (seen.visible and seen.applies and seen.ever_in_force and seen.valid_from > seen.day) as next_day,
    -- the end last reached; of definitions that never came into force only where there is no other
    min({
      dead: not seen.ever_in_force, days_ago: seen.day - seen.valid_to,
      rank: {{ attest.end_rank("coalesce(seen.end_seen.kind, 'expired')") }}, evidence_id: seen.evidence_id,
      kind: coalesce(seen.end_seen.kind, 'expired'), ended_by: seen.end_seen.ended_by
    }) filter (
      seen.visible and seen.standing and seen.applies and (seen.valid_to <= seen.day or not seen.ever_in_force)) as last_end,
    list({evidence_id: seen.evidence_id, status: seen.status, authority: coalesce(seen.authority, 'unclassified')}
      order by seen.evidence_id) filter (
        seen.visible and (seen.status = 'draft' or seen.approved and not seen.authoritative)) as conflicts,
    list({evidence_id: seen.evidence_id, valid_from: seen.valid_from, valid_to: seen.valid_to}
      order by seen.valid_from, seen.evidence_id) filter (seen.visible and seen.applies and seen.ever_in_force) as stretches_seen,
    arg_max(seen.owners, seen.known_from) filter (seen.visible and len(seen.owners) > 0) as owners,
    bool_or(seen.visible and seen.approved and seen.authoritative and len(list_filter(seen.aliases, lambda alias:
      alias.alias = seen.name and coalesce(alias.effective_from <= seen.day, true)
      and coalesce(alias.effective_to >= seen.day, true))) > 0) as bears_alias,
    bool_or(seen.visible and seen.approved and seen.authoritative and list_contains(seen.names, seen.name)) as bears_name,
    bool_or(seen.visible and list_contains(seen.names, seen.name)) as bears_any_name
  from seen
  group by seen.ask_id, seen.day
),
in_force as (
  select
    weighed.* exclude (covering),
    -- what is no longer stated yields to what is
    if(list_bool_or(list_transform(weighed.covering, lambda party: not party.removed)),
      list_filter(weighed.covering, lambda party: not party.removed),
      coalesce(weighed.covering, [])) as candidates
  from weighed
),
judged as (
  select
    in_force.* exclude (candidates),
    case
      when list_bool_or(list_transform(in_force.candidates, lambda party: party.in_cycle)) then 'integrity'
      when list_bool_or(list_transform(in_force.candidates, lambda party: party.needs_scope)) then 'scope_needed'
    end as obstacle,
    case
      when list_bool_or(list_transform(in_force.candidates, lambda party: party.in_cycle))
        then list_filter(in_force.candidates, lambda party: party.in_cycle)
      when list_bool_or(list_transform(in_force.candidates, lambda party: party.needs_scope))
        then in_force.candidates
      -- a narrower scope that applies wins
      else list_filter(in_force.candidates, lambda party: not list_bool_or(list_transform(in_force.candidates, lambda other:
        cardinality(other.scope) > cardinality(party.scope)
        and list_has_all(map_entries(other.scope), map_entries(party.scope)))))
    end as parties
  from in_force
),
ruled as (
  select
    judged.*,
    coalesce(judged.obstacle, case
      when len(judged.parties) = 1 then 'in_force'
      when len(list_distinct(list_transform(judged.parties, lambda party: map_keys(party.scope)))) > 1 then 'scope_conflict'
      when len(judged.parties) > 1 then 'authority_conflict'
    end) as ground,
    list_filter(judged.parties, lambda party: party.visible) as parties_seen,
    coalesce(list_bool_or(list_transform(judged.parties, lambda party: party.withheld)), false) as withholds
  from judged
),
decided as (
  select
    moments.ask_id,
    moments.day,
    case
      when access.ask_id is null then 'abstain'
      when not access.visible then if(access.disclosed, 'deny', 'abstain')
      when ruled.ground = 'in_force' and len(ruled.parties_seen) > 0 then 'answer'
      when ruled.ground = 'in_force' and ruled.withholds then 'deny'
      when len(ruled.parties_seen) > 0 or ruled.withholds then if(ruled.ground = 'scope_needed', 'clarify', 'review')
      else 'abstain'
    end as outcome,
    case
      when access.ask_id is null then 'unknown_entity'
      when not access.visible then if(access.disclosed, 'not_permitted', 'unknown_entity')
      when ruled.ground = 'in_force' and len(ruled.parties_seen) = 0 and ruled.withholds then 'not_permitted'
      when len(ruled.parties_seen) > 0 or ruled.withholds then ruled.ground
      when not coalesce(ruled.any_visible, false) then 'not_recorded_yet'
      when not ruled.any_candidate then
        case
          when ruled.any_candidate_elsewhere then 'out_of_scope'
          when not ruled.any_authoritative then 'no_authority'
          when ruled.any_draft then 'draft_only'
          else 'void'
        end
      when not ruled.any_dated then 'no_effective_dates'
      when moments.day < ruled.first_day then 'before_first'
      when ruled.last_end.kind in ('retired', 'removed', 'superseded_elsewhere', 'no_authority') then ruled.last_end.kind
      when ruled.next_day is not null then 'gap'
      else 'expired'
    end as reason,
    if(outcome = 'answer', ruled.parties_seen[1].evidence_id, null) as evidence_id,
    if(outcome in ('review', 'clarify'), list_transform(ruled.parties_seen, lambda party: {
      entity: asks.entity_id, evidence_id: party.evidence_id, scope: party.scope}), []) as candidates,
    outcome in ('review', 'clarify') and ruled.withholds as withheld,
    if(outcome = 'deny', [], coalesce(ruled.conflicts, [])) as conflicts,
    if(outcome = 'deny', [], list_filter(coalesce(ruled.stretches_seen, []), lambda stretch:
      stretch.evidence_id = ruled.last_end.evidence_id or stretch.valid_from = ruled.next_day)) as neighbours,
    if(outcome = 'abstain', ruled.last_end.ended_by, null) as ended_by,
    if(outcome = 'deny', null, ruled.owners) as owners,
    -- how well the entity bears the name asked: by its id, an alias, a dbt name; lower is better
    case
      when asks.entity_id = request.name and (access.visible or access.disclosed) and ruled.any_stated then 1
      when ruled.bears_alias then 2
      when ruled.bears_name then 3
      when asks.entity_id = request.name and (access.visible or access.disclosed) then 4
      when ruled.bears_any_name then 5
    end as bearing
  from moments
  join asks on asks.ask_id = moments.ask_id
  cross join request
  left join access on access.ask_id = moments.ask_id
  left join ruled on ruled.ask_id = moments.ask_id and ruled.day = moments.day
),
decisions as (
  select
    decided.*,
    if(stretches.evidence_id is null, null, {
      evidence_id: stretches.evidence_id, version: stretches.version, valid_from: stretches.valid_from,
      valid_to: stretches.valid_to, known_from: stretches.known_from, content_hash: stretches.content_hash,
      status: stretches.status, removed: stretches.removed_on is not null, backdated: stretches.backdated,
      same_instant: stretches.same_instant, logic_changed: stretches.logic_changed,
      successor_undated: stretches.successor_undated,
      certified_until: stretches.certified_until, last_verified: stretches.last_verified}) as winner
  from decided
  left join stretches on stretches.ask_id = decided.ask_id and stretches.evidence_id = decided.evidence_id
)
{% endmacro %}
