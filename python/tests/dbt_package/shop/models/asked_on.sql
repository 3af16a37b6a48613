select * from {{ attest.definition_on('metric.b', '2024-06-30', groups='readers') }}
