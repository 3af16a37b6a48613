{#- The CTEs from the arguments of a question about the lineage graph to `meant`, and with them `edges`, `withheld` and
    `node_access`. `meant` has one row per name asked: the node that it means (node_id), or why there is none.

    names: SQL of the rows (role, name) that are asked -#}
{% macro lineage_ctes(node, known_at, groups, environment, names=none) %}
{{ attest.question_ctes(node, 'null', 'null', known_at, groups, 'null', environment) }},
{{ attest.policy_ctes() }},
{{ attest.edge_ctes() }},
{{ attest.node_access_ctes() }},
wanted as materialized (
  {{ names or "select 'node' as role, question.name from question" }}
),
-- a definition bears its node's unique_id, its own id, its entity's, and the dbt names and aliases
named_there as materialized (
  select
    wanted.role,
    assertion.entity_id,
    assertion.evidence_id,
    coalesce(assertion.node_id, assertion.evidence_id) as node_id,
    case
      when assertion.node_id = wanted.name then 1
      when assertion.evidence_id = wanted.name then 2
      when assertion.entity_id = wanted.name then 3
      when list_contains(assertion.names, wanted.name)
        or list_contains(list_transform(assertion.aliases, lambda alias: alias.alias), wanted.name) then 4
    end as bearing,
    assertion.stated,
    {a: assertion.asserted_at, g: assertion.generated_at, f: assertion.artifact_id, i: assertion.ingested_at} as turn
  from (
    select wanted.role, wanted.name, assertion.entity_id
    from {{ attest.evidence('assertions') }} as assertion
    join question on question.environment = assertion.environment
    join wanted on wanted.name = assertion.node_id or wanted.name = assertion.evidence_id
    union
    select wanted.role, wanted.name, names.entity_id
    from {{ attest.evidence('names') }} as names
    join question on question.environment = names.environment
    join wanted on wanted.name = names.name
    union
    select wanted.role, wanted.name, wanted.name from wanted
  ) as wanted
  join {{ attest.evidence('assertions') }} as assertion on assertion.entity_id = wanted.entity_id
  join question on question.environment = assertion.environment
),
bearers as materialized (
  -- a name that nothing stated bears any more is one of lowest rank
  select named_there.role, named_there.node_id,
    min(named_there.bearing + if(latest.last.stated and latest.last.node_id = named_there.node_id or named_there.bearing < 3, 0, 2))
      as bearing
  from named_there
  join (
    select named_there.role, named_there.entity_id, named_there.evidence_id,
      arg_max({stated: named_there.stated, node_id: named_there.node_id}, named_there.turn) as last
    from named_there
    group by named_there.role, named_there.entity_id, named_there.evidence_id
  ) as latest on latest.role = named_there.role and latest.entity_id = named_there.entity_id
    and latest.evidence_id = named_there.evidence_id
  where named_there.bearing is not null
  group by named_there.role, named_there.node_id
),
unborne as materialized (
  select wanted.role, wanted.name from wanted
  where wanted.name is not null and wanted.role not in (select bearers.role from bearers)
),
-- tests, saved queries and ends that nothing contains: by unique_id, or by whole parts of it
nodes_named as (
  select unborne.role, node.node_id, if(node.node_id = unborne.name, 1, 4) as bearing
  from (
    select edge.from_node as node_id, edge.environment from {{ attest.evidence('lineage_edges') }} as edge
    union all
    select edge.to_node, edge.environment from {{ attest.evidence('lineage_edges') }} as edge
  ) as node
  join question on question.environment = node.environment
  join unborne on contains('.' || node.node_id || '.', '.' || unborne.name || '.')
  group by all
),
every_bearer as (
  select bearers.role, bearers.node_id, bearers.bearing from bearers
  union all
  select nodes_named.role, nodes_named.node_id, nodes_named.bearing from nodes_named
),
meanings as (
  select every_bearer.role, every_bearer.node_id, every_bearer.bearing, barrier.node_id is null as visible
  from every_bearer
  left join withheld as barrier on barrier.node_id = every_bearer.node_id
  -- what is withheld is known by its ids alone, what is hidden by nothing
  where barrier.node_id is null or barrier.disclosed and every_bearer.bearing <= 3
  qualify every_bearer.bearing = min(every_bearer.bearing) over (partition by every_bearer.role)
),
meant as materialized (
  select
    wanted.role,
    if(len(found.nodes) = 1, found.nodes[1], null) as node_id,
    case
      when len(asking.projects) = 0 or found.nodes is null then 'abstain'
      when len(found.nodes) = 0 then 'deny'
      when len(found.nodes) > 1 then 'clarify'
    end as outcome,
    case
      when len(asking.projects) = 0 then 'nothing_collected'
      when found.nodes is null then 'unknown_node'
      when len(found.nodes) = 0 then 'not_permitted'
      when len(found.nodes) > 1 then 'ambiguous_name'
    end as reason,
    if(len(found.nodes) > 1, found.nodes, []) as candidates
  from wanted
  cross join asking
  left join (
    select meanings.role,
      coalesce(list(meanings.node_id order by meanings.node_id) filter (meanings.visible), []) as nodes
    from meanings
    group by meanings.role
  ) as found on found.role = wanted.role
)
{% endmacro %}

{#- The CTEs from `meant` and `edges` to `rows`, and the answer: one row per edge of the graph behind (upstream) or before the
    node meant, and at most one for all that is denied at one end; where there is none, one that says so.

    near, far: from_node and to_node, the end that is reached first and the one beyond it -#}
{% macro walk_ctes(near, far) %}
{%- set reader = 'near_end' if near == 'to_node' else 'far_end' %}
ways as not materialized (
  select edges.{{ near }} as near, edges.{{ far }} as far
  from edges
  where edges.{{ far }} not in (select withheld.node_id from withheld)
),
walked as (
  select meant.node_id from meant where meant.node_id is not null
  union
  select ways.far from walked join ways on ways.near = walked.node_id
),
closed_ways as materialized (
  select edges.{{ near }} as near
  from edges
  where edges.{{ far }} in (select withheld.node_id from withheld where withheld.disclosed)
),
{{ attest.run_ctes('walked.node_id from walked') }},
{{ attest.contained_ctes() }},
reached as materialized (
  select walked.node_id, run.seen_at, run.invocation_id
  from walked
  left join runs as run on run.node_id = walked.node_id
),
rows as (
  select 'answer' as outcome, 'recorded' as reason, {{ attest.told_columns('edges', reader) }}
  from edges
  join reached as near_end on near_end.node_id = edges.{{ near }}
  {%- if reader == 'far_end' %}
  join reached as far_end on far_end.node_id = edges.{{ far }}
  {%- endif %}
  where edges.{{ far }} not in (select withheld.node_id from withheld)
  union all by name
  -- what is denied is neither named nor counted, what is hidden not there
  select distinct 'deny' as outcome, 'not_permitted' as reason, closed_ways.near as {{ near }}
  from closed_ways
  where closed_ways.near in (select walked.node_id from walked)
)
select rows.outcome, rows.reason, meant.node_id as node, rows.from_node, rows.to_node, rows.kind, rows.strength, rows.process,
  rows.first_seen, rows.last_seen, rows.artifact_id, rows.broken, meant.candidates
from rows
cross join meant
union all by name
select coalesce(meant.outcome, 'abstain') as outcome, coalesce(meant.reason, 'lineage_missing') as reason, meant.node_id as node,
  meant.candidates
from meant
where not exists (
  from edges
  where edges.{{ near }} = meant.node_id
    and edges.{{ far }} not in (select withheld.node_id from withheld where not withheld.disclosed))
{% endmacro %}

{#- The CTEs from `shown`, some edges, to `told`: the same edges with the process that shows each best, and whether an end
    is broken. -#}
{% macro told_ctes(readers) %}
{{ attest.run_ctes(readers) }},
{{ attest.contained_ctes() }},
told as (
  select {{ attest.told_columns('shown', 'run') }}
  from shown
  left join runs as run on run.node_id = shown.to_node
)
{% endmacro %}

{#- What is told of an edge: a run observes it where it executed the reading node with success, of a manifest of its own,
    after the edge was first stated. -#}
{% macro told_columns(edge, run) -%}
    {{ edge }}.from_node,
    {{ edge }}.to_node,
    {{ edge }}.kind,
    if({{ run }}.seen_at >= {{ edge }}.first_seen, 'observed', {{ edge }}.strength) as strength,
    if({{ run }}.seen_at >= {{ edge }}.first_seen, {{ run }}.invocation_id, {{ edge }}.collector) as process,
    {{ edge }}.first_seen,
    greatest({{ edge }}.last_seen, if({{ run }}.seen_at >= {{ edge }}.first_seen, {{ run }}.seen_at, null)) as last_seen,
    {{ edge }}.artifact_id,
    {{ edge }}.broken and {{ edge }}.from_node not in (select contained.node_id from contained) as broken
{%- endmacro %}

{#- The CTE `contained`: of the ends that an edge was recorded as broken at, those that a manifest contains after all. -#}
{% macro contained_ctes() %}
contained as (
  select distinct assertion.node_id
  from {{ attest.evidence('assertions') }} as assertion
  join question on question.environment = assertion.environment and assertion.asserted_at <= question.known_at
  where assertion.node_id in (
    select edge.from_node from {{ attest.evidence('lineage_edges') }} as edge where edge.broken)
  group by assertion.node_id, assertion.project_name, assertion.entity_id, assertion.evidence_id
  having arg_max(assertion.stated, {a: assertion.asserted_at, g: assertion.generated_at, f: assertion.artifact_id,
    i: assertion.ingested_at})
)
{% endmacro %}

{#- The CTE `runs`: of each node the last run that built it with success, as known at the asked instant. -#}
{% macro run_ctes(readers) %}
built as (
  select execution.node_id, max(execution.generated_at) as seen_at
  from {{ attest.evidence('executions') }} as execution
  join question on question.environment = execution.environment and execution.generated_at <= question.known_at
  where execution.class = 'executed' and execution.outcome in ('success', 'pass') and execution.manifest_id is not null
    and execution.node_id in (select {{ readers }})
  group by execution.node_id
),
runs as (
  select built.node_id, built.seen_at, run.invocation_id
  from built
  join (
    select execution.generated_at, max(execution.invocation_id) as invocation_id
    from {{ attest.evidence('executions') }} as execution
    join question on question.environment = execution.environment
    where execution.manifest_id is not null
    group by execution.generated_at
  ) as run on run.generated_at = built.seen_at
)
{% endmacro %}

{#- Which of two strengths is the stronger; lower is better. -#}
{% macro strength_rank(strength) -%}
  list_position(['observed', 'compiled', 'parsed', 'declared'], {{ strength }})
{%- endmacro %}
