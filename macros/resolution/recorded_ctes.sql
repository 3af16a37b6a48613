{#- The CTEs up to `recorded`: one row per thing that was known of a definition during one stretch of recorded time.

    Assertions of one definition are ordered by the instant of the artifact, then the manifest's, then the artifact's hash
    (and, of one artifact read again beside a changed attest.yml, by arrival). One fold over them gives its changes: a
    restatement that changes nothing is none. The recorded time of a change is `declared_recorded_at` where that lies after
    the predecessor's recorded time and not after the artifact, else the artifact's instant. Where a definition is no longer
    stated its last content stands, with `removed_on`. `groups` and `hidden` are today's permissions, whatever the time.

    entities: name of a CTE with a column entity_id that limits all work to these entities; none is every entity.
    policies: false where `present_policies` is there already -#}
{% macro recorded_ctes(entities=none, policies=true) %}
arrived as (
  select assertion.*
  from {{ attest.evidence('assertions') }} as assertion
  where
    {% if entities %}assertion.entity_id in (select {{ entities }}.entity_id from {{ entities }}) and {% endif %}
    -- a copy in another project's manifest counts only until its own project is collected
    (assertion.package_name is not distinct from assertion.project_name or not exists (
      from {{ attest.evidence('collections') }} as collection
      where collection.environment = assertion.environment and collection.project_name = assertion.package_name))
),
histories as (
  select
    arrived.environment,
    arrived.entity_id,
    arrived.evidence_id,
    list_reduce(
      list([{
        state: if(arrived.stated, arrived.state_hash, 'absent'),
        stated: arrived.stated,
        asserted_at: arrived.asserted_at,
        known_from: if(arrived.declared_recorded_at <= arrived.asserted_at, arrived.declared_recorded_at, arrived.asserted_at),
        governed: arrived.stated and coalesce(arrived.authority = 'authoritative', false) and arrived.status not in ('draft', 'void'),
        same_instant: false,
        said: arrived.content_hash,
        logic: arrived.logic_hash,
        logic_at_first: arrived.logic_hash,
        content: if(arrived.stated, {asserted_at: arrived.asserted_at, generated_at: arrived.generated_at,
          artifact_id: arrived.artifact_id, ingested_at: arrived.ingested_at}, null)
      }] order by arrived.asserted_at, arrived.generated_at, arrived.artifact_id, arrived.ingested_at),
      lambda changes, next: if(changes[-1].state = next[1].state, changes, list_append(changes, {
        state: next[1].state,
        stated: next[1].stated,
        asserted_at: next[1].asserted_at,
        known_from: if(next[1].known_from > changes[-1].known_from, next[1].known_from, next[1].asserted_at),
        governed: next[1].governed or changes[-1].governed,
        same_instant: next[1].asserted_at = changes[-1].asserted_at,
        said: if(next[1].stated, next[1].said, changes[-1].said),
        logic: if(next[1].stated, next[1].logic, changes[-1].logic),
        -- the logic that the same words were recorded with, as far as it was known
        logic_at_first: case when not next[1].stated then changes[-1].logic_at_first
          when next[1].said = changes[-1].said then coalesce(changes[-1].logic_at_first, next[1].logic) else next[1].logic end,
        content: coalesce(next[1].content, changes[-1].content)
      }))) as changes,
    arg_max(arrived.stated, {a: arrived.asserted_at, g: arrived.generated_at, f: arrived.artifact_id, i: arrived.ingested_at})
      as still_stated,
    arg_max(
      {permissions: arrived.permissions, project_name: arrived.project_name},
      {a: arrived.asserted_at, g: arrived.generated_at, f: arrived.artifact_id, i: arrived.ingested_at}
    ) filter (arrived.stated) as last_stated
  from arrived
  group by arrived.environment, arrived.entity_id, arrived.evidence_id
),
turns as (
  select
    histories.environment,
    histories.entity_id,
    histories.evidence_id,
    histories.still_stated,
    histories.last_stated,
    unnest(list_transform(histories.changes, lambda change, turn:
      {change: change, known_until: histories.changes[turn + 1].known_from})) as told
  from histories
),
{% if policies %}{{ attest.policy_ctes() }},{% endif %}
recorded as (
  select
    content.environment,
    content.entity_id,
    content.evidence_id,
    content.entity_type,
    content.version,
    content.status,
    content.authority,
    content.approved_by,
    content.approved_at,
    content.effective_from,
    content.effective_to,
    content.date_basis,
    content.corrects,
    content.owners,
    content.grain,
    content.title,
    content.definition,
    content.supersedes,
    content.superseded_by,
    content.links_elsewhere,
    content.describes,
    content.models,
    content.sources,
    content.aliases,
    content.names,
    content.scope,
    content.certified_until,
    content.last_verified,
    content.project_name,
    content.package_name,
    content.node_id,
    content.file,
    content.content_hash,
    content.artifact_id,
    content.asserted_at,
    turns.told.change.known_from as known_from,
    turns.told.known_until as known_until,
    if(turns.told.change.stated, null, {{ attest.utc_date('turns.told.change.known_from') }}) as removed_on,
    turns.still_stated,
    turns.told.change.governed as was_governing,
    turns.told.change.stated and turns.told.change.known_from < turns.told.change.asserted_at as backdated,
    turns.told.change.same_instant as same_instant,
    coalesce(turns.told.change.logic <> turns.told.change.logic_at_first, false) as logic_changed,
    list_distinct(flatten(list_transform(
      turns.last_stated.permissions,
      lambda name: coalesce(present_policies.groups_of[name], [name])))) as groups,
    coalesce(list_has_any(turns.last_stated.permissions, present_policies.hidden_policies), false) as hidden
  from turns
  join arrived as content
    on content.environment = turns.environment and content.entity_id = turns.entity_id
      and content.evidence_id = turns.evidence_id
      and content.asserted_at = turns.told.change.content.asserted_at
      and content.generated_at = turns.told.change.content.generated_at
      and content.artifact_id = turns.told.change.content.artifact_id
      and content.ingested_at = turns.told.change.content.ingested_at
  left join present_policies
    on present_policies.environment = turns.environment and present_policies.project_name = turns.last_stated.project_name
)
{% endmacro %}

{#- The CTE `present_policies`: one row per environment and project, with the policies of the latest attest.yml. -#}
{% macro policy_ctes() %}
present_policies as (
  select
    latest.environment,
    latest.project_name,
    map(
      coalesce(list(policy.policy) filter (policy.policy is not null), []),
      coalesce(list(policy.groups) filter (policy.policy is not null), [])) as groups_of,
    coalesce(list(policy.policy) filter (policy.existence = 'hidden'), []) as hidden_policies
  from (
    select
      collection.environment,
      collection.project_name,
      arg_max(
        {project_file_id: collection.project_file_id},
        {generated_at: collection.generated_at, manifest_id: collection.manifest_id, ingested_at: collection.ingested_at}
      ).project_file_id as project_file_id
    from {{ attest.evidence('collections') }} as collection
    group by collection.environment, collection.project_name
  ) as latest
  left join {{ attest.evidence('policies') }} as policy on policy.project_file_id = latest.project_file_id
  group by latest.environment, latest.project_name
)
{% endmacro %}
