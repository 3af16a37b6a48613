{#- For `attest export --for-groups`: statements that make one temporary table for each evidence table of the new warehouse,
    `export_assertions` and so on, with what a reader in the session variable attest_groups may
    see of the environment attest_environment. What they may not see is there
    only as masks, so that the resolvers, over these tables, answer the reader as they do over the full ones.

    A mask is a definition without a name, words, place or group, stated by nobody's project, with a random id. What decides is
    taken from `stretches` and `could_end` for every state of knowledge, so that no rule is here a second time:

    withheld  of an entity of which the reader sees something: scope and days of a withheld definition with standing, `denied`
              (nobody may see it) or `uncovered` (policy of that name, hidden)
    stated    that an entity is still stated where no definition that the reader sees says so; and all there is of an entity
              of which they see nothing
    ended     a day on which a withheld definition ends one that the reader sees
    circle    that a definition is in a circle with a withheld one
    undated   that a withheld successor has no first day
    bridge    that one definition the reader sees is behind another, over withheld ones
    related   that the definitions of one entity bear on those of another, over withheld ones

    The last five stand in an entity of their own, which nobody may know of. A mask that no longer holds becomes a draft. -#}
{% macro export_sql() %}
{%- set readers = "cast(list_append(getvariable('attest_groups'), 'everyone') as varchar[])" -%}
{%- set environment = "cast(getvariable('attest_environment') as varchar)" -%}
create temp table export_recorded as
with
{{ attest.recorded_ctes() }}
select recorded.*, len(list_intersect(recorded.groups, {{ readers }})) > 0 as seen
from recorded
where recorded.environment = {{ environment }};

create temp table export_ids as
select distinct known.evidence_id from export_recorded as known where known.seen;

-- whose project the masks are, and the id of everything that has no name here
create temp table export_nobody as
select cast(uuid() as varchar) as project_name;

-- the nodes of which nothing may be known
create temp table export_hidden_nodes as
select known.node_id
from export_recorded as known
where known.node_id is not null and not {{ attest.is_of_column('known') }}
group by known.node_id
having not bool_or(known.seen) and bool_and(known.hidden);

create temp table export_edges as
with recursive
edges as (
  select edge.*
  from {{ attest.evidence('lineage_edges') }} as edge
  where edge.environment = {{ environment }}
    and edge.from_node not in (select hidden.node_id from export_hidden_nodes as hidden)
    and edge.to_node not in (select hidden.node_id from export_hidden_nodes as hidden)
),
upstream as (
  select unnest(list_concat(coalesce(known.models, []), coalesce(known.sources, []), [known.node_id])) as node_id
  from export_recorded as known
  where known.seen
  union
  select edges.from_node from upstream join edges on edges.to_node = upstream.node_id
)
select edges.* from edges where edges.to_node in (select upstream.node_id from upstream);

create temp table export_nodes as
select
  node.node_id as withheld_id,
  -- what is a source is told by its id
  if(starts_with(node.node_id, 'source.'), 'source.', 'node.') || uuid() as node_id
from (
  select edge.from_node as node_id from export_edges as edge
  union
  select edge.to_node from export_edges as edge
  union
  select unnest(list_concat(coalesce(known.models, []), coalesce(known.sources, [])))
  from export_recorded as known
) as node
where node.node_id not in (
  select known.node_id from export_recorded as known
  where known.seen and known.node_id is not null and not {{ attest.is_of_column('known') }});

create temp table export_lineage_edges as
select edge.* replace (
  coalesce(reading.node_id, edge.to_node) as to_node,
  coalesce(read.node_id, edge.from_node) as from_node,
  project.id as project_name,
  cast(null as varchar) as collection_id)
from export_edges as edge
left join export_nodes as read on read.withheld_id = edge.from_node
left join export_nodes as reading on reading.withheld_id = edge.to_node
left join (
  select named.project_name, cast(uuid() as varchar) as id
  from (select distinct edge.project_name from export_edges as edge) as named
) as project on project.project_name = edge.project_name;

create temp table export_seen as
with
{{ attest.recorded_ctes() }}
select arrived.* replace (
  cast(null as varchar) as collection_id,
  -- the hash knows what it links to
  cast(dense_rank() over (partition by arrived.evidence_id, arrived.entity_id order by arrived.state_hash) as varchar) as state_hash,
  {{ attest.links_again('arrived.supersedes') }} as supersedes,
  {{ attest.links_again('arrived.superseded_by') }} as superseded_by,
  arrived.links_elsewhere and exists (
    select elsewhere.evidence_id
    from (select unnest(list_concat(coalesce(arrived.supersedes, []), coalesce(arrived.superseded_by, []))) as id) as listed
    join export_recorded as elsewhere on elsewhere.evidence_id = listed.id
    where elsewhere.seen and elsewhere.entity_id <> arrived.entity_id) as links_elsewhere,
  {{ attest.nodes_again('arrived.models') }} as models,
  {{ attest.nodes_again('arrived.sources') }} as sources,
  if(arrived.describes in (select export_ids.evidence_id from export_ids), arrived.describes, null) as describes,
  list_sort(list_intersect(seen.groups, {{ readers }})) as permissions,
  seen.permissions_from as permissions_from)
from arrived
join (
  select distinct known.entity_id, known.evidence_id, known.groups, known.permissions_from
  from export_recorded as known
  where known.seen
) as seen on seen.entity_id = arrived.entity_id and seen.evidence_id = arrived.evidence_id
where arrived.environment = {{ environment }};

create temp table export_bearing as
with recursive
{{ attest.link_ctes(attest.evidence('assertions')) }},
bearing as (
  select distinct known.entity_id, known.entity_id as by_entity from export_recorded as known
  union
  select bearing.entity_id, links_across.by_entity
  from bearing join links_across on links_across.of_entity = bearing.by_entity
)
select bearing.* from bearing;

-- the entities about which something withheld is told: seen in part, or only denied
create temp table export_entities as
with
by_entity as (
  select known.entity_id, bool_or(known.seen) as seen, bool_and(known.seen) as all_seen, bool_or(not known.hidden) as disclosed
  from export_recorded as known
  group by known.entity_id
),
gone as (
  select distinct link.entity_id
  from (
    select known.entity_id, unnest(list_concat(coalesce(known.supersedes, []), coalesce(known.superseded_by, []))) as evidence_id
    from export_recorded as known
  ) as link
  where link.evidence_id not in (select export_ids.evidence_id from export_ids)
)
select by_entity.entity_id, not by_entity.seen as denied, cast(uuid() as varchar) as masks_entity
from by_entity
where if(by_entity.seen,
  by_entity.entity_id in (
    select bearing.entity_id
    from export_bearing as bearing
    left join by_entity as bears on bears.entity_id = bearing.by_entity
    left join gone on gone.entity_id = bearing.by_entity
    where not coalesce(bears.all_seen, true) or gone.entity_id is not null),
  by_entity.disclosed);

create temp table export_asks as
select row_number() over () as ask_id, known.environment, instants.entity_id, instants.known_from as known_at
from (select {{ environment }} as environment) as known
cross join (
  select distinct bearing.entity_id, known.known_from
  from (
    select entity.entity_id, entity.entity_id as by_entity from export_entities as entity
    union
    select bearing.* from export_bearing as bearing join export_entities as entity on entity.entity_id = bearing.entity_id
  ) as bearing
  join export_recorded as known on known.entity_id = bearing.by_entity
) as instants;

-- what a mask says at one state of knowledge; where there is no row, it says nothing
create temp table export_said as
with recursive
asks as (
  select asked.* from export_asks as asked
),
related as (
  select asks.ask_id, asks.entity_id from asks
  union
  select asks.ask_id, bearing.by_entity from asks join export_bearing as bearing on bearing.entity_id = asks.entity_id
),
{{ attest.stretch_ctes('export_recorded') }},
-- of what the reader sees: the links that are left, and what they reach
links_seen as (
  select linked.ask_id, linked.successor, linked.predecessor
  from (
    select known.ask_id, known.evidence_id as successor, unnest(known.supersedes) as predecessor
    from known
    where known.was_governing and known.status <> 'draft' and list_has_any(known.groups, {{ readers }})
    union
    select known.ask_id, unnest(known.superseded_by), known.evidence_id
    from known
    where known.was_governing and known.status <> 'draft' and list_has_any(known.groups, {{ readers }})
  ) as linked
  where linked.successor in (select export_ids.evidence_id from export_ids)
    and linked.predecessor in (select export_ids.evidence_id from export_ids)
),
reach_seen as (
  select links_seen.* from links_seen
  union
  select reach_seen.ask_id, reach_seen.successor, links_seen.predecessor
  from reach_seen join links_seen on links_seen.ask_id = reach_seen.ask_id and links_seen.successor = reach_seen.predecessor
),
succession_seen as (
  select could_end.* from could_end where list_has_any(could_end.groups, {{ readers }})
),
told as (
  select stretches.*, asks.known_at, entity.denied, list_has_any(stretches.groups, {{ readers }}) as seen
  from stretches
  join asks on asks.ask_id = stretches.ask_id
  join export_entities as entity on entity.entity_id = asks.entity_id
)
select told.entity_id, told.known_at, 'withheld' as kind, told.evidence_id as about, '' as other, told.valid_from,
  told.valid_to, told.scope, told.removed_on is not null as removed, told.hidden
from told
where told.standing and not told.seen and not told.denied
union all
select told.entity_id, told.known_at, 'stated', '', '', null, null, map {}, false, not any_value(told.denied)
from told
group by told.entity_id, told.known_at
having bool_or(told.removed_on is null) and not coalesce(bool_or(told.removed_on is null) filter (told.seen), false)
union all
select told.entity_id, told.known_at, 'ended', told.evidence_id, '', told.valid_to, told.valid_to, told.scope, false, true
from told
where told.seen and told.standing and len(told.first_ends) > 0
  and not list_bool_or(list_transform(told.first_ends, lambda ending:
    ending.ended_by is null or list_has_any(ending.ended_by_groups, {{ readers }})))
union all
select told.entity_id, told.known_at, 'circle', told.evidence_id, '', told.valid_from, null, told.scope, false, true
from told
where told.standing and told.in_cycle and not told.denied and not (told.seen and exists (
  select one.successor
  from succession_seen as one
  join could_end as other
    on other.ask_id = one.ask_id and other.successor = one.predecessor and other.predecessor = one.successor
  where one.ask_id = told.ask_id and one.predecessor = told.evidence_id
    and one.effective_from is not null and other.effective_from is not null))
union all
select told.entity_id, told.known_at, 'undated', told.evidence_id, '', null, null, told.scope, false, true
from told
where told.seen and told.standing and told.successor_undated and not exists (
  select one.successor from succession_seen as one
  where one.ask_id = told.ask_id and one.predecessor = told.evidence_id and one.effective_from is null)
union
select told.entity_id, told.known_at, 'bridge', told.evidence_id, one.successor, null, null, map {}, false, true
from told
join succession_seen as one on one.ask_id = told.ask_id and one.predecessor = told.evidence_id
where told.seen and not exists (
  select reach_seen.successor from reach_seen
  where reach_seen.ask_id = told.ask_id and reach_seen.successor = one.successor and reach_seen.predecessor = told.evidence_id);

create temp table export_masks as
select
  slot.*,
  cast(uuid() as varchar) as mask_id
from (select distinct said.entity_id, said.kind, said.about, said.other from export_said as said) as slot;

-- one row per assertion of a mask; several of one instant follow each other by `place`
create temp table export_mask_assertions as
with recursive
stated as (
  select
    mask.mask_id,
    mask.entity_id,
    mask.kind,
    mask.about,
    mask.other,
    asked.known_at,
    said.kind is not null as holds,
    {from_day: said.valid_from, to_day: said.valid_to, scope: said.scope, removed: said.removed, hidden: said.hidden} as says
  from export_masks as mask
  join export_asks as asked on asked.entity_id = mask.entity_id
  left join export_said as said
    on said.entity_id = mask.entity_id and said.kind = mask.kind and said.about = mask.about and said.other = mask.other
      and said.known_at = asked.known_at
),
changed as (
  select stated.*
  from stated
  qualify stated.holds and lag(stated.holds) over (partition by stated.mask_id order by stated.known_at) is null
    or stated.says is distinct from lag(stated.says) over (partition by stated.mask_id order by stated.known_at)
      and lag(stated.holds) over (partition by stated.mask_id order by stated.known_at) is not null
),
-- within which entity, and what may be known of it
placed as (
  select
    changed.*,
    changed.kind in ('withheld', 'stated') as of_entity,
    if(changed.kind in ('withheld', 'stated'), changed.entity_id, entity.masks_entity) as in_entity,
    coalesce(
      if(changed.about in (
          select known.evidence_id from export_recorded as known where known.seen and known.entity_id = changed.entity_id),
        null, about_mask.mask_id),
      changed.about) as about_id,
    bool_or(coalesce(changed.says.hidden, false)) over (partition by changed.mask_id) as hidden
  from changed
  join export_entities as entity on entity.entity_id = changed.entity_id
  left join export_masks as about_mask
    on changed.kind = 'circle' and about_mask.kind = 'withheld' and about_mask.entity_id = changed.entity_id
      and about_mask.about = changed.about
),
steps as (
  -- nothing: it has no standing, and its links do not count; nor does it keep the entity stated
  select placed.*, 1 as place, true as is_stated, 'draft' as status, false as linked from placed where not placed.holds
  union all
  select placed.*, 2, false, null, false from placed where not placed.holds and placed.of_entity
  union all
  select placed.*, 1, true, if(placed.kind = 'stated', 'draft', 'approved'), placed.kind not in ('withheld', 'stated')
  from placed where placed.holds
  union all
  -- passes links on and ends nothing
  select placed.*, 2, true, 'void', true from placed where placed.holds and placed.kind = 'bridge'
  union all
  select placed.*, 2, false, null, false from placed where placed.holds and placed.says.removed
)
select
  steps.in_entity as entity_id,
  steps.mask_id as evidence_id,
  steps.is_stated as stated,
  steps.known_at as asserted_at,
  steps.place,
  steps.status,
  if(steps.status is null, null, 'authoritative') as authority,
  steps.says.from_day as effective_from,
  steps.says.to_day - 1 as effective_to,
  coalesce(steps.says.scope, map {}) as scope,
  case when not steps.linked then [] else [steps.about_id] end as supersedes,
  case when not steps.linked then [] when steps.kind = 'bridge' then [steps.other] when steps.kind = 'circle' then [steps.about_id] else [] end
    as superseded_by,
  steps.linked as links_elsewhere,
  if(steps.hidden, ['uncovered'], []) as permissions
from steps;

insert into export_mask_assertions by name
with recursive
{{ attest.link_ctes('export_seen') }},
bearing_seen as (
  select distinct known.entity_id, known.entity_id as by_entity from export_recorded as known
  union
  select bearing_seen.entity_id, links_across.by_entity
  from bearing_seen join links_across on links_across.of_entity = bearing_seen.by_entity
),
first_seen as (
  select known.entity_id, min({known_from: known.known_from, evidence_id: known.evidence_id}) as first
  from export_recorded as known
  where known.seen
  group by known.entity_id
)
select
  cast(uuid() as varchar) as entity_id,
  cast(uuid() as varchar) as evidence_id,
  true as stated,
  ended.first.known_from as asserted_at,
  1 as place,
  'draft' as status,
  cast(null as varchar) as authority,
  cast(map {} as map(varchar, varchar)) as scope,
  [ended.first.evidence_id] as supersedes,
  [bears.first.evidence_id] as superseded_by,
  true as links_elsewhere,
  ['uncovered'] as permissions
from export_bearing as bearing
join first_seen as ended on ended.entity_id = bearing.entity_id
join first_seen as bears on bears.entity_id = bearing.by_entity
where not exists (
  from bearing_seen where bearing_seen.entity_id = bearing.entity_id and bearing_seen.by_entity = bearing.by_entity);

create temp table export_collections as
with
latest as (
  select
    max(collection.known_until) as known_until,
    max({generated_at: collection.generated_at, ingested_at: collection.ingested_at, max_age: collection.max_age,
      max_unverified: collection.max_unverified, project_file_id: collection.project_file_id}) as said,
    max(collection.ingested_at) as ingested_at
  from {{ attest.evidence('collections') }} as collection
  where collection.environment = {{ environment }}
  having count(*) > 0
)
select
  {{ environment }} as environment,
  cast(null as varchar) as project_name,
  latest.said.project_file_id as project_file_id,
  latest.said.generated_at as generated_at,
  latest.known_until,
  latest.said.max_age as max_age,
  latest.said.max_unverified as max_unverified,
  latest.ingested_at
from latest
union all
-- the policy of what is hidden needs a collection, the oldest of all
select {{ environment }}, nobody.project_name, 'masks', timestamptz '1970-01-01 00:00:00+00', null, null, null,
  latest.ingested_at
from latest cross join export_nobody as nobody;

create temp table export_policies as
select 'masks' as project_file_id, 'uncovered' as policy, cast([] as varchar[]) as groups, 'hidden' as existence
from export_collections as collection
where collection.project_file_id = 'masks';

create temp table export_assertions as
select seen.* from export_seen as seen
union all by name
select
  {{ environment }} as environment,
  mask.* exclude (place),
  mask.asserted_at as generated_at,
  cast(mask.place as varchar) as artifact_id,
  row_number() over (order by mask.evidence_id, mask.asserted_at, mask.place) || '' as state_hash,
  latest.ingested_at as ingested_at,
  nobody.project_name as project_name,
  nobody.project_name as package_name
from export_mask_assertions as mask
cross join export_nobody as nobody
cross join (select max(collection.ingested_at) as ingested_at from export_collections as collection) as latest;

create temp table export_names as
select names.*
from {{ attest.evidence('names') }} as names
where names.environment = {{ environment }}
  and exists (
    select known.entity_id
    from export_recorded as known
    where known.seen and known.entity_id = names.entity_id
      and (list_contains(known.names, names.name)
        or list_contains(list_transform(known.aliases, lambda alias: alias.alias), names.name)));

create temp table export_artifacts as
select
  artifact.artifact_id,
  artifact.kind,
  artifact.path,
  artifact.dbt_version,
  artifact.generated_at,
  -- a document has no commit of its own: it came with the manifest that it was first read beside
  coalesce(artifact.git_commit, manifest.git_commit) as git_commit,
  coalesce(artifact.authored_at, manifest.authored_at) as authored_at,
  artifact.ingested_at
from {{ attest.evidence('artifacts') }} as artifact
left join {{ attest.evidence('collections') }} as first_read
  on artifact.kind = 'document' and first_read.collection_id = artifact.collection_id
left join {{ attest.evidence('artifacts') }} as manifest on manifest.artifact_id = first_read.manifest_id
where artifact.artifact_id in (select seen.artifact_id from export_seen as seen);

create temp table export_contract_versions as
select contract.* from {{ attest.evidence('contract_versions') }} as contract;
{% endmacro %}

{#- A list of evidence_ids again, without those that the reader does not see. Null stays null. -#}
{% macro links_again(links) -%}
  if({{ links }} is null, null, coalesce((
    select list(listed.id order by listed.place)
    from (select unnest({{ links }}) as id, generate_subscripts({{ links }}, 1) as place) as listed
    join export_ids on export_ids.evidence_id = listed.id), []))
{%- endmacro %}

{#- A list of nodes again, with new ids for those of which the reader sees nothing, and without those of which they may not
    know. Null stays null. -#}
{% macro nodes_again(nodes) -%}
  if({{ nodes }} is null, null, coalesce((
    select list(coalesce(node.node_id, listed.id) order by listed.place)
    from (select unnest({{ nodes }}) as id, generate_subscripts({{ nodes }}, 1) as place) as listed
    left join export_nodes as node on node.withheld_id = listed.id
    where listed.id not in (select hidden.node_id from export_hidden_nodes as hidden)), []))
{%- endmacro %}
