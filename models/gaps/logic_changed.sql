{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per definition whose SQL or metric expression is another one than when its words were first recorded.
with
{{ attest.present_cte() }},
began as (
  select assertion.environment, assertion.evidence_id, min(assertion.known_from) as since
  from {{ attest.recorded_assertions() }} as assertion
  join present
    on present.environment = assertion.environment and present.evidence_id = assertion.evidence_id
      and present.content_hash = assertion.content_hash
  where assertion.logic_changed
  group by assertion.environment, assertion.evidence_id
),
found as (
  select
    {{ attest.gap_about('present') }},
    'the SQL or expression that its words were recorded with' as expected,
    'another one since ' || {{ attest.utc_date('began.since') }} as found,
    began.since,
    'If it means the same, say so with `last_verified: <the day somebody looked>`; if not, write a new version.' as repair
  from present
  join began on began.environment = present.environment and began.evidence_id = present.evidence_id
  where present.governs and present.logic_changed
)
{{ attest.gap_select('logic_changed', 'warning') }}
