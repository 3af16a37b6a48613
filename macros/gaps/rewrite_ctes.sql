{#- The CTEs from `present` to `rewritten`: one row per edit of the words or dates of a definition that governed days before
    the edit, which nothing recorded since calls a correction, with the days it reaches, from_day to to_day. An end where
    the next definition begins is none: that one would have ended it all the same. -#}
{% macro rewrite_ctes() %}
states as (
  select
    assertion.*,
    lag({
      governed: assertion.authority = 'authoritative' and assertion.status not in ('draft', 'void') and assertion.removed_on is null,
      title: assertion.title, definition: assertion.definition, grain: assertion.grain, date_basis: assertion.date_basis,
      scope: assertion.scope, effective_from: assertion.effective_from, effective_to: assertion.effective_to,
      content_hash: assertion.content_hash, corrects: assertion.corrects
    }) over history as before,
    {{ attest.utc_date('assertion.known_from') }} as edited_on
  from {{ attest.recorded_assertions() }} as assertion
  where assertion.environment = {{ attest.literal(attest.environment()) }}
    and assertion.known_until is distinct from assertion.known_from and assertion.removed_on is null
  window history as (
    partition by assertion.environment, assertion.entity_id, assertion.evidence_id
    order by assertion.known_from, assertion.asserted_at)
),
edits as (
  select
    states.*,
    -- an end that lies after the edit changed nothing that had been
    least(coalesce(states.effective_to, date 'infinity'), states.edited_on - 1) as held_to,
    least(coalesce(states.before.effective_to, date 'infinity'), states.edited_on - 1) as held_to_before,
    list_filter([
      -- what nobody had said is filled in, not rewritten
      if(states.before.title <> coalesce(states.title, ''), 'title', null),
      if(states.before.definition <> coalesce(states.definition, ''), 'definition', null),
      if(states.before.grain <> coalesce(states.grain, ''), 'grain', null),
      if(states.before.date_basis <> coalesce(states.date_basis, ''), 'date_basis', null),
      if(states.scope is distinct from states.before.scope, 'scope', null),
      if(states.effective_from is distinct from states.before.effective_from, 'effective_from', null),
      if(held_to is distinct from held_to_before and not coalesce(states.effective_to + 1 in (
        select timeline.valid_from from {{ attest.timeline_relation() }} as timeline
        where timeline.environment = states.environment and timeline.entity_id = states.entity_id), false), 'effective_to', null)
    ], lambda attribute: attribute is not null) as edited
  from states
  where states.before.content_hash <> states.content_hash and states.before.governed
    and states.before.effective_from < states.edited_on
),
rewritten as (
  select
    present.environment, present.project_name, present.entity_id, present.evidence_id, present.node_id, present.models,
    present.file, present.owner, edits.edited, edits.known_from,
    -- other words reach every day, other dates only the days between them
    edits.edited <> ['effective_from'] and edits.edited <> ['effective_to']
      and edits.edited <> ['effective_from', 'effective_to'] as other_words,
    least(
      if(other_words or list_contains(edits.edited, 'effective_from'), least(edits.before.effective_from, edits.effective_from), null),
      if(list_contains(edits.edited, 'effective_to'), least(edits.held_to, edits.held_to_before) + 1, null)) as from_day,
    least(edits.edited_on - 1, greatest(
      if(other_words or list_contains(edits.edited, 'effective_to'), greatest(edits.held_to, edits.held_to_before), null),
      if(list_contains(edits.edited, 'effective_from'),
        if(edits.effective_from is null, edits.held_to_before, greatest(edits.before.effective_from, edits.effective_from) - 1),
        null))) as to_day
  from edits
  join present
    on present.environment = edits.environment and present.entity_id = edits.entity_id and present.evidence_id = edits.evidence_id
  where len(edits.edited) > 0 and not exists (
    from states as later
    where later.environment = edits.environment and later.entity_id = edits.entity_id and later.evidence_id = edits.evidence_id
      and later.known_from >= edits.known_from and later.corrects is not null
      and later.corrects is distinct from edits.before.corrects)
)
{% endmacro %}
