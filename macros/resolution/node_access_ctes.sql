{#- The CTEs from `question`, `request`, `asking` and `present_policies` to `withheld`: the nodes of the lineage graph that
    the requester may not see, by today's permissions, and whether they may know of them (`disclosed`): for the others, it is as
    if the node and its edges were not there. A node may be seen if any definition that was ever recorded of it may; one of a
    column opens no table. What has none (tests, saved queries) may be seen if all that it was ever said to read may; what
    reads nothing, such as an end that nothing contains, is only a name in what reads it.

    As with edges, only of definitions that more than the first collection speaks of the rows are folded. -#}
{% macro node_access_ctes() %}
-- the groups and policies in `permissions` that let the requester in, and those that hide
doors as materialized (
  select
    present_policies.environment,
    present_policies.project_name,
    list_concat(
      list_filter(request.groups, lambda name: present_policies.groups_of[name] is null),
      list_filter(map_keys(present_policies.groups_of), lambda name:
        list_has_any(present_policies.groups_of[name], request.groups))) as open_to,
    present_policies.hidden_policies
  from present_policies
  join question on question.environment = present_policies.environment
  cross join request
),
said_again as materialized (
  select distinct assertion.evidence_id
  from {{ attest.evidence('assertions') }} as assertion
  join asking on asking.environment = assertion.environment
  where not (assertion.stated and coalesce(assertion.collection_id = asking.first_collection.id
    and assertion.generated_at = asking.first_collection.generated_at, false))
),
-- of definitions with several rows each node that they ever stood on, with what was stated last
last_said as (
  select
    assertion.entity_id,
    assertion.evidence_id,
    unnest(list_distinct(list(coalesce(assertion.node_id, assertion.evidence_id)))) as node_id,
    bool_or({{ attest.is_of_column() }}) as of_column,
    arg_max({permissions: assertion.permissions, project_name: assertion.project_name},
      {a: assertion.asserted_at, g: assertion.generated_at, f: assertion.artifact_id, i: assertion.ingested_at})
      filter (assertion.stated and {{ attest.assertion_counts() }}) as last
  from {{ attest.evidence('assertions') }} as assertion
  join asking on asking.environment = assertion.environment
  where assertion.evidence_id in (select said_again.evidence_id from said_again)
  group by assertion.entity_id, assertion.evidence_id
),
rights as materialized (
  select
    stands.node_id,
    -- where no attest.yml was collected, a permission is a group
    not stands.of_column and coalesce(list_has_any(stands.permissions, coalesce(doors.open_to, request.groups)), false)
      and coalesce(list_has_any(held_permissions.permissions, coalesce(doors.open_to, request.groups)), true) as visible,
    stands.of_column
      or coalesce(list_has_any(list_concat(stands.permissions, held_permissions.permissions), doors.hidden_policies), true) as hidden
  from (
    select assertion.entity_id, assertion.evidence_id,
      coalesce(assertion.node_id, assertion.evidence_id) as node_id, {{ attest.is_of_column() }} as of_column, assertion.project_name,
      if({{ attest.assertion_counts() }}, assertion.permissions, null) as permissions
    from {{ attest.evidence('assertions') }} as assertion
    join asking on asking.environment = assertion.environment
    where assertion.evidence_id not in (select said_again.evidence_id from said_again)
    union all
    select last_said.entity_id, last_said.evidence_id, last_said.node_id, last_said.of_column, last_said.last.project_name,
      last_said.last.permissions
    from last_said
  ) as stands
  cross join request
  left join doors on doors.project_name = stands.project_name
  left join held_permissions
    on held_permissions.environment = doors.environment and held_permissions.entity_id = stands.entity_id
      and held_permissions.evidence_id = stands.evidence_id
),
-- few, so that nothing has to be kept or grouped for every node
unseen as materialized (
  select rights.node_id, bool_or(not rights.hidden) as disclosed
  from rights
  where not rights.visible
  group by rights.node_id
),
barred as materialized (
  select unseen.node_id, unseen.disclosed
  from unseen
  where unseen.node_id not in (
    select rights.node_id from rights where rights.visible and rights.node_id in (select unseen.node_id from unseen))
),
reads_barred as materialized (
  select distinct edge.to_node as node_id, barred.disclosed
  from barred
  join {{ attest.evidence('lineage_edges') }} as edge on edge.from_node = barred.node_id
  join asking on asking.environment = edge.environment
  where edge.stated
),
withheld as materialized (
  select barred.node_id, barred.disclosed from barred
  union all
  select reads_barred.node_id, bool_and(reads_barred.disclosed)
  from reads_barred
  where reads_barred.node_id not in (
    select rights.node_id from rights where rights.node_id in (select reads_barred.node_id from reads_barred))
  group by reads_barred.node_id
)
{% endmacro %}

{#- Whether a definition is of a column; its node is the table. -#}
{% macro is_of_column(definition='assertion') -%}
  ({{ definition }}.entity_type is not distinct from 'dbt_column')
{%- endmacro %}

{#- A copy in another project's manifest counts only until its own project is collected; what only such copies state is
    withheld. -#}
{% macro assertion_counts() -%}
  (assertion.package_name is not distinct from assertion.project_name
    or not list_contains(asking.projects, assertion.package_name))
{%- endmacro %}
