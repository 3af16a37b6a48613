select * from {{ attest.join_definition(ref('orders'), 'ordered_on', entity_column='metric', groups='readers, others', prefix='definition_') }}
