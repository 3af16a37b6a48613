{{ config(materialized='resolver_function', parameters='entity, on_date, known_at := null, groups := null, scope := null, environment := null') }}
{{- attest.stay('resolver_function') }}
-- One row per thing that the definition of `entity` in force on `on_date` rests on, with the definition of that thing in
-- force on the same day: `model` (what it names or directly depends on), `through` (between a model and a source),
-- `source`, and `document` (what only explains it). Where there is no answer, or no support is recorded, exactly one row
-- says so. What the requester may not see is withheld: a row with outcome `deny` and no names.
with recursive
{{ attest.question_ctes('entity', 'on_date', 'on_date', 'known_at', 'groups', 'scope', 'environment') }},
edges as (
  select edge.from_node, edge.to_node
  from {{ attest.evidence('lineage_edges') }} as edge
  join question on question.environment = edge.environment and edge.asserted_at <= question.known_at
  group by edge.from_node, edge.to_node, edge.kind, edge.project_name
  having arg_max(edge.stated, {asserted: edge.asserted_at, manifest: edge.generated_at, id: edge.artifact_id})
),
-- everything that any definition of the named entities may rest on, so that all of it is resolved in one go
reached as (
  select unnest(list_concat(coalesce(assertion.models, []), coalesce(assertion.sources, []), [assertion.node_id])) as node_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.entity_id in (select named.entity_id from named)
  union
  select edges.from_node from reached join edges on edges.to_node = reached.node_id
),
involved as (
  select named.entity_id from named
  union
  select assertion.entity_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.node_id in (select reached.node_id from reached)
  union
  select document.entity_id
  from {{ attest.evidence('assertions') }} as document
  where document.describes in (
    select assertion.evidence_id from {{ attest.evidence('assertions') }} as assertion
    where assertion.entity_id in (select named.entity_id from named))
),
{{ attest.knowledge_ctes('involved') }},
{{ attest.answer_ctes() }},
roots as (
  select unnest(governed.models) as node_id, 'model' as role from result as governed where governed.models is not null
  union
  select unnest(governed.sources), 'source' from result as governed where governed.sources is not null
  union
  -- dbt's own edges support the newest version; what older versions stood on is unknown unless they say so
  select edges.from_node, if(starts_with(edges.from_node, 'source.'), 'source', 'model')
  from result as governed
  join edges on edges.to_node = governed.node_id
  where governed.models is null and governed.sources is null
    and not exists (
      from stretches
      join asks on asks.ask_id = stretches.ask_id and asks.as_asked and asks.entity_id = governed.entity
      where stretches.standing and stretches.valid_from > governed.valid_from)
),
walked as (
  select roots.node_id, roots.role from roots
  union
  select edges.from_node, if(starts_with(edges.from_node, 'source.'), 'source', 'through')
  from walked join edges on edges.to_node = walked.node_id
),
supports as (
  select walked.node_id, min(walked.role) as role
  from walked
  group by walked.node_id
),
in_force_then as (
  select
    recorded.entity_id,
    recorded.evidence_id,
    recorded.entity_type,
    recorded.node_id,
    recorded.describes,
    recorded.title,
    recorded.version,
    decisions.winner.valid_from,
    decisions.winner.valid_to
  from decisions
  join asks on asks.ask_id = decisions.ask_id and asks.as_asked
  join recorded
    on recorded.environment = asks.environment and recorded.entity_id = asks.entity_id
      and recorded.evidence_id = decisions.evidence_id and recorded.known_from = decisions.winner.known_from
      and recorded.known_until is distinct from recorded.known_from
),
-- whether the requester may see any definition of the node, in force or not
node_access as (
  select recorded.node_id, bool_or(list_has_any(recorded.groups, request.groups)) as visible
  from recorded
  join question on question.environment = recorded.environment
  cross join request
  where recorded.node_id is not null
  group by recorded.node_id
),
listed as (
  select supports.role, supports.node_id, coalesce(node_access.visible, false) as visible,
    in_force_then.entity_id, in_force_then.evidence_id, in_force_then.title, in_force_then.version,
    in_force_then.valid_from, in_force_then.valid_to
  from supports
  left join node_access on node_access.node_id = supports.node_id
  -- a column's definitions stand on its table's node
  left join in_force_then on in_force_then.node_id = supports.node_id
    and in_force_then.entity_type is distinct from 'dbt_column'
  union all
  select 'document', in_force_then.node_id, true, in_force_then.entity_id, in_force_then.evidence_id, in_force_then.title,
    in_force_then.version, in_force_then.valid_from, in_force_then.valid_to
  from result as governed join in_force_then on in_force_then.describes = governed.evidence_id
),
support as (
  select distinct
    case when governed.outcome <> 'answer' then governed.outcome
      when listed.role is null then 'abstain' when not listed.visible then 'deny' else 'answer' end as outcome,
    case when governed.outcome <> 'answer' then governed.reason
      when listed.role is null then 'lineage_missing' when not listed.visible then 'not_permitted' else 'recorded' end as reason,
    governed.evidence_id as supported,
    listed.role as kind,
    if(listed.visible, listed.node_id, null) as node_id,
    if(listed.visible, listed.entity_id, null) as entity_id,
    if(listed.visible, listed.evidence_id, null) as evidence_id,
    if(listed.visible, listed.title, null) as title,
    if(listed.visible, listed.version, null) as version,
    if(listed.visible, listed.valid_from, null) as valid_from,
    if(listed.visible, listed.valid_to, null) as valid_to
  from result as governed
  left join listed on governed.outcome = 'answer'
)
select support.* from support
order by list_position(['model', 'through', 'source', 'document'], support.kind), support.node_id, support.evidence_id
