{% macro explain_on_function() %}
-- One row per step of the reasoning behind `definition_on` of the same arguments, in the order of the rules: which entity
-- the name means, what was known of its definitions, which had standing, what ended them by which link, where they apply,
-- what is in force, which permission lets the requester see it, and the outcome, always the last row. What the requester may
-- not see is neither named nor counted here; where it decides and may be known of, one step says that it is withheld.
with recursive
{{ attest.question_ctes('entity', 'on_date', 'on_date', 'known_at', 'groups', 'scope', 'environment') }},
{{ attest.knowledge_ctes() }},
{{ attest.answer_ctes() }},
-- the entity whose reasoning is told: none where the name means nothing, or several things
meant as (
  select asks.ask_id, asks.environment, asks.entity_id, asks.known_at, answers.day, access.visible, ruled.ground,
    ruled.parties_seen, coalesce(ruled.withholds, false) as withholds
  from answers
  join meanings on meanings.day = answers.day
  join asks on asks.ask_id = meanings.ask_id
  join access on access.ask_id = asks.ask_id
  left join ruled on ruled.ask_id = asks.ask_id and ruled.day = answers.day
  where answers.unnamed is null
),
-- every definition that bears on it and that the requester may see; of no other one is an id shown
nameable as (
  select known.*, known.entity_id = known.asked_entity as is_asked,
    case
      when known.status = 'draft' then 'draft'
      when not known.was_governing then if(known.status = 'void', 'void', 'no_authority')
    end as link_flaw
  from known
  -- of an entity of which nothing may be seen, nothing is told, what bears on it included
  join meant on meant.ask_id = known.ask_id and meant.visible
  cross join request
  where list_has_any(known.groups, request.groups)
),
told as (
  select seen.*
  from seen
  join meant on meant.ask_id = seen.ask_id and meant.day = seen.day
  where seen.visible
),
assertions_seen as (
  select
    recorded.evidence_id,
    min(recorded.known_from) as first_known,
    max(recorded.known_from) filter (recorded.known_from <= meant.known_at) as known_from,
    count(*) filter (recorded.known_from <= meant.known_at) as turn,
    count(*) as turns
  from recorded
  join meant on meant.entity_id = recorded.entity_id and meant.environment = recorded.environment
  cross join request
  where list_has_any(recorded.groups, request.groups)
    and recorded.known_until is distinct from recorded.known_from
  group by recorded.evidence_id
),
links_said as (
  select nameable.evidence_id as successor, unnest(nameable.supersedes) as predecessor, 'supersedes' as said, nameable.link_flaw
  from nameable
  union all
  select unnest(nameable.superseded_by), nameable.evidence_id, 'superseded_by', nameable.link_flaw
  from nameable
),
steps as (
  select 1 as place, 'entity' as rule, case
      when bearer.bearing > meanings.bearing or meanings.entities > 1 and meanings.bearing = 5 then 'not_meant'
      when meanings.entities > 1 then 'ambiguous'
      else 'meant'
    end as finding,
    bearer.entity, cast(null as varchar) as evidence_id, cast(null as varchar) as other_evidence_id,
    cast(null as date) as valid_from, cast(null as date) as valid_to, cast(null as timestamptz) as recorded_at,
    if(access.visible, ['id', 'alias', 'dbt_name', 'id_not_stated', 'dbt_name'][bearer.bearing], 'id') as detail
  from (
    select bearers.day, unnest(bearers.all_bearers, recursive := true) from bearers
  ) as bearer
  join meanings on meanings.day = bearer.day
  join access on access.ask_id = bearer.ask_id
  union all
  select 2, 'knowledge', if(assertions_seen.turn > 0, 'known', 'not_recorded_yet'), null, assertions_seen.evidence_id, null,
    null, null, coalesce(assertions_seen.known_from, assertions_seen.first_known),
    assertions_seen.turn || ' of ' || assertions_seen.turns
  from assertions_seen
  union all
  select 3, 'standing', if(told.standing, 'standing', 'no_standing'), null, told.evidence_id, null,
    told.effective_from, told.effective_to + 1, null, case
      when told.status in ('draft', 'void') then told.status
      when not told.authoritative then coalesce(told.authority, 'unclassified')
      when told.effective_from is null then 'no_effective_dates'
      else told.status
    end
  from told
  union all
  -- a link that counts, and one that does not, with the reason
  select 4, 'supersession', if(links_said.link_flaw is null, 'link_counts', 'link_does_not_count'), null,
    links_said.predecessor, links_said.successor, null, null, null,
    concat_ws(': ', links_said.said, links_said.link_flaw)
  from links_said
  where links_said.successor in (select nameable.evidence_id from nameable)
    and links_said.predecessor in (select nameable.evidence_id from nameable)
  union all
  select 5, 'supersession', case
      when succession.effective_from is null then 'successor_undated'
      when back.successor is not null then 'cycle'
      else 'ended'
    end, null, succession.predecessor, succession.successor, null, succession.effective_from, null, succession.kind
  from could_end as succession
  -- not by the ids alone: a definition of another entity may have the same one, and be withheld
  join nameable as predecessor
    on predecessor.ask_id = succession.ask_id and predecessor.evidence_id = succession.predecessor
      and predecessor.entity_id = succession.of_entity
  cross join request
  left join could_end as back
    on back.ask_id = succession.ask_id and back.successor = succession.predecessor
      and back.predecessor = succession.successor and back.effective_from is not null
  where predecessor.is_asked and list_has_any(succession.groups, request.groups)
  union all
  select 5, 'supersession', 'ends_nothing', null, predecessor.evidence_id, successor.evidence_id, null, null, null, case
      when successor.status in ('draft', 'void') then successor.status
      when not successor.was_governing then 'no_authority'
      else 'scope'
    end
  from reach
  join nameable as predecessor on predecessor.ask_id = reach.ask_id and predecessor.evidence_id = reach.predecessor
  join nameable as successor on successor.ask_id = reach.ask_id and successor.evidence_id = reach.successor
  where reach.direct and reach.successor <> reach.predecessor and predecessor.is_asked and not exists (
    from could_end
    where could_end.ask_id = reach.ask_id and could_end.successor = reach.successor and could_end.predecessor = reach.predecessor)
  union all
  select 5, 'supersession', 'ended', null, told.evidence_id, null, null, own_end.ends_on, null, own_end.kind
  from told
  cross join lateral (
    select told.effective_to + 1 as ends_on, if(told.status = 'retired', 'retired', 'expired') as kind
    where told.effective_to is not null
    union all
    select told.removed_on, 'removed' where told.removed_on is not null
  ) as own_end
  union all
  select 6, 'scope', case
      when not told.applies then 'does_not_apply'
      when told.party.needs_scope then 'scope_needed'
      else 'applies'
    end, null, told.evidence_id, null, null, null, null,
    array_to_string(list_transform(list_sort(map_entries(told.scope)), lambda entry: entry.key || '=' || entry.value), ', ')
  from told
  where told.standing and cardinality(told.scope) > 0
  union all
  select 7, 'in_force', case
      when not told.ever_in_force then 'never_in_force'
      when told.day < told.valid_from then 'begins_later'
      when not told.covers then 'ended_before'
      when list_contains(list_transform(meant.parties_seen, lambda party: party.evidence_id), told.evidence_id)
        then if(meant.ground = 'in_force', 'governs', 'competes')
      else 'covers'
    end, null, told.evidence_id, null, told.valid_from, told.valid_to, null, case
      when not told.covers then null
      when list_contains(list_transform(meant.parties_seen, lambda party: party.evidence_id), told.evidence_id)
        then nullif(meant.ground, 'in_force')
      when told.removed_on is not null
        and list_bool_or(list_transform(meant.parties_seen, lambda party: not party.removed)) then 'yields_to_what_is_stated'
      when len(meant.parties_seen) > 0 then if(meant.ground = 'integrity', 'yields_to_integrity', 'yields_to_narrower_scope')
    end
  from told join meant on meant.ask_id = told.ask_id
  where told.standing and told.applies
  union all
  select 8, 'permission', 'permitted', null, told.evidence_id, null, null, null, null,
    concat_ws(': ', list_sort(list_intersect(told.groups, request.groups))[1], permitted_by.permissions_from)
  from told
  cross join request
  join (
    select recorded.evidence_id, any_value(recorded.permissions_from) as permissions_from from recorded group by recorded.evidence_id
  ) as permitted_by on permitted_by.evidence_id = told.evidence_id
  union all
  select 8, 'permission', 'withheld', null, null, null, null, null, null, null
  from meant where not meant.visible or meant.withholds
  union all
  select 9, 'outcome', result.outcome, result.entity, result.evidence_id, null, result.valid_from, result.valid_to,
    result.known_at, result.reason
  from result
  union all
  select 10, 'warning', warning.name, null, result.evidence_id, null, null, null, null, null
  from result cross join lateral (select unnest(result.warnings) as name) as warning
)
select
  row_number() over (
    order by steps.place, told_of.effective_from, steps.evidence_id, steps.entity, steps.finding, steps.other_evidence_id,
      steps.valid_to, steps.detail) as step,
  steps.rule,
  steps.finding,
  steps.entity,
  steps.evidence_id,
  steps.other_evidence_id,
  steps.valid_from,
  steps.valid_to,
  steps.recorded_at,
  steps.detail
from steps
left join (
  select nameable.evidence_id, any_value(nameable.effective_from) as effective_from from nameable group by nameable.evidence_id
) as told_of on told_of.evidence_id = steps.evidence_id
order by step
{% endmacro %}
