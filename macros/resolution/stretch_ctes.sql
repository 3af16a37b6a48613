{#- The CTEs from `recorded` and `asks` to `stretches`: one row per definition of the asked entity as known at the asked
    instant, with the stretch of days during which it would hold.

    asks:     ask_id, environment, entity_id, known_at; one row per entity and state of knowledge asked
    related:  ask_id, entity_id; the entities whose definitions bear on the ask, itself included

    A link from S to P counts if its declarer was once approved and authoritative and is no draft now. Links reach
    through every definition in between, whatever became of it. S ends P at its own first day if every key of S's scope
    stands in P's with the same value. A retired, removed or no longer authoritative S still ends P; a draft or void one
    does not. Where two could end each other neither does, and both are marked `in_cycle`. -#}
{% macro stretch_ctes(recorded='recorded') %}
known as (
  select
    asks.ask_id,
    asks.entity_id as asked_entity,
    recorded.entity_id,
    recorded.evidence_id,
    recorded.version,
    recorded.status,
    recorded.authority,
    recorded.effective_from,
    recorded.effective_to,
    recorded.owners,
    recorded.supersedes,
    recorded.superseded_by,
    coalesce(recorded.aliases, []) as aliases,
    coalesce(recorded.names, []) as names,
    coalesce(recorded.scope, map {}) as scope,
    recorded.certified_until,
    recorded.last_verified,
    recorded.content_hash,
    recorded.known_from,
    recorded.removed_on,
    recorded.was_governing,
    recorded.backdated,
    recorded.same_instant,
    recorded.logic_changed,
    recorded.groups,
    recorded.hidden
  from asks
  join related on related.ask_id = asks.ask_id
  join {{ recorded }} as recorded on recorded.entity_id = related.entity_id and recorded.environment = asks.environment
  where recorded.known_from <= asks.known_at and (recorded.known_until is null or recorded.known_until > asks.known_at)
),
links as (
  select known.ask_id, known.evidence_id as successor, unnest(known.supersedes) as predecessor
  from known where known.was_governing and known.status <> 'draft'
  union
  select known.ask_id, unnest(known.superseded_by), known.evidence_id
  from known where known.was_governing and known.status <> 'draft'
),
reach as (
  select links.ask_id, links.successor, links.predecessor, true as direct from links
  union
  select reach.ask_id, reach.successor, links.predecessor, false
  from reach join links on links.ask_id = reach.ask_id and links.successor = reach.predecessor
),
could_end as (
  select
    reach.ask_id,
    reach.successor,
    reach.predecessor,
    predecessor.entity_id as of_entity,
    successor.effective_from,
    successor.groups,
    case
      when successor.entity_id <> predecessor.entity_id then 'superseded_elsewhere'
      when successor.authority is distinct from 'authoritative' then 'no_authority'
      else 'superseded'
    end as kind
  from reach
  join known as successor on successor.ask_id = reach.ask_id and successor.evidence_id = reach.successor
  join known as predecessor on predecessor.ask_id = reach.ask_id and predecessor.evidence_id = reach.predecessor
  where reach.successor <> reach.predecessor
    and successor.was_governing and successor.status not in ('draft', 'void')
    and (successor.effective_from is not null or reach.direct)
    and list_has_all(map_entries(predecessor.scope), map_entries(successor.scope))
),
succeeded as (
  select
    one.ask_id,
    one.predecessor as evidence_id,
    list({
      ends_on: one.effective_from, rank: {{ attest.end_rank('one.kind') }}, kind: one.kind,
      ended_by: one.successor, ended_by_groups: one.groups
    }) filter (one.effective_from is not null and other.successor is null) as ends,
    bool_or(one.effective_from is not null and other.successor is not null) as in_cycle,
    bool_or(one.effective_from is null) as successor_undated
  from could_end as one
  left join could_end as other
    on other.ask_id = one.ask_id and other.successor = one.predecessor and other.predecessor = one.successor
      and other.effective_from is not null
  group by one.ask_id, one.predecessor
),
ended as (
  select
    known.*,
    coalesce(succeeded.in_cycle, false) as in_cycle,
    coalesce(succeeded.successor_undated, false) as successor_undated,
    list_sort(list_filter(list_concat([
      if(known.effective_to is not null, {
        ends_on: known.effective_to + 1, rank: {{ attest.end_rank("if(known.status = 'retired', 'retired', 'expired')") }},
        kind: if(known.status = 'retired', 'retired', 'expired'),
        ended_by: cast(null as varchar), ended_by_groups: cast(null as varchar[])}, null),
      if(known.removed_on is not null, {
        ends_on: known.removed_on, rank: {{ attest.end_rank("'removed'") }}, kind: 'removed',
        ended_by: cast(null as varchar), ended_by_groups: cast(null as varchar[])}, null)
    ], succeeded.ends), lambda ending: ending is not null)) as ends
  from known
  left join succeeded on succeeded.ask_id = known.ask_id and succeeded.evidence_id = known.evidence_id
  where known.entity_id = known.asked_entity
),
stretches as (
  select
    ended.* exclude (ends),
    ended.effective_from as valid_from,
    ended.ends[1].ends_on as valid_to,
    ended.ends[1].kind as end_kind,
    ended.ends[1].ended_by as ended_by,
    list_filter(ended.ends, lambda ending: ending.ends_on = ended.ends[1].ends_on) as first_ends,
    ended.status not in ('draft', 'void') as approved,
    coalesce(ended.authority = 'authoritative', false) as authoritative,
    ended.effective_from is not null and ended.status not in ('draft', 'void')
      and coalesce(ended.authority = 'authoritative', false) as standing
  from ended
)
{% endmacro %}

{#- Which end is named where several fall on one day: the order of the reasons of an abstention. -#}
{% macro end_rank(kind) -%}
  list_position(['retired', 'removed', 'superseded_elsewhere', 'no_authority', 'superseded', 'expired'], {{ kind }})
{%- endmacro %}
