select * from {{ attest.join_definition(ref('orders'), 'ordered_on', entity='metric.b') }}
