{% macro lineage_impact_function() %}
-- One row per definition that governs for some time and stands on `node`, with the days [valid_from, valid_to) during which
-- it does, and per exposure and metric before it that no definition governs. A definition that declares its models and
-- sources stands on these, any other on what its node reads. What the requester may not see is one row with outcome `deny`;
-- where there is nothing, one row says so.
with recursive
{{ attest.lineage_ctes('node', 'known_at', 'groups', 'environment') }},
ways as materialized (
  select edges.from_node as near, edges.to_node as far, edges.kind,
    edges.to_node in (select withheld.node_id from withheld) as closed,
    edges.to_node in (select withheld.node_id from withheld where withheld.disclosed) as denied
  from edges
  where edges.kind <> 'test'
),
walked as (
  select meant.node_id from meant where meant.node_id is not null
  union
  select ways.far from walked join ways on ways.near = walked.node_id where not ways.closed
),
-- what dbt says that reads any of it, and what definitions say for themselves
reads as (
  select distinct ways.far as node_id
  from ways
  where ways.kind <> 'declared' and ways.near in (select walked.node_id from walked)
),
involved as (
  select distinct assertion.entity_id
  from {{ attest.evidence('assertions') }} as assertion
  join question on question.environment = assertion.environment
  where coalesce(assertion.node_id, assertion.evidence_id) in (select walked.node_id from walked)
),
asks as (
  select row_number() over () as ask_id, question.environment, involved.entity_id, question.known_at
  from involved cross join question
),
{{ attest.related_ctes(attest.evidence('assertions')) }},
entities as (
  select distinct related.entity_id from related
),
{{ attest.recorded_ctes('entities', policies=false) }},
{{ attest.stretch_ctes() }},
says_so as (
  select distinct said.environment, said.evidence_id, said.known_from
  from (
    select recorded.environment, recorded.evidence_id, recorded.known_from,
      unnest(list_concat(coalesce(recorded.models, []), coalesce(recorded.sources, []))) as node_id
    from recorded
  ) as said
  where said.node_id in (select walked.node_id from walked)
),
newest as (
  select stretches.ask_id, max(stretches.valid_from) as valid_from from stretches where stretches.standing group by stretches.ask_id
),
standing_on as (
  select
    coalesce(definition.node_id, definition.evidence_id) as node_id,
    definition.entity_id,
    definition.evidence_id,
    definition.entity_type,
    definition.version,
    definition.title,
    stretches.standing and stretches.valid_from < coalesce(stretches.valid_to, date 'infinity') as governs,
    stretches.valid_from,
    stretches.valid_to,
    nullif(array_to_string(list_transform(definition.owners, lambda owner: owner.name), ', '), '') as owner
  from stretches
  cross join request
  join asks on asks.ask_id = stretches.ask_id
  join recorded as definition
    on definition.environment = asks.environment and definition.entity_id = asks.entity_id
      and definition.evidence_id = stretches.evidence_id and definition.known_from = stretches.known_from
      and definition.known_until is distinct from definition.known_from
  left join says_so
    on says_so.environment = definition.environment and says_so.evidence_id = definition.evidence_id
      and says_so.known_from = definition.known_from
  left join newest on newest.ask_id = stretches.ask_id
  where list_has_any(stretches.groups, request.groups)
    and if(definition.models is null and definition.sources is null,
      -- dbt's own edges are those of the newest definition; what older ones stood on is unknown unless they say so
      definition.node_id in (select reads.node_id from reads)
        and (not stretches.standing or stretches.valid_from >= newest.valid_from),
      says_so.evidence_id is not null)
),
impact as materialized (
  select 'answer' as outcome, 'recorded' as reason, standing_on.node_id, standing_on.entity_type as kind, standing_on.entity_id,
    standing_on.evidence_id, standing_on.version, standing_on.title, true as governed, standing_on.valid_from,
    standing_on.valid_to, standing_on.owner
  from standing_on
  where standing_on.governs
  union by name
  select 'answer' as outcome, 'recorded' as reason, standing_on.node_id, standing_on.entity_type as kind, standing_on.entity_id,
    any_value(standing_on.title) as title, false as governed, max(standing_on.owner) as owner
  from standing_on
  where standing_on.entity_type in ('exposure', 'metric_definition')
  group by standing_on.node_id, standing_on.entity_type, standing_on.entity_id
  having not bool_or(standing_on.governs)
  union by name
  select 'deny' as outcome, 'not_permitted' as reason
  from ways where ways.denied and ways.near in (select walked.node_id from walked)
)
select impact.outcome, impact.reason, meant.node_id as node, impact.node_id, impact.kind, impact.entity_id, impact.evidence_id, impact.version,
  impact.title, impact.governed, impact.valid_from, impact.valid_to, impact.owner, meant.candidates
from impact
cross join meant
union all by name
select coalesce(meant.outcome, 'abstain') as outcome, coalesce(meant.reason, 'no_impact') as reason, meant.node_id as node,
  meant.candidates
from meant
where not exists (from impact)
order by outcome, kind, entity_id, valid_from, evidence_id
{% endmacro %}
