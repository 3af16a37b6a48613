select count(distinct id) as visits from {{ ref('stg_orders') }}
