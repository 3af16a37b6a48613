-- One row: one month of order completion and one definition that was in force in it.
-- Each order is valued by the definition in force on its own completion date. Orders without
-- one stay in the report, with the outcome that says so and without a revenue.

with orders as (

    select *
    from {{ attest.join_definition(
        relation=ref('stg_orders'),
        date_column='order_completed_at',
        entity='metric.revenue',
        prefix='revenue_'
    ) }} as orders_with_definition

),

valued_orders as (

    select
        cast(date_trunc('month', orders.order_completed_at) as date) as order_month,
        orders.revenue_evidence_id,
        orders.revenue_version,
        orders.revenue_outcome,
        orders.revenue_reason,
        orders.revenue_valid_from,
        orders.revenue_valid_to,
        orders.currency,
        case orders.revenue_evidence_id
            when 'METRIC.REVENUE.v1' then revenue_v1.revenue_amount
            when 'METRIC.REVENUE.v2' then revenue_v2.revenue_amount
        end as revenue_amount
    from orders
    left join {{ ref('fct_revenue', v=1) }} as revenue_v1
        on revenue_v1.order_id = orders.order_id
    left join {{ ref('fct_revenue', v=2) }} as revenue_v2
        on revenue_v2.order_id = orders.order_id

)

select
    order_month,
    revenue_evidence_id,
    revenue_outcome,
    count(*) as orders,
    sum(revenue_amount) as revenue_amount,
    currency,
    revenue_reason,
    revenue_version,
    revenue_valid_from,
    revenue_valid_to
from valued_orders
group by all
order by order_month, revenue_evidence_id
