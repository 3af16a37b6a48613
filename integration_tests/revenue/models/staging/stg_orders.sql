-- One row: one completed order.
-- depends_on: {{ ref('orders_seed') }}  (in this demonstration the seed lands raw.orders)

with events as (

    select * from {{ source('raw', 'orders') }}

)

select
    events.order_id,
    events.booked_at,
    events.order_completed_at,
    events.gross_amount,
    events.tax,
    events.discount,
    events.shipping_fee,
    events.currency
from events
where events.event_type = 'completed'
