{% macro definition_changes_of_function() %}
-- The rows of `definition_changes` for one entity, up to `known_at`, as a requester in `groups` was answered for `scope`: a
-- definition that they may not see is not named, and of an entity that they may not see there is no row. The earliest first.
with recursive
asked as (
  select
    answer.entity as entity_id,
    answer.environment as in_environment,
    answer.known_at as until,
    answer.asked_scope as in_scope,
    list_append(coalesce({{ attest.to_list('groups') }}, {{ attest.to_list("getvariable('attest_groups')") }}, []), 'everyone') as in_groups
  from {{ attest.resolver_function('definition_between') }}(
    entity, null, null, known_at := known_at, groups := groups, scope := scope, environment := environment) as answer
),
horizon as (
  select asked.in_environment as environment, asked.until as known_at from asked
),
request as (
  select cast(null as varchar) as name, asked.in_groups as groups, false as steward, asked.in_scope as scope from asked
),
{{ attest.link_ctes(attest.evidence('assertions')) }},
bearing as (
  select asked.entity_id, asked.entity_id as by_entity from asked
  union
  select bearing.entity_id, links_across.by_entity
  from bearing join links_across on links_across.of_entity = bearing.by_entity
),
entities as (
  select distinct bearing.by_entity as entity_id from bearing
),
{{ attest.recorded_ctes('entities') }},
{{ attest.change_ctes() }}
{{ attest.changes_select() }}
order by changes.known_at, changes.from_date nulls first, changes.now.evidence_id
{% endmacro %}
