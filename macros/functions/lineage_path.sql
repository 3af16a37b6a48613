{% macro lineage_path_function() %}
-- One row per edge of a shortest way along which data goes from `from_node` to `to_node`, in order; of several ways the one
-- whose nodes come first by name, seen from the end. Where there is none, exactly one row says so: `no_path`, or
-- `path_incomplete` where something before `to_node` is denied or broken and a way over it can neither be shown nor
-- excluded.
with recursive
{{ attest.lineage_ctes('from_node', 'known_at', 'groups', 'environment',
  names="select 'from' as role, cast(from_node as varchar) as name union all select 'to', cast(to_node as varchar)") }},
ends as materialized (
  select
    max(meant.node_id) filter (meant.role = 'from') as start,
    max(meant.node_id) filter (meant.role = 'to') as goal
  from meant
),
ways as materialized (
  select distinct edges.from_node as near, edges.to_node as far
  from edges
  where edges.from_node not in (select withheld.node_id from withheld)
),
-- breadth first from the goal: of each node the next one on a shortest way to it
walked(node_id, next_node) using key (node_id) as (
  select ends.goal, cast(null as varchar) from ends where ends.start <> ends.goal
  union
  select ways.near, min(walked.node_id)
  from walked
  join ways on ways.far = walked.node_id
  left join recurring.walked as before on before.node_id = ways.near
  where before.node_id is null
  group by ways.near
),
path as (
  select walked.node_id as from_node, walked.next_node as to_node, 1 as step
  from walked join ends on ends.start = walked.node_id
  union
  select walked.node_id, walked.next_node, path.step + 1
  from path join walked on walked.node_id = path.to_node
  where walked.next_node is not null
),
shown as (
  select edges.*, path.step
  from path
  join edges on edges.from_node = path.from_node and edges.to_node = path.to_node
),
{{ attest.told_ctes('path.to_node from path') }},
steps as materialized (
  select path.step, told.*
  from path
  join told on told.from_node = path.from_node and told.to_node = path.to_node
  -- of several edges between two nodes the strongest
  qualify row_number() over (partition by path.step order by {{ attest.strength_rank('told.strength') }}, told.kind) = 1
)
select 'answer' as outcome, 'recorded' as reason, steps.step, steps.from_node, steps.to_node, steps.kind, steps.strength,
  steps.process, steps.first_seen, steps.last_seen, steps.artifact_id, steps.broken, cast([] as varchar[]) as candidates
from steps
union all by name
select
  coalesce(unnamed.outcome, 'abstain') as outcome,
  coalesce(unnamed.reason, case
    when exists (
      from edges
      where edges.to_node in (select walked.node_id from walked)
        and (edges.broken
          or edges.from_node in (select withheld.node_id from withheld where withheld.disclosed))) then 'path_incomplete'
    else 'no_path' end) as reason,
  coalesce(unnamed.candidates, []) as candidates
from ends
left join (
  from meant where meant.outcome is not null order by meant.role limit 1
) as unnamed on true
where not exists (from steps)
order by step
{% endmacro %}
