-- Q7: What is the approved definition of Gross Margin?
-- One row: the abstention; there is only a draft.

select
    outcome,
    reason,
    evidence_id,
    conflicts
from {{ var('attest_schema', target.schema ~ '_attest') }}.definition_on(
    'metric.gross_margin', date '2026-10-10', groups := ['analytics_readers']
)
