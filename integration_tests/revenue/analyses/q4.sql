-- Q4: Which definition of Revenue applies to the whole year 2025?
-- One row: the answer for the year and one of its segments (both days of a segment are part of it).

select
    period.outcome,
    period.reason,
    segments.segment."from" as segment_from,
    segments.segment."to" as segment_to,
    segments.segment.outcome as segment_outcome,
    segments.segment.evidence_id as evidence_id
from {{ var('attest_schema', target.schema ~ '_attest') }}.definition_between(
    'metric.revenue', date '2025-01-01', date '2025-12-31', groups := ['analytics_readers']
) as period
left join lateral unnest(period.segments) as segments (segment)
    on true
order by segment_from
