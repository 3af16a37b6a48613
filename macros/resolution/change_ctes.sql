{#- The CTEs from `recorded`, `bearing`, `horizon` and `request` to `changes`: one row per state of knowledge and stretch of
    days for which the answer became another one. What is compared is the outcome, the definition and its content.

    bearing: entity_id, by_entity; the entities whose definitions bear on the answers about entity_id, itself included
    horizon: environment, known_at; one row, up to which state of knowledge
    request: as in `decision_ctes` -#}
{% macro change_ctes() %}
asks as (
  select row_number() over () as ask_id, instants.environment, instants.entity_id, instants.known_at
  from (
    select distinct recorded.environment, bearing.entity_id, recorded.known_from as known_at
    from bearing
    join recorded on recorded.entity_id = bearing.by_entity
    join horizon on horizon.environment = recorded.environment and recorded.known_from <= horizon.known_at
  ) as instants
),
related as (
  select asks.ask_id, bearing.by_entity as entity_id
  from asks join bearing on bearing.entity_id = asks.entity_id
),
{{ attest.stretch_ctes() }},
bounds as (
  select asks.environment, asks.entity_id, date '0001-01-01' as day from asks
  union
  select asks.environment, asks.entity_id, bound.day
  from (
    select stretches.ask_id, unnest([stretches.valid_from, stretches.valid_to]) as day from stretches
  ) as bound
  join asks on asks.ask_id = bound.ask_id
  where bound.day is not null
),
moments as (
  select asks.ask_id, bounds.day
  from asks join bounds on bounds.environment = asks.environment and bounds.entity_id = asks.entity_id
),
{{ attest.decision_ctes() }},
-- each day's answer beside the one of the state of knowledge before
compared as (
  select
    asks.environment,
    asks.entity_id,
    asks.known_at,
    decisions.day,
    lead(decisions.day) over (partition by decisions.ask_id order by decisions.day) as before_day,
    {outcome: decisions.outcome, reason: decisions.reason, evidence_id: decisions.evidence_id,
      content_hash: decisions.winner.content_hash} as now,
    coalesce(
      lag({outcome: decisions.outcome, reason: decisions.reason, evidence_id: decisions.evidence_id,
        content_hash: decisions.winner.content_hash}) over earlier,
      {outcome: 'abstain', reason: 'not_recorded_yet', evidence_id: null, content_hash: null}) as before
  from decisions
  join asks on asks.ask_id = decisions.ask_id
  join access on access.ask_id = decisions.ask_id
  where access.visible
  window earlier as (partition by asks.environment, asks.entity_id, decisions.day order by asks.known_at)
),
-- adjacent days of one change are one stretch
changed as (
  select
    compared.*,
    lag(compared.before_day) over same_change is distinct from compared.day as begins
  from compared
  where compared.now.outcome <> compared.before.outcome
    or compared.now.evidence_id is distinct from compared.before.evidence_id
    or compared.now.content_hash is distinct from compared.before.content_hash
  window same_change as (
    partition by compared.environment, compared.entity_id, compared.known_at, compared.now, compared.before order by compared.day)
),
stretched as (
  select
    changed.*,
    count(*) filter (changed.begins) over (
      partition by changed.environment, changed.entity_id, changed.known_at, changed.now, changed.before order by changed.day
    ) as stretch
  from changed
),
changes as (
  select
    stretched.environment,
    stretched.entity_id,
    stretched.known_at,
    nullif(min(stretched.day), date '0001-01-01') as from_date,
    if(bool_or(stretched.before_day is null), null, max(stretched.before_day) - 1) as to_date,
    stretched.before,
    stretched.now
  from stretched
  group by stretched.environment, stretched.entity_id, stretched.known_at, stretched.before, stretched.now, stretched.stretch
),
-- what was asserted at that instant about the definitions that the requester may see
asserted as (
  select
    bearing.entity_id,
    recorded.environment,
    recorded.known_from,
    list({
      evidence_id: recorded.evidence_id,
      change: case
        when recorded.removed_on is not null then 'removed'
        when recorded.known_from = beginnings.known_from then 'added'
        else 'changed'
      end,
      artifact_id: coalesce(absence.artifact_id, recorded.artifact_id)
    } order by recorded.evidence_id) as assertions
  from bearing
  join recorded on recorded.entity_id = bearing.by_entity
  cross join request
  join (
    select recorded.environment, recorded.evidence_id, min(recorded.known_from) as known_from
    from recorded
    group by recorded.environment, recorded.evidence_id
  ) as beginnings on beginnings.environment = recorded.environment and beginnings.evidence_id = recorded.evidence_id
  left join (
    select assertion.environment, assertion.evidence_id, assertion.asserted_at, max(assertion.artifact_id) as artifact_id
    from {{ attest.evidence('assertions') }} as assertion
    where not assertion.stated
    group by assertion.environment, assertion.evidence_id, assertion.asserted_at
  ) as absence
    on recorded.removed_on is not null and absence.environment = recorded.environment
      and absence.evidence_id = recorded.evidence_id and absence.asserted_at = recorded.known_from
  where (request.steward or list_has_any(recorded.groups, request.groups))
    and recorded.known_until is distinct from recorded.known_from
  group by bearing.entity_id, recorded.environment, recorded.known_from
)
{% endmacro %}

{#- The rows of `changes`, each with the assertions that made it: those about the definition that was or became the answer,
    else everything asserted at that instant. -#}
{% macro changes_select() %}
select
  changes.environment,
  changes.entity_id,
  changes.known_at,
  changes.from_date,
  changes.to_date,
  changes.before.outcome as outcome_before,
  changes.before.reason as reason_before,
  changes.before.evidence_id as evidence_id_before,
  changes.before.content_hash as content_hash_before,
  changes.now.outcome as outcome,
  changes.now.reason as reason,
  changes.now.evidence_id as evidence_id,
  changes.now.content_hash as content_hash,
  if(
    len(list_filter(asserted.assertions, lambda one: one.evidence_id in (changes.before.evidence_id, changes.now.evidence_id))) > 0,
    list_filter(asserted.assertions, lambda one: one.evidence_id in (changes.before.evidence_id, changes.now.evidence_id)),
    coalesce(asserted.assertions, [])) as because
from changes
left join asserted
  on asserted.environment = changes.environment and asserted.entity_id = changes.entity_id
    and asserted.known_from = changes.known_at
{% endmacro %}
