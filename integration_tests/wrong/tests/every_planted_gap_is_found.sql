-- One row per planted gap that was not found, and per gap that nobody planted.
with
found as (
  select kind, severity, entity, evidence_id, expected from {{ ref('attest', 'gaps') }}
)
(select 'not found' as trouble, * from {{ ref('expected_gaps') }} except all select 'not found', * from found)
union all
(select 'not planted', * from found except all select 'not planted', * from {{ ref('expected_gaps') }})
