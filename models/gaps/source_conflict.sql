{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per attribute of a classified definition about which the places that state it disagree: none of the values that one
-- place gives for today is given by another. What dbt says of a node it says of today, and so nothing of a definition that has
-- ended.
with
{{ attest.present_cte() }},
{{ attest.claim_ctes() }},
said as (
  select
    claims.environment, claims.evidence_id, claims.attribute, claims.source,
    list_sort(list_distinct(list(lower(trim(claims.value))))) as meant,
    string_agg(claims.value, ', ' order by claims.place) as words,
    max(claims.asserted_at) as said_at
  from claims
  where claims.attribute in ('owner', 'grain')
    and coalesce(claims.effective_from <= {{ attest.today() }}, true) and coalesce(claims.effective_to >= {{ attest.today() }}, true)
  group by claims.environment, claims.evidence_id, claims.attribute, claims.source
),
disagreements as (
  select one.environment, one.evidence_id, one.attribute
  from said as one
  join said as other
    on other.environment = one.environment and other.evidence_id = one.evidence_id and other.attribute = one.attribute
      and other.source > one.source
  where not list_has_any(one.meant, other.meant)
  group by one.environment, one.evidence_id, one.attribute
),
ended as (
  select timeline.environment, timeline.evidence_id
  from {{ attest.timeline_relation() }} as timeline
  group by timeline.environment, timeline.evidence_id
  having max(coalesce(timeline.valid_to, date 'infinity')) <= {{ attest.today() }}
),
found as (
  select
    {{ attest.gap_about('present') }},
    'one ' || disagreements.attribute as expected,
    string_agg(said.words || ' (' || said.source || ')', '; ' order by said.source) as found,
    max(said.said_at) as since,
    'Make the places agree, or keep one; `attest resolve --attribute ' || disagreements.attribute || '` tells which is believed.' as repair
  from disagreements
  join said
    on said.environment = disagreements.environment and said.evidence_id = disagreements.evidence_id
      and said.attribute = disagreements.attribute
  join present on present.environment = disagreements.environment and present.evidence_id = disagreements.evidence_id
  left join ended on ended.environment = present.environment and ended.evidence_id = present.evidence_id
  where present.authority is not null and present.status not in ('draft', 'void') and ended.evidence_id is null
  group by present.environment, present.project_name, present.entity_id, present.evidence_id, present.node_id, present.file,
    present.owner, disagreements.attribute
)
{{ attest.gap_select('source_conflict', 'warning') }}
