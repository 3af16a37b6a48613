-- Q3: What is the current approved definition of Revenue on 2026-10-10?
-- One row: the resolver's answer.

select
    outcome,
    reason,
    evidence_id,
    version,
    valid_from,
    valid_to
from {{ var('attest_schema', target.schema ~ '_attest') }}.definition_on(
    'metric.revenue', date '2026-10-10', groups := ['analytics_readers']
)
