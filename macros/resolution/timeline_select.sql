{#- From `asks`, `request` and `stretches`: one row per definition that is in force for some time as known at the instant
    of its ask and that the requester may see. An end set by what they may not see stays, but is not explained.

    for_stewards: with the columns that say who else may see it -#}
{% macro timeline_select(for_stewards) %}
select
  definition.environment,
  definition.entity_id,
  definition.evidence_id,
  definition.entity_type,
  definition.version,
  definition.scope,
  stretches.valid_from,
  stretches.valid_to,
  if(stretches.valid_to is null, null, coalesce(ending.seen.kind, 'expired')) as end_kind,
  ending.seen.ended_by as ended_by,
  stretches.in_cycle,
  definition.removed_on,
  definition.status,
  definition.authority,
  definition.approved_by,
  definition.approved_at,
  definition.date_basis,
  definition.owners,
  definition.grain,
  definition.title,
  definition.definition,
  {% if for_stewards -%}
  definition.models,
  definition.sources,
  {% else -%}
  list_filter(definition.models, lambda node: list_contains(nodes_seen.node_ids, node)) as models,
  list_filter(definition.sources, lambda node: list_contains(nodes_seen.node_ids, node)) as sources,
  {% endif -%}
  definition.node_id,
  definition.file,
  {% if for_stewards -%}
  definition.groups,
  definition.hidden,
  {% endif -%}
  definition.known_from as recorded_at,
  definition.artifact_id,
  definition.content_hash
from stretches
cross join request
cross join lateral (
  select list_filter(stretches.first_ends, lambda ending: ending.ended_by is null or request.steward
    or list_has_any(ending.ended_by_groups, request.groups))[1] as seen
) as ending
join asks on asks.ask_id = stretches.ask_id
join {{ attest.recorded_assertions() }} as definition
  on definition.environment = asks.environment and definition.entity_id = asks.entity_id
    and definition.evidence_id = stretches.evidence_id and definition.known_from = stretches.known_from
    and definition.known_until is distinct from definition.known_from
{%- if not for_stewards %}
cross join nodes_seen
{%- endif %}
where stretches.standing and stretches.valid_from < coalesce(stretches.valid_to, date 'infinity')
  and (request.steward or list_has_any(stretches.groups, request.groups))
{% endmacro %}
