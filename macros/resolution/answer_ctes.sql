{#- The CTEs from `question` and `stretches` to `result`, exactly one row: the answer day by day, adjacent days of equal
    outcome, reason and evidence merged. -#}
{% macro answer_ctes() %}
collected as (
  select
    count(*) > 0 as anything,
    max(collection.known_until) as known_until,
    max(collection.generated_at) as collected_at,
    max({generated_at: collection.generated_at, ingested_at: collection.ingested_at, max_age: collection.max_age,
      max_unverified: collection.max_unverified, policy_version: collection.project_file_id}) as latest
  from {{ attest.evidence('collections') }} as collection
  join question on question.environment = collection.environment
),
days as (
  select question.from_day as day from question
  union
  select bound.day
  from (
    select unnest(list_concat(
      [stretches.valid_from, stretches.valid_to, stretches.certified_until + 1],
      list_transform(stretches.aliases, lambda alias: alias.effective_from),
      list_transform(stretches.aliases, lambda alias: alias.effective_to + 1))) as day
    from stretches
  ) as bound
  cross join question
  where bound.day > question.from_day and bound.day <= question.to_day
  union
  select unverified.day
  from (
    select cast(stretches.last_verified + collected.latest.max_unverified as date) + 1 as day from stretches cross join collected
  ) as unverified
  cross join question
  where unverified.day > question.from_day and unverified.day <= question.to_day
),
moments as (
  select asks.ask_id, days.day from asks cross join days
),
{{ attest.decision_ctes() }},
-- which entity the name means on a day: the one that bears it best
bearers as (
  select
    decisions.day,
    list({bearing: decisions.bearing, ask_id: decisions.ask_id, entity: asks.entity_id} order by asks.entity_id)
      filter (decisions.bearing is not null) as all_bearers,
    min(decisions.bearing) as best
  from decisions
  join asks on asks.ask_id = decisions.ask_id
  where asks.as_asked
  group by decisions.day
),
meanings as (
  select
    bearers.day,
    bearers.best as bearing,
    coalesce(len(list_filter(bearers.all_bearers, lambda bearer: bearer.bearing = bearers.best)), 0) as entities,
    list_filter(bearers.all_bearers, lambda bearer: bearer.bearing = bearers.best)[1].ask_id as ask_id,
    list_transform(list_filter(bearers.all_bearers, lambda bearer: bearer.bearing = bearers.best), lambda bearer: {
      entity: bearer.entity, evidence_id: cast(null as varchar), scope: cast(map {} as map(varchar, varchar))}) as candidates
  from bearers
),
answers as (
  select
    meanings.day,
    case
      when not collected.anything then 'nothing_collected'
      when meanings.entities = 0 or meanings.entities > 1 and meanings.bearing = 5 then 'unknown_entity'
      when meanings.entities > 1 then 'ambiguous_name'
    end as unnamed,
    if(unnamed is null, asks.entity_id, null) as entity,
    case when unnamed is null then decisions.outcome when unnamed = 'ambiguous_name' then 'clarify' else 'abstain' end as outcome,
    coalesce(unnamed, decisions.reason) as reason,
    if(unnamed is null, decisions.winner, null) as winner,
    if(unnamed is null, decisions.evidence_id, null) as evidence_id,
    case when unnamed is null then decisions.candidates when unnamed = 'ambiguous_name' then meanings.candidates else [] end as candidates,
    if(unnamed is null, decisions.conflicts, []) as conflicts,
    unnamed is null and decisions.withheld as withheld,
    if(unnamed is null, decisions.neighbours, []) as neighbours,
    if(unnamed is null, decisions.ended_by, null) as ended_by,
    if(unnamed is null, decisions.owners, null) as owners
  from meanings
  cross join collected
  left join decisions on decisions.ask_id = meanings.ask_id and decisions.day = meanings.day
  left join asks on asks.ask_id = meanings.ask_id
),
warned as (
  select list_sort(list_distinct(flatten(list(list_filter([
    -- a denial then was another's, since permission is today's
    if(earlier.outcome = 'deny' or earlier.winner.evidence_id <> answers.evidence_id, 'retroactive', null),
    if(earlier.winner.evidence_id = answers.evidence_id and earlier.winner.content_hash <> answers.winner.content_hash,
      'corrected', null),
    if(answers.winner.backdated, 'backdated', null),
    if(answers.winner.same_instant, 'same_instant', null),
    if(answers.winner.removed, 'removed', null),
    if(answers.winner.certified_until < answers.day, 'certification_expired', null),
    if(answers.winner.last_verified + collected.latest.max_unverified < answers.day, 'unverified', null),
    if(answers.winner.logic_changed, 'logic_changed', null),
    if(answers.winner.successor_undated, 'successor_undated', null),
    if({{ attest.status_contradicts('answers.winner') }}, 'status_contradiction', null),
    if(collected.latest.generated_at + collected.latest.max_age < now(), 'stale_collection', null)
  ], lambda warning: warning is not null))))) as warnings
  from answers
  cross join collected
  -- what governed as known when the period asked ended
  left join (
    select decisions.day, asks.entity_id, decisions.outcome, decisions.winner
    from decisions join asks on asks.ask_id = decisions.ask_id
    where not asks.as_asked
  ) as earlier on earlier.day = answers.day and earlier.entity_id = answers.entity
  where answers.outcome = 'answer'
),
-- adjacent days that say the same are one segment
segments as (
  select
    list_reduce(
      list([{day: answers.day, outcome: answers.outcome, reason: answers.reason, evidence_id: answers.evidence_id,
        entity: answers.entity}] order by answers.day),
      lambda steps, next: if(
        steps[-1].outcome = next[1].outcome and steps[-1].reason = next[1].reason
          and steps[-1].evidence_id is not distinct from next[1].evidence_id
          and steps[-1].entity is not distinct from next[1].entity,
        steps, list_concat(steps, next))) as steps
  from answers
),
whole as (
  select
    case
      when len(segments.steps) = 1 then segments.steps[1].outcome
      when list_contains(list_transform(segments.steps, lambda step: step.outcome), 'answer') then 'split'
      else list_sort(list_transform(segments.steps, lambda step:
        {rank: {{ attest.outcome_rank('step.outcome') }}, outcome: step.outcome}))[1].outcome
    end as outcome,
    case
      when len(segments.steps) = 1 then segments.steps[1].reason
      when list_contains(list_transform(segments.steps, lambda step: step.outcome), 'answer') then 'changes_within_period'
      else list_sort(list_transform(segments.steps, lambda step:
        {rank: {{ attest.outcome_rank('step.outcome') }}, day: step.day, reason: step.reason}))[1].reason
    end as reason,
    if(len(segments.steps) = 1, segments.steps[1].evidence_id, null) as evidence_id,
    if(len(list_distinct(list_transform(segments.steps, lambda step: coalesce(step.entity, '')))) = 1,
      segments.steps[1].entity, null) as entity,
    list_transform(segments.steps, lambda step, place: {
      'from': step.day, 'to': coalesce(segments.steps[place + 1].day - 1, question.to_day), 'outcome': step.outcome,
      'reason': step.reason, 'evidence_id': step.evidence_id}) as segments
  from segments cross join question
),
joined as (
  select
    arg_min(answers.winner, answers.day) as winner,
    arg_min(answers.owners, answers.day) as owners,
    arg_min(answers.ended_by, answers.day) as ended_by,
    list_sort(list_distinct(flatten(list(answers.candidates)))) as candidates,
    list_sort(list_distinct(flatten(list(answers.conflicts)))) as conflicts,
    list_sort(list_distinct(flatten(list(answers.neighbours)))) as neighbours,
    bool_or(answers.withheld) as withheld
  from answers
),
result as (
  select
    whole.entity,
    whole.outcome,
    whole.reason,
    whole.evidence_id,
    governing.version,
    if(whole.evidence_id is not null, joined.winner.valid_from, null) as valid_from,
    if(whole.evidence_id is not null, joined.winner.valid_to, null) as valid_to,
    governing.title,
    governing.definition,
    whole.segments,
    question.from_day as from_date,
    question.to_day as to_date,
    question.assumed_today,
    if(isfinite(question.known_at), question.known_at, collected.known_until) as known_at,
    question.environment,
    question.scope as asked_scope,
    governing.entity_type,
    governing.status,
    governing.authority,
    governing.date_basis,
    governing.approved_by,
    governing.approved_at,
    nullif(array_to_string(list_transform(
      list_filter(coalesce(governing.owners, joined.owners), lambda owner:
        coalesce(owner.effective_from <= question.from_day, true) and coalesce(owner.effective_to >= question.from_day, true)),
      lambda owner: owner.name), ', '), '') as owner,
    governing.grain,
    governing.scope,
    governing.models,
    governing.sources,
    governing.node_id,
    governing.file,
    governing.known_from as recorded_at,
    governing.artifact_id,
    governing.content_hash,
    collected.latest.policy_version,
    collected.collected_at,
    joined.candidates,
    joined.conflicts,
    joined.neighbours,
    if(whole.outcome = 'abstain', joined.ended_by, null) as ended_by,
    joined.withheld,
    coalesce(warned.warnings, []) as warnings
  from question
  cross join whole
  cross join joined
  cross join collected
  cross join warned
  left join recorded as governing
    on governing.entity_id = whole.entity and governing.evidence_id = whole.evidence_id
      and governing.environment = question.environment and governing.known_from = joined.winner.known_from
      and governing.known_until is distinct from governing.known_from
)
{% endmacro %}

{#- Whether what a definition says about itself is not what became of it: superseded by nothing, or current and ended. -#}
{% macro status_contradicts(definition) -%}
  ({{ definition }}.status = 'superseded' and {{ definition }}.valid_to is null
    or {{ definition }}.status = 'current' and {{ definition }}.valid_to <= {{ attest.today() }})
{%- endmacro %}

{#- Which outcome a period without any answer takes from its days. -#}
{% macro outcome_rank(outcome) -%}
  list_position(['review', 'deny', 'clarify', 'abstain'], {{ outcome }})
{%- endmacro %}
