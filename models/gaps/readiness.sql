{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per entity that is to answer questions (something about it is authoritative, or nobody classified it) and each of the
-- twelve conditions for that: whether it is met, null where it has no meaning. For stewards: nothing is masked.
with recursive
{{ attest.present_cte() }},
question as (
  select {{ attest.literal(attest.environment()) }} as environment, timestamptz 'infinity' as known_at
),
{{ attest.edge_ctes() }},
gap as materialized (
  select gaps.* from {{ ref('attest', 'gaps').include(database=false).render() }} as gaps
),
entities as materialized (
  select
    present.environment,
    present.entity_id,
    list_sort(list(distinct present.file)) as files,
    list_sort(list(distinct present.node_id) filter (present.node_id is not null)) as node_ids,
    count(*) filter (present.governs) as governing,
    count(*) filter (present.effective_from is not null and (present.governs or present.authority is null)) as dated,
    -- of what nobody classified no gap tells: these it will need, too
    bool_or(present.governs or len(present.owners) > 0) is true as owned,
    bool_or(present.governs or present.grain is not null) is true as grained,
    bool_or(present.governs or present.approved_by is not null) is true as approved,
    bool_or(present.governs or len(present.groups) > 0) is true as permitted,
    bool_or(present.governs and present.models is null and present.sources is null and present.is_older) is true as rests_on_unknown,
    coalesce(list_has_any(list_transform(list(present.node_id), lambda node: split_part(node, '.', 1)),
      ['model', 'metric', 'source', 'seed', 'snapshot']), false) as counted,
    bool_and(split_part(present.node_id, '.', 1) in ('source', 'seed')) is true as begins,
    bool_or(len(present.models) > 0 or len(present.sources) > 0) is true as declares
  from (
    select present.*,
      -- what the older of several definitions of one node stood on, dbt does not tell
      present.node_id is not null and present.effective_from < max(present.effective_from) filter (present.governs) over (
        partition by present.environment, present.node_id, present.entity_id) as is_older
    from present
  ) as present
  where present.authority = 'authoritative'
    or present.authority is null and present.node_id is not null and present.package_name is not distinct from present.project_name
      and not {{ attest.is_semantic_model('present') }}
  group by present.environment, present.entity_id
),
-- the last observation of each source, carried to all that reads it
observed as (
  select observation.node_id,
    arg_max(observation.outcome, {seen: coalesce(observation.snapshotted_at, observation.generated_at), id: observation.artifact_id})
      as outcome
  from {{ attest.evidence('freshness_observations') }} as observation
  join question on question.environment = observation.environment
  group by observation.node_id
),
fed as (
  select observed.node_id, observed.outcome in ('pass', 'warn') as fresh from observed
  union
  select edges.to_node, fed.fresh from fed join edges on edges.from_node = fed.node_id where edges.kind <> 'test'
),
freshness as (
  select entities.entity_id, bool_and(fed.fresh) as fresh
  from entities
  join fed on list_contains(entities.node_ids, fed.node_id)
  group by entities.entity_id
),
read as (
  select distinct edges.to_node as node_id from edges where edges.kind <> 'test'
),
lineage as (
  select entities.entity_id, count(read.node_id) > 0 as has_some
  from entities left join read on list_contains(entities.node_ids, read.node_id)
  group by entities.entity_id
),
blamed as (
  select gap.entity, {{ attest.condition_of('gap') }} as condition, arg_min(gap.repair, gap.repair) as repair,
    string_agg(distinct gap.kind, ', ' order by gap.kind) as kinds
  from gap
  where gap.entity is not null
  group by gap.entity, {{ attest.condition_of('gap') }}
),
stale as (
  select count(*) > 0 as anything from gap where gap.kind = 'stale_collection'
),
judged as (
  select
    entities.*,
    unnest([
      {position: 1, condition: 'stable_entity', applies: true, holds: true, repair: cast(null as varchar)},
      {position: 2, condition: 'authority', applies: true, holds: entities.governing > 0,
        repair: 'Say `authority` in its annotation, or for a whole folder in a rule of attest.yml.'},
      {position: 3, condition: 'lifecycle', applies: entities.governing > 0, holds: true, repair: null},
      {position: 4, condition: 'effective_time', applies: true, holds: entities.dated > 0,
        repair: 'Add `effective_from` to its annotation.'},
      {position: 5, condition: 'owner', applies: true, holds: entities.owned, repair: 'Say `owner` in its annotation, or whom its group belongs to.'},
      {position: 6, condition: 'grain', applies: entities.counted, holds: entities.grained, repair: 'Say `grain` in its annotation.'},
      {position: 7, condition: 'technical_ids', applies: entities.governing > 0 and (entities.counted or entities.declares),
        holds: not entities.rests_on_unknown,
        repair: 'Name `models` or `sources` of each version.'},
      {position: 8, condition: 'lineage', applies: entities.governing > 0 and entities.counted and not entities.begins,
        holds: lineage.has_some or entities.declares, repair: 'Name `models` or `sources`, or read them with ref and source.'},
      {position: 9, condition: 'permission', applies: true, holds: entities.permitted,
        repair: 'Name groups in `permissions` of its annotation, or in a rule of attest.yml for its folder.'},
      {position: 10, condition: 'provenance', applies: true, holds: entities.approved, repair: 'Say `approved_by` in its annotation.'},
      {position: 11, condition: 'supersession', applies: entities.governing > 1, holds: true, repair: null},
      {position: 12, condition: 'freshness', applies: freshness.fresh is not null or stale.anything,
        holds: coalesce(freshness.fresh, true) and not stale.anything,
        repair: 'Find out why its sources are late, or why `attest build` was not run.'}
    ]) as one
  from entities
  cross join stale
  left join freshness on freshness.entity_id = entities.entity_id
  left join lineage on lineage.entity_id = entities.entity_id
)
select
  judged.environment,
  judged.entity_id as entity,
  judged.files,
  judged.node_ids,
  judged.one.position as position,
  judged.one.condition as condition,
  case when blamed.entity is not null then false when judged.one.applies then judged.one.holds end as met,
  blamed.kinds,
  coalesce(blamed.repair, if(judged.one.applies and not judged.one.holds, judged.one.repair, null)) as repair
from judged
left join blamed on blamed.entity = judged.entity_id and blamed.condition = judged.one.condition
