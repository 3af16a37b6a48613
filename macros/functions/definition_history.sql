{% macro definition_history_function() %}
-- One row per change of what was asserted about `entity`, as known at `known_at`, the earliest first: a definition that is
-- stated (again) or no longer stated (`attribute` is null), and each attribute of it whose value differs from the one
-- recorded before. For a requester in `groups`: of definitions that they may not see there is no row, and none of theirs
-- is named in `before` or `after`. Permissions are no content and have no history here.
with
asked as (
  select
    answer.entity as entity_id,
    answer.environment as in_environment,
    answer.known_at as until,
    list_append(coalesce({{ attest.to_list('groups') }}, {{ attest.to_list("getvariable('attest_groups')") }}, []), 'everyone') as in_groups
  from {{ attest.resolver_function('definition_between') }}(
    entity, null, null, known_at := known_at, groups := groups, environment := environment) as answer
),
named_there as (
  select unnest(list_concat(coalesce(assertion.supersedes, []), coalesce(assertion.superseded_by, []), [assertion.describes]))
    as evidence_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.entity_id in (select asked.entity_id from asked)
),
involved as (
  select asked.entity_id from asked
  union
  select assertion.entity_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.evidence_id in (select named_there.evidence_id from named_there)
  union
  {{ attest.entities_of_nodes('asked') }}
),
{{ attest.recorded_ctes('involved') }},
visible as (
  select recorded.*
  from recorded
  join asked on asked.in_environment = recorded.environment and list_has_any(recorded.groups, asked.in_groups)
),
may_be_named as (
  select coalesce(list(distinct visible.evidence_id), []) as evidence_ids, coalesce(list(distinct visible.node_id), []) as node_ids
  from visible
),
-- of one file, whatever it was read beside, a definition has one logic
logic as (
  select
    assertion.environment,
    assertion.evidence_id,
    assertion.artifact_id,
    any_value(assertion.logic_hash) as logic_hash
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.entity_id in (select asked.entity_id from asked) and assertion.stated
  group by assertion.environment, assertion.evidence_id, assertion.artifact_id
),
-- the file that no longer contained it
absences as (
  select
    assertion.environment,
    assertion.evidence_id,
    assertion.asserted_at,
    max(assertion.artifact_id) as artifact_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.entity_id in (select asked.entity_id from asked) and not assertion.stated
  group by assertion.environment, assertion.evidence_id, assertion.asserted_at
),
states as (
  select
    visible.*,
    logic.logic_hash,
    coalesce(absences.artifact_id, visible.artifact_id) as said_by,
    row_number() over (
      partition by visible.evidence_id
      order by visible.known_from, coalesce(visible.known_until, timestamptz 'infinity'), visible.asserted_at) as turn
  from visible
  join asked on asked.entity_id = visible.entity_id and visible.known_from <= asked.until
  left join logic
    on logic.environment = visible.environment and logic.evidence_id = visible.evidence_id
      and logic.artifact_id = visible.artifact_id
  left join absences
    on visible.removed_on is not null and absences.environment = visible.environment
      and absences.evidence_id = visible.evidence_id and absences.asserted_at = visible.known_from
),
attributes as (
  select
    states.evidence_id,
    states.turn,
    unnest(list_transform([
      {attribute: 'title', value: states.title},
      {attribute: 'definition', value: states.definition},
      {attribute: 'logic_hash', value: states.logic_hash},
      {attribute: 'version', value: states.version},
      {attribute: 'status', value: states.status},
      {attribute: 'authority', value: states.authority},
      {attribute: 'approved_by', value: states.approved_by},
      {attribute: 'approved_at', value: cast(states.approved_at as varchar)},
      {attribute: 'effective_from', value: cast(states.effective_from as varchar)},
      {attribute: 'effective_to', value: cast(states.effective_to as varchar)},
      {attribute: 'date_basis', value: states.date_basis},
      {attribute: 'corrects', value: states.corrects},
      {attribute: 'owner', value: array_to_string(list_transform(states.owners, lambda owner:
        concat_ws(' ', owner.name, 'from ' || owner.effective_from, 'to ' || owner.effective_to)), ', ')},
      {attribute: 'grain', value: states.grain},
      {attribute: 'scope', value: array_to_string(list_transform(map_entries(states.scope), lambda entry:
        entry.key || '=' || entry.value), ', ')},
      {attribute: 'supersedes', value: array_to_string(list_filter(states.supersedes, lambda link:
        list_contains(may_be_named.evidence_ids, link)), ', ')},
      {attribute: 'superseded_by', value: array_to_string(list_filter(states.superseded_by, lambda link:
        list_contains(may_be_named.evidence_ids, link)), ', ')},
      {attribute: 'describes', value: if(list_contains(may_be_named.evidence_ids, states.describes), states.describes, null)},
      {attribute: 'models', value: array_to_string(list_filter(states.models, lambda node:
        list_contains(may_be_named.node_ids, node)), ', ')},
      {attribute: 'sources', value: array_to_string(list_filter(states.sources, lambda node:
        list_contains(may_be_named.node_ids, node)), ', ')},
      {attribute: 'aliases', value: array_to_string(list_transform(states.aliases, lambda alias:
        concat_ws(' ', alias.alias, '(' || alias.language || ')', 'from ' || alias.effective_from, 'to ' || alias.effective_to)),
        ', ')},
      {attribute: 'certified_until', value: cast(states.certified_until as varchar)},
      {attribute: 'last_verified', value: cast(states.last_verified as varchar)},
      {attribute: 'access', value: states.access},
      {attribute: 'latest_version', value: states.latest_version},
      {attribute: 'deprecation_date', value: cast(states.deprecation_date as varchar)},
      {attribute: 'entity_type', value: states.entity_type},
      {attribute: 'names', value: array_to_string(states.names, ', ')},
      {attribute: 'node_id', value: states.node_id},
      {attribute: 'file', value: states.file}
    ], lambda said, place: {attribute: said.attribute, value: nullif(said.value, ''), place: place})) as said
  from states cross join may_be_named
),
compared as (
  select
    attributes.evidence_id,
    attributes.turn,
    attributes.said.place as place,
    attributes.said.attribute as attribute,
    attributes.said.value as value,
    lag(attributes.said.value) over (
      partition by attributes.evidence_id, attributes.said.attribute order by attributes.turn) as value_before
  from attributes
),
stated as (
  select
    states.evidence_id,
    states.turn,
    states.removed_on is null as is_stated,
    lag(states.removed_on is null) over (partition by states.evidence_id order by states.turn) as was_stated
  from states
),
changes as (
  select
    stated.evidence_id,
    stated.turn,
    0 as place,
    if(stated.is_stated, 'added', 'removed') as change,
    cast(null as varchar) as attribute,
    cast(null as varchar) as value_before,
    cast(null as varchar) as value
  from stated
  where stated.is_stated is distinct from stated.was_stated
  union all
  select
    compared.evidence_id,
    compared.turn,
    compared.place,
    case when compared.value_before is null then 'added' when compared.value is null then 'value_to_null' else 'changed' end,
    compared.attribute,
    compared.value_before,
    compared.value
  from compared
  where compared.value is distinct from compared.value_before
)
select
  states.environment,
  states.entity_id as entity,
  states.known_from,
  states.evidence_id,
  changes.change,
  changes.attribute,
  changes.value_before as before,
  changes.value as after,
  states.said_by as artifact_id,
  artifact.kind as artifact_kind,
  -- a document has no commit of its own: it came with the manifest that it was first read beside
  coalesce(artifact.git_commit, manifest.git_commit) as git_commit,
  coalesce(artifact.authored_at, manifest.authored_at) as authored_at,
  states.file
from changes
join states on states.evidence_id = changes.evidence_id and states.turn = changes.turn
left join {{ attest.evidence('artifacts') }} as artifact on artifact.artifact_id = states.said_by
left join {{ attest.evidence('collections') }} as first_read
  on artifact.kind = 'document' and first_read.collection_id = artifact.collection_id
left join {{ attest.evidence('artifacts') }} as manifest on manifest.artifact_id = first_read.manifest_id
order by states.known_from, states.evidence_id, states.turn, changes.place
{% endmacro %}
