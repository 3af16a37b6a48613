-- Q8: Should shipping be part of Revenue on 2026-10-10?
-- One row: the definition in force, and under conflicts the draft that would change it.

select
    outcome,
    reason,
    evidence_id,
    conflicts
from {{ var('attest_schema', target.schema ~ '_attest') }}.definition_on(
    'metric.revenue', date '2026-10-10', groups := ['analytics_readers']
)
