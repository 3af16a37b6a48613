-- One row: one completed order, with its revenue by METRIC.REVENUE.v1.

select
    orders.order_id,
    orders.order_completed_at,
    orders.gross_amount - orders.tax - orders.discount as revenue_amount,
    orders.currency
from {{ ref('stg_orders') }} as orders
