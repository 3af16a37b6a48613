-- Q2: Which definition of Revenue applies to 2025-07-15, and which model supports it?
-- One row: the answer and one supporting model; one row also where no model is recorded.

select
    definition.outcome,
    definition.reason,
    definition.evidence_id,
    support.evidence_id as model_evidence_id,
    support.node_id as model_node_id
from {{ var('attest_schema', target.schema ~ '_attest') }}.definition_on(
    'metric.revenue', date '2025-07-15', groups := ['analytics_readers']
) as definition
left join {{ var('attest_schema', target.schema ~ '_attest') }}.support_on(
    'metric.revenue', date '2025-07-15', groups := ['analytics_readers']
) as support
    on support.kind = 'model'
