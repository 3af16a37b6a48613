-- Q1: Which definition of Revenue applies to the reporting date 2025-06-30?
-- One row: the resolver's answer.

select
    outcome,
    reason,
    evidence_id,
    version,
    valid_from,
    valid_to
from {{ var('attest_schema', target.schema ~ '_attest') }}.definition_on(
    'metric.revenue', date '2025-06-30', groups := ['analytics_readers']
)
