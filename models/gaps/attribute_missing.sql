{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per attribute that a definition lacks. Of one that is unclassified it is the authority alone, a notice; an
-- authoritative one needs what an answer about it tells. `found` says where a value was there before: cleared by somebody, or
-- lost in collection together with the rest of its annotation.
with
{{ attest.present_cte() }},
lacking as (
  select
    present.environment, present.project_name, present.entity_id, present.evidence_id, present.node_id, present.file,
    present.owner, present.authority, present.known_from,
    unnest(if(present.authority is null, ['authority'], list_filter([
      if(present.effective_from is null, 'effective_from', null),
      if(present.approved_by is null, 'approved_by', null),
      if(len(present.owners) > 0, null, 'owner'),
      -- a policy or a wiki counts nothing
      if(present.grain is null and present.node_id is not null
        and split_part(present.node_id, '.', 1) in ('model', 'metric', 'source', 'seed', 'snapshot'), 'grain', null),
      if(present.definition is null, 'definition', null)
    ], lambda attribute: attribute is not null))) as attribute
  from present
  -- what an installed package says nothing of is not this project's to say
  where present.authority is null and present.package_name is not distinct from present.project_name or present.governs
),
-- the last of what was known before that had the attribute
before as (
  select
    lacking.environment, lacking.evidence_id, lacking.attribute,
    max({until: assertion.known_until, authority: assertion.authority, value: {{ attest.attribute_text('assertion', 'lacking.attribute') }}})
      as last
  from lacking
  join {{ attest.recorded_assertions() }} as assertion
    on assertion.environment = lacking.environment and assertion.evidence_id = lacking.evidence_id
      and assertion.known_until is not null and assertion.removed_on is null
  where {{ attest.attribute_text('assertion', 'lacking.attribute') }} is not null
  group by lacking.environment, lacking.evidence_id, lacking.attribute
),
began as (
  select assertion.environment, assertion.evidence_id, min(assertion.known_from) as known_from
  from {{ attest.recorded_assertions() }} as assertion
  where assertion.removed_on is null
  group by assertion.environment, assertion.evidence_id
),
found as (
  select
    {{ attest.gap_about('lacking') }},
    if(lacking.authority is null and before.last is null, 'notice', 'warning') as severity,
    lacking.attribute as expected,
    case
      when before.last is null then 'none'
      when lacking.authority is null
        then 'none: lost with the rest of its annotation on ' || {{ attest.utc_date('before.last.until') }} || ', before it ' || before.last.value
      else 'none: cleared on ' || {{ attest.utc_date('before.last.until') }} || ', before it ' || before.last.value
    end as found,
    coalesce(before.last.until, began.known_from) as since,
    case
      when lacking.attribute = 'authority' and before.last is not null
        then 'Put its annotation back, or say `authority: non_authoritative` if it no longer governs.'
      when lacking.attribute = 'authority'
        then 'Say `authority` in its annotation, or for a whole folder in a rule of attest.yml.'
      else 'Add `' || lacking.attribute || '` to its annotation.'
    end as repair
  from lacking
  join began on began.environment = lacking.environment and began.evidence_id = lacking.evidence_id
  left join before
    on before.environment = lacking.environment and before.evidence_id = lacking.evidence_id
      and before.attribute = lacking.attribute
  -- a semantic model bears the name of its model, and is asked for nothing until somebody annotates it
  where lacking.authority is not null or before.last is not null or not {{ attest.is_semantic_model('lacking') }}
)
{{ attest.gap_select('attribute_missing') }}
