{#- The CTEs from `question` to `edges`: one row per edge (from_node, to_node, kind) that is stated as known at the asked
    instant, whatever project states it; a copy in another project's manifest counts only until its own project is
    collected. `first_seen` is when it was first stated without a break, `last_seen` the last artifact that stated it.

    Most edges are stated by the first collection and never spoken of again: only of nodes that anything else
    speaks of the rows are folded, so that a question costs little more than reading the table. -#}
{% macro edge_ctes() %}
seen_until as materialized (
  select
    collection.project_name,
    max(collection.generated_at) as last_seen,
    arg_max(collection.disabled, {g: collection.generated_at, m: collection.manifest_id}) as disabled
  from {{ attest.evidence('collections') }} as collection
  join question on question.environment = collection.environment and collection.generated_at <= question.known_at
  group by collection.project_name
),
-- the question, and the first collection: of an edge it has at most one row that states it
asking as materialized (
  select
    any_value(question.environment) as environment,
    any_value(question.known_at) as known_at,
    coalesce(list(distinct collection.project_name) filter (collection.project_name is not null), []) as projects,
    arg_min({id: collection.collection_id, generated_at: collection.generated_at}, collection.ingested_at) as first_collection,
    arg_min(seen_until.last_seen, collection.ingested_at) as last_seen
  from question
  left join {{ attest.evidence('collections') }} as collection on collection.environment = question.environment
  left join seen_until on seen_until.project_name = collection.project_name
),
-- a collection is silent about what is disabled in it
silent as materialized (
  select
    disabled.project_name,
    disabled.node_id,
    max(collection.generated_at) filter (not list_contains(coalesce(collection.disabled, []), disabled.node_id)) as last_seen
  from (
    select seen_until.project_name, unnest(seen_until.disabled) as node_id from seen_until
  ) as disabled
  join {{ attest.evidence('collections') }} as collection on collection.project_name = disabled.project_name
  join question on question.environment = collection.environment and collection.generated_at <= question.known_at
  where disabled.node_id in (select edge.to_node from {{ attest.evidence('lineage_edges') }} as edge)
  group by disabled.project_name, disabled.node_id
),
-- the nodes of which any other row speaks
again as materialized (
  select distinct edge.to_node
  from {{ attest.evidence('lineage_edges') }} as edge
  join asking on asking.environment = edge.environment
  where not (edge.stated and coalesce(
    edge.collection_id = asking.first_collection.id and edge.generated_at = asking.first_collection.generated_at, false))
  union
  select silent.node_id from silent
),
folded as (
  select
    edge.from_node,
    edge.to_node,
    edge.kind,
    edge.project_name,
    arg_max(
      {stated: edge.stated, asserted_at: edge.asserted_at, strength: edge.strength, broken: edge.broken,
        collector: edge.collector, artifact_id: edge.artifact_id},
      {a: edge.asserted_at, g: edge.generated_at, f: edge.artifact_id, i: edge.ingested_at}) as last,
    max(edge.asserted_at) filter (not edge.stated) as gone_at,
    list(edge.asserted_at) filter (edge.stated) as stated_at
  from {{ attest.evidence('lineage_edges') }} as edge
  join asking on asking.environment = edge.environment
  where edge.to_node in (select again.to_node from again) and edge.asserted_at <= asking.known_at
  group by edge.from_node, edge.to_node, edge.kind, edge.project_name
),
still_told as materialized (
  select
    folded.from_node,
    folded.to_node,
    folded.kind,
    arg_max(folded.last, {s: folded.last.asserted_at, f: folded.last.artifact_id, p: folded.project_name}) as best,
    min(list_min(list_filter(folded.stated_at, lambda instant: coalesce(instant >= folded.gone_at, true)))) as first_seen,
    -- the project's last artifact that was not silent about it, or a younger document
    max(greatest(folded.last.asserted_at, coalesce(silent.last_seen, seen_until.last_seen))) as last_seen
  from folded
  cross join asking
  left join seen_until on seen_until.project_name = folded.project_name
  left join silent on silent.project_name = folded.project_name and silent.node_id = folded.to_node
  where folded.last.stated and {{ attest.edge_counts('folded', 'folded.last') }}
  group by folded.from_node, folded.to_node, folded.kind
),
edges as materialized (
  select edge.from_node, edge.to_node, edge.kind, edge.strength, edge.broken, edge.collector, edge.artifact_id,
    edge.asserted_at as first_seen, greatest(edge.asserted_at, asking.last_seen) as last_seen
  from {{ attest.evidence('lineage_edges') }} as edge
  join asking on asking.environment = edge.environment
  where edge.stated and edge.asserted_at <= asking.known_at and {{ attest.edge_counts('edge') }}
    and edge.to_node not in (select again.to_node from again)
  union all
  select still_told.from_node, still_told.to_node, still_told.kind, still_told.best.strength, still_told.best.broken,
    still_told.best.collector, still_told.best.artifact_id, still_told.first_seen, still_told.last_seen
  from still_told
)
{% endmacro %}

{#- Whether a project may state an edge: into its own nodes, and into those of packages that nobody collected. -#}
{% macro edge_counts(edge, said=none) -%}
  (len(asking.projects) = 1 or {{ said or edge }}.collector = 'attest'
    or split_part({{ edge }}.to_node, '.', 2) = {{ edge }}.project_name
    or not list_contains(asking.projects, split_part({{ edge }}.to_node, '.', 2)))
{%- endmacro %}
