-- Q5: What does the board plan for FY2026 say?
-- One row: the refusal; these readers learn nothing of the plan's content.

select
    outcome,
    reason,
    evidence_id
from {{ var('attest_schema', target.schema ~ '_attest') }}.definition_on(
    'finance.board.revenue_plan', date '2026-10-10', groups := ['analytics_readers']
)
