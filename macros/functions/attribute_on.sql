{% macro attribute_on_function() %}
-- One row per place that states `attribute` (owner, grain or description) of the definition of `entity` in force on `on_date`,
-- with the value that holds; one row also where nothing states it, or no definition answers. Which place is believed was
-- decided by attest.yml when it was recorded: `believed` are the places that give the value that was taken, on that day.
with
answer as (
  select definition.*
  from {{ attest.resolver_function('definition_on') }}(
    entity, on_date, known_at := known_at, groups := groups, scope := scope, environment := environment) as definition
),
-- what was recorded of the definition until then, the last one as it is known
recorded as (
  select
    assertion.stated and assertion.artifact_id = answer.artifact_id and assertion.content_hash = answer.content_hash as is_present,
    assertion.owners,
    assertion.grain,
    assertion.definition,
    assertion.asserted_at,
    assertion.artifact_id,
    assertion.approved_by is not null as certified
  from {{ attest.evidence('assertions') }} as assertion
  join answer
    on answer.environment = assertion.environment and answer.entity = assertion.entity_id
      and answer.evidence_id = assertion.evidence_id and assertion.asserted_at <= answer.known_at
),
present as (
  select any_value(recorded.owners) as owners, any_value(recorded.certified) as certified, max(recorded.asserted_at) as asserted_at,
    any_value(recorded.artifact_id) as artifact_id
  from recorded
  where recorded.is_present
),
folded as (
  select claim.source, claim.place,
    arg_max(
      {stated: claim.stated, value: claim.value, effective_from: claim.effective_from, effective_to: claim.effective_to,
        certified: claim.certified, collector: claim.collector, source_version: claim.source_version,
        asserted_at: claim.asserted_at, artifact_id: claim.artifact_id},
      {a: claim.asserted_at, g: claim.generated_at, f: claim.artifact_id, i: claim.ingested_at}) as last
  from {{ attest.evidence('claims') }} as claim
  join answer
    on answer.environment = claim.environment and answer.evidence_id = claim.evidence_id and claim.asserted_at <= answer.known_at
  where claim.attribute = attribute
  group by claim.source, claim.place
),
told as (
  select folded.source, folded.place, folded.last.value as value, folded.last.effective_from as effective_from,
    folded.last.effective_to as effective_to, folded.last.certified as certified, folded.last.collector as collector,
    folded.last.source_version as source_version, folded.last.asserted_at as observed_at, folded.last.artifact_id as artifact_id
  from folded
  where folded.last.stated
),
-- what the annotation alone states is on the definition itself
annotated as (
  select unnest(case attribute
    when 'owner' then list_transform(present.owners, lambda one: {
      place: 'owner', value: one.name, effective_from: one.effective_from, effective_to: one.effective_to})
    when 'grain' then [{place: 'grain', value: answer.grain, effective_from: cast(null as date), effective_to: cast(null as date)}]
    when 'description' then
      [{place: 'definition', value: answer.definition, effective_from: cast(null as date), effective_to: cast(null as date)}]
  end) as one
  from answer cross join present
),
places as (
  select told.* from told
  union all
  select 'annotation', annotated.one.place, annotated.one.value, annotated.one.effective_from, annotated.one.effective_to,
    present.certified, null, null, present.asserted_at, present.artifact_id
  from annotated cross join present
  where annotated.one.value is not null
    and not exists (from told where told.value = annotated.one.value)
),
resolved as (
  select
    case when answer.outcome <> 'answer' then null when attribute = 'owner' then answer.owner
      when attribute = 'grain' then answer.grain when attribute = 'description' then answer.definition end as value
  from answer
),
before as (
  select coalesce(bool_or(case attribute when 'owner' then len(recorded.owners) > 0 when 'grain' then recorded.grain is not null
    when 'description' then recorded.definition is not null end), false) as had_one
  from recorded
)
select
  case when answer.outcome <> 'answer' then answer.outcome when resolved.value is null then 'abstain' else 'answer' end as outcome,
  case when answer.outcome <> 'answer' then answer.reason when resolved.value is not null then 'recorded'
    when len(present.owners) > 0 and attribute = 'owner' then 'not_stated_for_the_day'
    when before.had_one then 'cleared' else 'not_stated' end as reason,
  answer.entity,
  answer.evidence_id,
  answer.on_date,
  answer.known_at,
  answer.environment,
  attribute as attribute,
  resolved.value,
  places.source,
  places.place,
  places.value as stated_value,
  places.effective_from,
  places.effective_to,
  places.certified,
  coalesce(places.effective_from <= answer.on_date, true) and coalesce(places.effective_to >= answer.on_date, true)
    and if(attribute = 'owner', list_contains(list_transform(present.owners, lambda one: one.name), places.value),
      coalesce(places.value = resolved.value, false)) as believed,
  places.collector,
  places.source_version,
  places.observed_at,
  places.artifact_id
from answer
cross join resolved
cross join present
cross join before
left join places on answer.outcome = 'answer'
where case when attribute in ('owner', 'grain', 'description') then true
  else error('attest: expected an attribute that places may state (owner, grain or description), found ' || attribute) end
order by believed desc, places.source, places.place
{% endmacro %}
