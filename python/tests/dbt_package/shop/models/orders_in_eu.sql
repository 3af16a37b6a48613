select 'EU' as asked, * from {{ attest.join_definition(ref('orders'), 'ordered_on', entity='metric.regional', groups=['readers'], scope={'region': 'EU'}) }}
union all
select 'none', * from {{ attest.join_definition(ref('orders'), 'ordered_on', entity='metric.regional', groups=['readers']) }}
union all
select 'US', * from {{ attest.join_definition(ref('orders'), 'ordered_on', entity='metric.regional', groups=['readers'], scope={'region': 'US'}) }}
