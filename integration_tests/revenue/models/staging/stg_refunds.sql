-- One row: one refund.
-- depends_on: {{ ref('refunds_seed') }}  (in this demonstration the seed lands raw.refunds)

select
    refunds.refund_id,
    refunds.order_id,
    refunds.refunded_at,
    refunds.refund_amount,
    refunds.currency
from {{ source('raw', 'refunds') }} as refunds
