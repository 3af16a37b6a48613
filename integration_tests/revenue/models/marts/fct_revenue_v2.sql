-- One row: one completed order, with its revenue by METRIC.REVENUE.v2.
-- Refunds and chargebacks count against the order's own completion date, whenever they came in.

with refunds_by_order as (

    select
        refunds.order_id,
        sum(refunds.refund_amount) as refund_amount
    from {{ ref('stg_refunds') }} as refunds
    group by refunds.order_id

),

chargebacks_by_order as (

    select
        chargebacks.order_id,
        sum(chargebacks.chargeback_amount) as chargeback_amount
    from {{ ref('stg_chargebacks') }} as chargebacks
    group by chargebacks.order_id

),

orders_with_adjustments as (

    select
        orders.order_id,
        orders.order_completed_at,
        orders.gross_amount - orders.tax - orders.discount - orders.shipping_fee as goods_amount,
        coalesce(refunds_by_order.refund_amount, 0) as refund_amount,
        coalesce(chargebacks_by_order.chargeback_amount, 0) as chargeback_amount,
        orders.currency
    from {{ ref('stg_orders') }} as orders
    left join refunds_by_order
        on refunds_by_order.order_id = orders.order_id
    left join chargebacks_by_order
        on chargebacks_by_order.order_id = orders.order_id

)

select
    order_id,
    order_completed_at,
    goods_amount,
    refund_amount,
    chargeback_amount,
    goods_amount - refund_amount - chargeback_amount as revenue_amount,
    currency
from orders_with_adjustments
