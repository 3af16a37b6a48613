{{ config(materialized='table') }}
-- Two rows of order 1 are equal on purpose; order 3 has no date, order 4 is of before the first definition.
select * from (values
  (1, date '2024-06-30', 'metric.b'), (1, date '2024-06-30', 'metric.b'), (2, date '2024-07-01', 'metric.b'),
  (3, null, 'metric.b'), (4, date '2020-01-01', 'metric.b'), (5, date '2024-07-01', 'metric.nowhere'),
  (6, date '2024-07-01', null), (7, date '2024-07-01', 'metric.o''brien'), (8, date '2024-07-01', 'metric.plan')
) as order_row (order_id, ordered_on, metric)
