{{ config(materialized='incremental', unique_key='order_id', on_schema_change='append_new_columns') }}
select * from {{ attest.join_definition("(select distinct * from " ~ ref('orders') ~ ")", 'ordered_on', entity='metric.b', groups=['readers']) }}
{% if is_incremental() %}where order_id >= (select max(order_id) from {{ this }}){% endif %}
