{#- The CTEs from `present` to `broken_ends`: one row per definition and end it reads that no artifact contains now.
    `once_collected` is whether one ever did. -#}
{% macro broken_edge_ctes() %}
question as (
  select {{ attest.literal(attest.environment()) }} as environment, timestamptz 'infinity' as known_at
),
{{ attest.edge_ctes() }},
broken_ends as (
  select
    present.environment, present.project_name, present.entity_id as entity, present.evidence_id, present.node_id, present.file,
    present.owner, present.governs, edges.from_node, edges.kind, edges.first_seen,
    edges.from_node in (
      select assertion.node_id from {{ attest.recorded_assertions() }} as assertion
      where assertion.environment = present.environment and assertion.node_id is not null) as once_collected
  from edges
  join present on coalesce(present.node_id, present.evidence_id) = edges.to_node
  where edges.broken and edges.kind <> 'test'
    -- of several definitions of a node, what is declared is said by the one that names it
    and (edges.kind <> 'declared' or present.node_id is null
      or list_contains(list_concat(coalesce(present.models, []), coalesce(present.sources, [])), edges.from_node))
    and not exists (
      from present as other where other.node_id = edges.from_node)
)
{% endmacro %}
