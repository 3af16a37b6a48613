{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per definition whose existence is not as hidden as that of its entity, so that a hidden policy does not hold.
with
{{ attest.present_cte() }},
entities as (
  select present.environment, present.entity_id,
    list(present.evidence_id order by present.evidence_id) filter (present.hidden) as hidden_ones
  from present
  group by present.environment, present.entity_id
),
found as (
  select
    {{ attest.gap_about('present') }},
    if(present.hidden, 'groups of a hidden policy alone', 'a hidden policy, as ' || entities.hidden_ones[1] || ' has') as expected,
    if(present.hidden, 'the group everyone beside it', 'none: its existence tells of the entity') as found,
    present.known_from as since,
    if(present.hidden, 'Take `everyone` out of its `permissions`, or take the hidden policy out.',
      'Give every definition of the entity the hidden policy, or none.') as repair
  from present
  join entities on entities.environment = present.environment and entities.entity_id = present.entity_id
  where present.hidden and list_contains(present.groups, 'everyone') or not present.hidden and len(entities.hidden_ones) > 0
)
{{ attest.gap_select('permission_anomaly', 'error') }}
