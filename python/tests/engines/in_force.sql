-- What each entity's outcome is on each day, by the rules of docs/how-it-resolves.md and PostgreSQL's range types: a definition
-- holds from its first to its last day, less everything from the first day of each successor on, less everything from the
-- day of its removal on. One row per entity and day of `grid`, as known at %(known_at)s where %(scope)s applies; and the
-- days of every definition (`held`), with outcome null. Everybody may see everything.
with recursive
taken as (
  select * from collection where environment = 'prod' and instant <= %(known_at)s
),
latest as (
  select distinct on (said.evidence_id) said.*, taken.project
  from said join taken using (place)
  order by said.evidence_id, said.place desc
),
once_official as (
  select said.evidence_id
  from said join taken using (place)
  where said.status not in ('draft', 'void') and said.authority = 'authoritative'
),
removed as (
  select latest.evidence_id, cast(min(taken.instant) at time zone 'UTC' as date) as since
  from latest
  join taken on taken.project = latest.project and taken.place > latest.place
  where not exists (select from disabled where disabled.place = taken.place and disabled.evidence_id = latest.evidence_id)
  group by latest.evidence_id
),
declaring as (
  select * from latest where status <> 'draft' and evidence_id in (select evidence_id from once_official)
),
supersession as (
  select evidence_id as later, unnest(supersedes) as earlier from declaring
  union
  select unnest(superseded_by), evidence_id from declaring
),
chain as (
  select later, earlier from supersession
  union
  select chain.later, supersession.earlier from chain join supersession on supersession.later = chain.earlier
),
ending as (
  select chain.later, chain.earlier, later.effective_from as first_day
  from chain
  join latest as later on later.evidence_id = chain.later
  join latest as earlier on earlier.evidence_id = chain.earlier
  where chain.later <> chain.earlier
    and later.evidence_id in (select evidence_id from once_official)
    and later.status not in ('draft', 'void')
    and later.effective_from is not null
    and earlier.scope @> later.scope
),
circle as (
  select one.later, one.earlier from ending as one join ending as other on other.later = one.earlier and other.earlier = one.later
),
held as (
  select
    latest.evidence_id,
    latest.entity_id,
    latest.scope,
    removed.since is not null as is_removed,
    latest.evidence_id in (select earlier from circle) as in_circle,
    datemultirange(daterange(latest.effective_from, latest.effective_to, '[]'))
      - coalesce((
        select range_agg(daterange(ending.first_day, null))
        from ending
        where ending.earlier = latest.evidence_id and (ending.later, ending.earlier) not in (select later, earlier from circle)
      ), '{}')
      - case when removed.since is null then '{}' else datemultirange(daterange(removed.since, null)) end as days
  from latest
  left join removed using (evidence_id)
  where latest.authority = 'authoritative' and latest.status not in ('draft', 'void') and latest.effective_from is not null
),
-- the request contradicts none of the scope; what is removed yields to what is stated
covering as (
  select grid.entity_id, grid.day, held.evidence_id, held.scope, held.in_circle, held.is_removed,
    bool_or(not held.is_removed) over (partition by grid.entity_id, grid.day) as any_stated
  from grid
  join held on held.entity_id = grid.entity_id and held.days @> grid.day and (held.scope || %(scope)s) @> held.scope
),
candidate as (
  select * from covering where not (is_removed and any_stated)
),
narrowest as (
  select * from candidate as one
  where not exists (
    select from candidate as other
    where other.entity_id = one.entity_id and other.day = one.day and other.scope @> one.scope and other.scope <> one.scope)
)
select
  grid.entity_id,
  grid.day,
  case
    when not exists (select from candidate where candidate.entity_id = grid.entity_id and candidate.day = grid.day) then 'abstain'
    when exists (
      select from candidate where candidate.entity_id = grid.entity_id and candidate.day = grid.day and candidate.in_circle)
      then 'review'
    when exists (
      select from candidate
      where candidate.entity_id = grid.entity_id and candidate.day = grid.day and not candidate.scope <@ %(scope)s) then 'clarify'
    when (select count(*) from narrowest where narrowest.entity_id = grid.entity_id and narrowest.day = grid.day) = 1 then 'answer'
    else 'review'
  end as outcome,
  (
    select min(evidence_id) from narrowest
    where narrowest.entity_id = grid.entity_id and narrowest.day = grid.day having count(*) = 1
  ) as evidence_id,
  cast(null as date) as valid_to
from grid
union all
select held.evidence_id, lower(days.range), null, null, upper(days.range)
from held cross join unnest(held.days) as days (range)
