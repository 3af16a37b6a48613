{% macro support_on_function() %}
-- One row per thing that the definition of `entity` in force on `on_date` rests on, with the definition of that thing in
-- force on the same day: `model` (what it names or directly depends on), `through` (between a model and a source),
-- `source`, and `document` (what only explains it). Where there is no answer, or no support is recorded, exactly one row
-- says so. What the requester may not see is withheld: a row with outcome `deny` and no names. Each thing has the strongest
-- lineage that leads to it, what its last run and the tests of that run proved, and how fresh a source was at the end of
-- `on_date` and is as now known, and of its columns those that the requester may see.
with recursive
{{ attest.question_ctes('entity', 'on_date', 'on_date', 'known_at', 'groups', 'scope', 'environment') }},
{{ attest.policy_ctes() }},
{{ attest.edge_ctes() }},
{{ attest.node_access_ctes() }},
data_edges as materialized (
  select edges.*
  from edges
  where edges.kind <> 'declared' and edges.from_node not in (select withheld.node_id from withheld where not withheld.disclosed)
),
-- everything that any definition of the named entities may rest on, so that all of it is resolved in one go
reached as (
  select unnest(list_concat(coalesce(assertion.models, []), coalesce(assertion.sources, []), [assertion.node_id])) as node_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.entity_id in (select named.entity_id from named)
  union
  select data_edges.from_node from reached join data_edges on data_edges.to_node = reached.node_id
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
{{ attest.knowledge_ctes('involved', policies=false) }},
{{ attest.answer_ctes() }},
roots as (
  select unnest(governed.models) as node_id, 'model' as role from result as governed where governed.models is not null
  union
  select unnest(governed.sources), 'source' from result as governed where governed.sources is not null
  union
  -- dbt's own edges support the newest version; what older versions stood on is unknown unless they say so
  select data_edges.from_node, if(starts_with(data_edges.from_node, 'source.'), 'source', 'model')
  from result as governed
  join data_edges on data_edges.to_node = governed.node_id
  where governed.models is null and governed.sources is null
    and not exists (
      from stretches
      join asks on asks.ask_id = stretches.ask_id and asks.as_asked and asks.entity_id = governed.entity
      where stretches.standing and stretches.valid_from > governed.valid_from)
),
walked as (
  select roots.node_id, roots.role
  from roots
  where roots.node_id not in (select withheld.node_id from withheld where not withheld.disclosed)
  union
  select data_edges.from_node, if(starts_with(data_edges.from_node, 'source.'), 'source', 'through')
  from walked join data_edges on data_edges.to_node = walked.node_id
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
    recorded.logic_changed,
    decisions.winner.valid_from,
    decisions.winner.valid_to
  from decisions
  join asks on asks.ask_id = decisions.ask_id and asks.as_asked
  join recorded
    on recorded.environment = asks.environment and recorded.entity_id = asks.entity_id
      and recorded.evidence_id = decisions.evidence_id and recorded.known_from = decisions.winner.known_from
      and recorded.known_until is distinct from recorded.known_from
),
shown as (
  select data_edges.*
  from data_edges
  where data_edges.from_node in (select supports.node_id from supports)
    and (data_edges.to_node in (select supports.node_id from supports)
      or data_edges.to_node in (select governed.node_id from result as governed))
),
{{ attest.told_ctes('shown.to_node from shown') }},
strengths as (
  select told.from_node as node_id, arg_min(told.strength, {{ attest.strength_rank('told.strength') }}) as strength
  from told
  group by told.from_node
),
executed as (
  select
    execution.node_id,
    arg_max(
      {invocation_id: execution.invocation_id, completed_at: coalesce(execution.completed_at, execution.generated_at),
        status: execution.status},
      {g: execution.generated_at, f: execution.artifact_id, p: execution.position})
      filter (execution.class = 'executed') as last_run,
    arg_max(execution.class, {g: execution.generated_at, f: execution.artifact_id, p: execution.position}) as last_class
  from {{ attest.evidence('executions') }} as execution
  join question on question.environment = execution.environment and execution.generated_at <= question.known_at
  where execution.node_id in (select supports.node_id from supports)
  group by execution.node_id
),
tested as (
  select
    execution.tested_node as node_id,
    execution.invocation_id,
    list({test: execution.node_id, outcome: execution.outcome, failures: execution.failures} order by execution.node_id) as tests
  from {{ attest.evidence('executions') }} as execution
  join question on question.environment = execution.environment and execution.generated_at <= question.known_at
  where execution.class = 'executed' and execution.tested_node in (select supports.node_id from supports)
    and execution.node_id not in (select withheld.node_id from withheld)
  group by execution.tested_node, execution.invocation_id
),
observed as (
  select
    observation.node_id,
    observation.outcome,
    coalesce(observation.snapshotted_at, observation.generated_at) as at_instant,
    {at_instant: at_instant, g: observation.generated_at, f: observation.artifact_id, p: observation.position} as turn
  from {{ attest.evidence('freshness_observations') }} as observation
  join question on question.environment = observation.environment
    and coalesce(observation.snapshotted_at, observation.generated_at) <= question.known_at
),
fresh as (
  select
    observed.node_id,
    arg_max({outcome: observed.outcome, at_instant: observed.at_instant}, observed.turn)
      filter (observed.at_instant <= {{ attest.end_of_day('question.to_day') }}) as on_that_day,
    arg_max({outcome: observed.outcome, at_instant: observed.at_instant}, observed.turn) as last
  from observed cross join question
  group by observed.node_id
),
-- by today's permissions: the columns with a definition of their own that the requester may not see
columns_withheld as (
  select named.node_id, lower(named.name) as name, bool_and(named.hidden) as hidden
  from (
    select recorded.node_id, unnest(recorded.names) as name, recorded.hidden
    from recorded cross join question
    where recorded.entity_type = 'dbt_column' and not coalesce(list_has_any(recorded.groups, question.groups), false)
  ) as named
  group by named.node_id, lower(named.name)
),
columns_said as (
  select
    said.node_id,
    lower(said.column_name) as folded,
    coalesce(max(said.column_name) filter (said.source = 'catalog'), max(said.column_name)) as name,
    coalesce(max(said.last.data_type) filter (said.source = 'catalog'), max(said.last.data_type)) as data_type,
    max(said.last.position) as position
  from (
    select stated.node_id, stated.source, stated.column_name,
      arg_max({stated: stated.stated, phantom: stated.phantom, data_type: stated.data_type, position: stated.position},
        {a: stated.asserted_at, g: stated.generated_at, f: stated.artifact_id, i: stated.ingested_at}) as last
    from {{ attest.evidence('columns') }} as stated
    join question on question.environment = stated.environment and stated.asserted_at <= question.known_at
    where stated.node_id in (select supports.node_id from supports)
    group by stated.node_id, stated.source, stated.column_name
  ) as said
  where said.last.stated
  group by said.node_id, lower(said.column_name)
  having not coalesce(bool_or(said.last.phantom), false)
),
columns_seen as (
  select
    columns_said.node_id,
    list({name: columns_said.name, data_type: columns_said.data_type}
      order by columns_said.position nulls last, columns_said.name) filter (columns_withheld.node_id is null) as seen,
    bool_or(not columns_withheld.hidden) as others
  from columns_said
  left join columns_withheld
    on columns_withheld.node_id = columns_said.node_id and ends_with(columns_withheld.name, '.' || columns_said.folded)
  group by columns_said.node_id
),
-- the nodes that a definition with standing is about
defined as (
  select distinct recorded.node_id
  from recorded
  join question on recorded.known_from <= question.known_at
    and (recorded.known_until is null or recorded.known_until > question.known_at)
  where recorded.authority = 'authoritative' and recorded.status not in ('draft', 'void')
    and recorded.effective_from is not null and recorded.entity_type is distinct from 'dbt_column'
),
listed as (
  select supports.role, supports.node_id, supports.node_id not in (select withheld.node_id from withheld) as visible,
    in_force_then.entity_id, in_force_then.evidence_id, in_force_then.title, in_force_then.version,
    in_force_then.valid_from, in_force_then.valid_to, coalesce(strengths.strength, 'declared') as strength,
    if(executed.last_run is null, executed.last_class, 'executed') as evidence_class, executed.last_run, tested.tests,
    columns_seen.seen as columns, coalesce(columns_seen.others, false) as columns_withheld,
    if(supports.role = 'source', fresh.on_that_day, null) as fresh_then, if(supports.role = 'source', fresh.last, null) as fresh_now,
    list_filter([
      if(in_force_then.evidence_id is null and supports.node_id in (select defined.node_id from defined), 'support_not_in_force', null),
      if(in_force_then.logic_changed, 'logic_changed', null)
    ], lambda warning: warning is not null) as warnings
  from supports
  left join strengths on strengths.node_id = supports.node_id
  left join executed on executed.node_id = supports.node_id
  left join tested on tested.node_id = supports.node_id and tested.invocation_id = executed.last_run.invocation_id
  left join fresh on fresh.node_id = supports.node_id
  left join columns_seen on columns_seen.node_id = supports.node_id
  -- a column's definitions stand on its table's node
  left join in_force_then on in_force_then.node_id = supports.node_id
    and in_force_then.entity_type is distinct from 'dbt_column'
  union all by name
  select 'document' as role, in_force_then.node_id, true as visible, in_force_then.entity_id, in_force_then.evidence_id,
    in_force_then.title, in_force_then.version, in_force_then.valid_from, in_force_then.valid_to, 'declared' as strength,
    cast([] as varchar[]) as warnings
  from result as governed join in_force_then on in_force_then.describes = governed.evidence_id
),
-- what the requester may see, and one row of each kind for all that is denied
told_of as (
  select 'answer' as outcome, 'recorded' as reason, listed.* from listed where listed.visible
  union all by name
  select 'deny' as outcome, 'not_permitted' as reason, listed.role, cast([] as varchar[]) as warnings
  from listed where not listed.visible
),
support as (
  select distinct
    coalesce(told_of.outcome, if(governed.outcome = 'answer', 'abstain', governed.outcome)) as outcome,
    coalesce(told_of.reason, if(governed.outcome = 'answer', 'lineage_missing', governed.reason)) as reason,
    governed.evidence_id as supported,
    told_of.role as kind,
    told_of.node_id,
    told_of.entity_id,
    told_of.evidence_id,
    told_of.title,
    told_of.version,
    told_of.valid_from,
    told_of.valid_to,
    told_of.strength,
    told_of.evidence_class,
    told_of.last_run.invocation_id as run_invocation_id,
    told_of.last_run.completed_at as run_completed_at,
    told_of.last_run.status as run_status,
    told_of.tests,
    told_of.fresh_then.outcome as freshness_then,
    told_of.fresh_then.at_instant as freshness_then_at,
    told_of.fresh_now.outcome as freshness_now,
    told_of.fresh_now.at_instant as freshness_now_at,
    told_of.columns,
    told_of.columns_withheld,
    coalesce(told_of.warnings, []) as warnings
  from result as governed
  left join told_of on governed.outcome = 'answer'
)
select support.* from support
order by list_position(['model', 'through', 'source', 'document'], support.kind), support.node_id, support.evidence_id
{% endmacro %}
