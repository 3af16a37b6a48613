-- One row: one chargeback.
-- depends_on: {{ ref('chargebacks_seed') }}  (in this demonstration the seed lands raw.chargebacks)

select
    chargebacks.chargeback_id,
    chargebacks.order_id,
    chargebacks.charged_back_at,
    chargebacks.chargeback_amount,
    chargebacks.currency
from {{ source('raw', 'chargebacks') }} as chargebacks
