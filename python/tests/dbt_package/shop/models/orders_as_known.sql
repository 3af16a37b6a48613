select * from {{ attest.join_definition(ref('orders'), 'ordered_on', entity='metric.b', groups=['readers'], known_at='2024-06-09') }}
