{#- For `attest check --who-sees`: one row per definition that a group ($group) may see now, of one environment
    ($environment), with through what and since when. Of the permissions before, only how long they held is asked. -#}
{% macro who_sees_sql() %}
with
seen as (
  select recorded.entity_id, recorded.evidence_id, recorded.title, recorded.removed_on is null as stated
  from {{ attest.recorded_assertions() }} as recorded
  where recorded.environment = $environment and recorded.known_until is null
    and list_has_any(recorded.groups, [$group, 'everyone'])
),
-- what each version of attest.yml lets the group in by
policies_then as (
  select
    collection.project_name,
    greatest(coalesce(collection.observed_at, collection.generated_at), collection.generated_at) as at_instant,
    arg_max(
      {known: coalesce(named.known, []), open_by: coalesce(named.open_by, [])},
      {g: collection.generated_at, m: collection.manifest_id, i: collection.ingested_at}) as said
  from {{ attest.evidence('collections') }} as collection
  left join (
    select policy.project_file_id, list(policy.policy order by policy.policy) as known,
      list(policy.policy order by policy.policy)
        filter (list_has_any(policy.groups, [$group, 'everyone'])) as open_by
    from {{ attest.evidence('policies') }} as policy
    group by policy.project_file_id
  ) as named on named.project_file_id = collection.project_file_id
  where collection.environment = $environment
  group by all
),
changed_policies as (
  select policies_then.*
  from policies_then
  qualify said is distinct from lag(said) over (partition by project_name order by at_instant)
),
permitted as (
  select
    assertion.evidence_id,
    assertion.entity_id,
    assertion.project_name,
    assertion.asserted_at as at_instant,
    arg_max(
      {permissions: assertion.permissions, permissions_from: assertion.permissions_from},
      {g: assertion.generated_at, f: assertion.artifact_id, i: assertion.ingested_at}) as said
  from {{ attest.evidence('assertions') }} as assertion
  join seen on seen.entity_id = assertion.entity_id and seen.evidence_id = assertion.evidence_id
  where assertion.environment = $environment and assertion.stated
  group by all
),
points as (
  select permitted.entity_id, permitted.evidence_id, permitted.project_name, permitted.at_instant from permitted
  union
  select begun.entity_id, begun.evidence_id, begun.project_name, changed_policies.at_instant
  from (
    select permitted.entity_id, permitted.evidence_id, permitted.project_name, min(permitted.at_instant) as first_at
    from permitted group by all
  ) as begun
  join changed_policies
    on changed_policies.project_name = begun.project_name and changed_policies.at_instant > begun.first_at
),
decided as (
  select
    points.entity_id,
    points.evidence_id,
    points.at_instant,
    permitted.said as said,
    list_filter(permitted.said.permissions, lambda name:
      list_contains(coalesce(policies.said.open_by, []), name)) as by_policy,
    list_filter(permitted.said.permissions, lambda name: name in ($group, 'everyone')
      and not list_contains(coalesce(policies.said.known, []), name)) as by_name,
    coalesce(len(by_policy) + len(by_name) > 0, false) as visible
  from points
  asof join permitted
    on permitted.entity_id = points.entity_id and permitted.evidence_id = points.evidence_id
      and permitted.project_name = points.project_name and permitted.at_instant <= points.at_instant
  asof left join changed_policies as policies
    on policies.project_name = points.project_name and policies.at_instant <= points.at_instant
),
turned as (
  select
    decided.*,
    decided.visible and not coalesce(lag(decided.visible) over in_time, false) as begins
  from decided
  window in_time as (partition by decided.entity_id, decided.evidence_id order by decided.at_instant)
)
select
  seen.entity_id,
  seen.evidence_id,
  seen.title,
  arg_max(list_sort(list_concat(turned.by_name, turned.by_policy)), turned.at_instant) as through,
  arg_max(list_sort(turned.by_policy), turned.at_instant) as policies,
  arg_max(turned.said.permissions_from, turned.at_instant) as rule,
  coalesce(max(turned.at_instant) filter (turned.begins), max(turned.at_instant)) as since,
  seen.stated
from seen
join turned on turned.entity_id = seen.entity_id and turned.evidence_id = seen.evidence_id
group by seen.entity_id, seen.evidence_id, seen.title, seen.stated
order by seen.entity_id, seen.evidence_id
{% endmacro %}
