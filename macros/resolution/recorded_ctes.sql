{#- The CTEs up to `recorded`: one row per thing that was known of a definition during one stretch of recorded time.

    Assertions of one definition are ordered by the instant of the artifact, then the manifest's, then the artifact's hash
    (and, of one artifact read again beside a changed attest.yml, by arrival). Those that differ from the one before are its
    changes: a restatement that changes nothing is none. The recorded time of a change is `declared_recorded_at` where that
    lies after the predecessor's recorded time and not after the artifact, else the artifact's instant. Where a definition is
    no longer stated its last content stands, with `removed_on`. `groups` and `hidden` are today's permissions, whatever the
    time: what the last assertion permits, and of this, where a change is held, what that would leave.

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
ordered as (
  select
    arrived.environment,
    arrived.entity_id,
    arrived.evidence_id,
    arrived.stated,
    arrived.asserted_at,
    arrived.generated_at,
    arrived.artifact_id,
    arrived.ingested_at,
    arrived.content_hash,
    arrived.logic_hash,
    if(arrived.declared_recorded_at <= arrived.asserted_at, arrived.declared_recorded_at, arrived.asserted_at) as declared_at,
    arrived.stated and coalesce(arrived.authority = 'authoritative', false) and arrived.status not in ('draft', 'void') as governs,
    if(arrived.stated, arrived.state_hash, 'absent') as state,
    lag(if(arrived.stated, arrived.state_hash, 'absent')) over history as state_before,
    last_value(arrived.stated) over all_history as still_stated,
    last_value(if(arrived.stated, {permissions: arrived.permissions, permissions_from: arrived.permissions_from,
      project_name: arrived.project_name}, null) ignore nulls)
      over all_history as last_stated
  from arrived
  window
    history as (
      partition by arrived.environment, arrived.entity_id, arrived.evidence_id
      order by arrived.asserted_at, arrived.generated_at, arrived.artifact_id, arrived.ingested_at),
    all_history as (
      partition by arrived.environment, arrived.entity_id, arrived.evidence_id
      order by arrived.asserted_at, arrived.generated_at, arrived.artifact_id, arrived.ingested_at
      rows between unbounded preceding and unbounded following)
),
altered as (
  select
    ordered.*,
    lag({asserted_at: ordered.asserted_at, generated_at: ordered.generated_at, artifact_id: ordered.artifact_id,
      ingested_at: ordered.ingested_at, declared_at: ordered.declared_at, content_hash: ordered.content_hash,
      logic_hash: ordered.logic_hash}) over changes as before,
    bool_or(ordered.governs) over changes as governed
  from ordered
  where (ordered.state = ordered.state_before) is not true
  -- DuckDB 1.5 wants the name of a window once in a statement
  window changes as (
    partition by ordered.environment, ordered.entity_id, ordered.evidence_id
    order by ordered.asserted_at, ordered.generated_at, ordered.artifact_id, ordered.ingested_at)
),
-- A declared instant between the two of the change before lies after its recorded time only if its declared one counts.
dated as (
  select
    altered.*,
    if(
      last_value(case
        when altered.before is null or altered.declared_at > altered.before.asserted_at then true
        when altered.declared_at <= altered.before.declared_at then false
      end ignore nulls) over (
        partition by altered.environment, altered.entity_id, altered.evidence_id
        order by altered.asserted_at, altered.generated_at, altered.artifact_id, altered.ingested_at),
      altered.declared_at, altered.asserted_at) as known_from,
    if(altered.stated, altered.content_hash, altered.before.content_hash) as said,
    if(altered.stated, altered.logic_hash, altered.before.logic_hash) as logic
  from altered
),
turns as (
  select
    dated.* exclude (asserted_at, generated_at, artifact_id, ingested_at),
    lead(dated.known_from) over (
      partition by dated.environment, dated.entity_id, dated.evidence_id
      order by dated.asserted_at, dated.generated_at, dated.artifact_id, dated.ingested_at) as known_until,
    coalesce(dated.asserted_at = dated.before.asserted_at, false) as same_instant,
    -- the logic that the same words were first recorded with, as far as it was known
    first_value(dated.logic ignore nulls) over (
      partition by dated.environment, dated.entity_id, dated.evidence_id, dated.said
      order by dated.asserted_at, dated.generated_at, dated.artifact_id, dated.ingested_at) as logic_at_first,
    if(dated.stated, dated.asserted_at, dated.before.asserted_at) as asserted_at,
    if(dated.stated, dated.generated_at, dated.before.generated_at) as generated_at,
    if(dated.stated, dated.artifact_id, dated.before.artifact_id) as artifact_id,
    if(dated.stated, dated.ingested_at, dated.before.ingested_at) as ingested_at
  from dated
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
    content.access,
    content.latest_version,
    content.deprecation_date,
    content.project_name,
    content.package_name,
    content.node_id,
    content.file,
    content.content_hash,
    content.artifact_id,
    content.asserted_at,
    turns.known_from,
    turns.known_until,
    if(turns.stated, null, {{ attest.utc_date('turns.known_from') }}) as removed_on,
    turns.still_stated,
    turns.governed as was_governing,
    turns.stated and turns.known_from < turns.asserted_at as backdated,
    turns.same_instant,
    coalesce(turns.logic <> turns.logic_at_first, false) as logic_changed,
    list_filter(
      list_distinct(flatten(list_transform(
        turns.last_stated.permissions,
        lambda name: coalesce(present_policies.groups_of[name], [name])))),
      lambda permitted: held_permissions.permissions is null or list_contains(
        flatten(list_transform(held_permissions.permissions, lambda name: coalesce(present_policies.groups_of[name], [name]))),
        permitted)) as groups,
    coalesce(list_has_any(
      list_concat(turns.last_stated.permissions, held_permissions.permissions), present_policies.hidden_policies), false) as hidden,
    turns.last_stated.permissions_from as permissions_from
  from turns
  join arrived as content
    on content.environment = turns.environment and content.entity_id = turns.entity_id
      and content.evidence_id = turns.evidence_id
      and content.asserted_at = turns.asserted_at
      and content.generated_at = turns.generated_at
      and content.artifact_id = turns.artifact_id
      and content.ingested_at = turns.ingested_at
  left join present_policies
    on present_policies.environment = turns.environment and present_policies.project_name = turns.last_stated.project_name
  left join held_permissions
    on held_permissions.environment = turns.environment and held_permissions.entity_id = turns.entity_id
      and held_permissions.evidence_id = turns.evidence_id
)
{% endmacro %}

{#- One row per environment and project: the attest.yml of its latest collection, null without one. -#}
{% macro present_project_files() %}
    select
      collection.environment,
      collection.project_name,
      arg_max(
        {project_file_id: collection.project_file_id},
        {generated_at: collection.generated_at, manifest_id: collection.manifest_id, ingested_at: collection.ingested_at}
      ).project_file_id as project_file_id
    from {{ attest.evidence('collections') }} as collection
    group by collection.environment, collection.project_name
{% endmacro %}

{#- The CTEs `held_permissions` and `present_policies`.

    held_permissions: one row per definition of which a change is held, with what that would leave of its permissions
    present_policies: one row per environment and project, with the policies of the latest attest.yml: the one that was
    read beside the latest manifest, and the one of the collection with the youngest file. Mostly they are one; where they
    are two, a policy permits whom both permit. -#}
{% macro policy_ctes() %}
held_permissions as (
  select held.environment, held.entity_id, held.evidence_id, arg_max(held.last.permissions, held.turn) as permissions
  from (
    select
      removal.environment,
      removal.entity_id,
      removal.evidence_id,
      max({g: removal.generated_at, m: removal.manifest_id, i: removal.ingested_at}) as turn,
      arg_max({held: removal.held, permissions: removal.permissions},
        {g: removal.generated_at, m: removal.manifest_id, i: removal.ingested_at}) as last
    from {{ attest.evidence('held_removals') }} as removal
    group by removal.environment, removal.project_name, removal.entity_id, removal.evidence_id
  ) as held
  where held.last.held and held.last.permissions is not null
  group by held.environment, held.entity_id, held.evidence_id
),
present_policies as (
  select
    stated.environment,
    stated.project_name,
    map(
      coalesce(list(stated.policy) filter (stated.policy is not null), []),
      coalesce(list(if(stated.files = stated.latest_files, stated.groups, list_intersect(stated.groups, [stated.policy])))
        filter (stated.policy is not null), [])) as groups_of,
    coalesce(list(stated.policy) filter (stated.hidden), []) as hidden_policies
  from (
    select
      latest.environment,
      latest.project_name,
      latest.files as latest_files,
      policy.policy,
      count(*) as files,
      list_reduce(list(policy.groups), lambda permitted, others: list_intersect(permitted, others)) as groups,
      bool_or(policy.existence = 'hidden') as hidden
    from (
      select
        collection.environment,
        collection.project_name,
        arg_max(
          {project_file_id: collection.project_file_id},
          {generated_at: collection.generated_at, manifest_id: collection.manifest_id, ingested_at: collection.ingested_at}
        ).project_file_id as of_manifest,
        arg_max(
          {project_file_id: collection.project_file_id},
          {o: greatest(collection.observed_at, collection.generated_at), generated_at: collection.generated_at,
            manifest_id: collection.manifest_id, ingested_at: collection.ingested_at}
        ).project_file_id as of_file,
        if(of_manifest is distinct from of_file, 2, 1) as files
      from {{ attest.evidence('collections') }} as collection
      group by collection.environment, collection.project_name
    ) as latest
    left join {{ attest.evidence('policies') }} as policy
      on policy.project_file_id = latest.of_manifest or policy.project_file_id = latest.of_file
    group by latest.environment, latest.project_name, latest.files, policy.policy
  ) as stated
  group by stated.environment, stated.project_name
)
{% endmacro %}
