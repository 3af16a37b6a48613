-- Q6: Which raw sources and which model stand behind Revenue v2?
-- One row: one thing that supports the definition in force on 2025-07-15.

select
    kind,
    node_id,
    entity_id,
    evidence_id
from {{ var('attest_schema', target.schema ~ '_attest') }}.support_on(
    'metric.revenue', date '2025-07-15', groups := ['analytics_readers']
)
order by kind, node_id
