{% macro definition_on_function() %}
-- Exactly one row: which definition of `entity` was in force on `on_date` (null is today in UTC), as known at `known_at`
-- (null is everything recorded), for a requester in `groups` (default: the session variable attest_groups), in `scope`.
-- A day is a period of one day: creating the same 35 kB of SQL twice would be felt in everybody's `dbt build`.
select answer.* exclude (to_date, segments) rename (from_date as on_date)
from {{ attest.resolver_function('definition_between') }}(
  entity, on_date, on_date, known_at := known_at, groups := groups, scope := scope, environment := environment) as answer
{% endmacro %}
