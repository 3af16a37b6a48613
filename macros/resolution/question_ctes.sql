{#- The CTEs from the arguments of a question to `question`, `request` and `named`, the entities that the name may mean.
    Every argument is SQL text: a function passes its parameters, a macro passes literals.

    Everything is qualified: in a function, an unqualified column that bears a parameter's name would be the parameter. -#}
{% macro question_ctes(entity, from_date, to_date, known_at, groups, scope, environment) %}
asked as (
  select
    cast({{ entity }} as varchar) as name,
    {{ from_date }} is null as assumed_today,
    {{ attest.to_date(from_date) }} as from_day,
    {{ attest.to_date(to_date) }} as to_day,
    {{ attest.to_instant(known_at) }} as known_at,
    coalesce({{ attest.to_list(groups) }}, {{ attest.to_list("getvariable('attest_groups')") }}, []) as groups,
    {{ attest.to_map(scope) }} as scope,
    coalesce(cast({{ environment }} as varchar), cast(getvariable('attest_environment') as varchar),
      {{ attest.literal(attest.environment()) }}) as environment,
    cast({{ from_date }} as varchar) as from_text,
    cast({{ to_date }} as varchar) as to_text,
    cast({{ known_at }} as varchar) as known_text,
    cast({{ scope }} as varchar) as scope_text
),
question as (
  select
    asked.name,
    asked.assumed_today,
    coalesce(asked.from_day, {{ attest.today() }}) as from_day,
    coalesce(asked.to_day, {{ attest.today() }}) as to_day,
    coalesce(asked.known_at, timestamptz 'infinity') as known_at,
    list_append(asked.groups, 'everyone') as groups,
    coalesce(asked.scope, map {}) as scope,
    asked.environment
  from asked
  where case
    when asked.from_text is not null and asked.from_day is null
      then error('attest: expected a date such as 2025-06-30, found ' || asked.from_text)
    when asked.to_text is not null and asked.to_day is null
      then error('attest: expected a date such as 2025-06-30, found ' || asked.to_text)
    when asked.known_text is not null and asked.known_at is null
      then error('attest: expected known_at as an instant such as 2025-06-30T12:00:00Z, found ' || asked.known_text)
    when asked.scope_text is not null and asked.scope is null
      then error('attest: expected scope as a map, a struct or a JSON object, found ' || asked.scope_text)
    when asked.known_at > now() and isfinite(asked.known_at)
      then error('attest: known_at lies in the future: ' || asked.known_text)
    when asked.to_day < asked.from_day
      then error('attest: the period ends before it begins: ' || asked.from_text || ' to ' || asked.to_text)
    else true
  end
),
request as (
  select question.name, question.groups, false as steward, question.scope from question
),
named as (
  select question.name as entity_id from question
  union
  select names.entity_id
  from {{ attest.evidence('names') }} as names
  join question on question.environment = names.environment and question.name = names.name
)
{% endmacro %}

{#- The CTEs from `question` to `stretches`, for the entities of the CTE `named`. The filter on the entity reaches the
    evidence tables before any window or join. Each is asked at two states of knowledge: the one of the question, and
    the one when the period asked ended, for the warnings about a rewritten past. -#}
{% macro knowledge_ctes(named='named', policies=true) %}
asks as (
  select
    row_number() over () as ask_id,
    question.environment,
    named.entity_id,
    knowledge.known_at,
    knowledge.as_asked
  from question
  cross join {{ named }} as named
  cross join lateral (
    select question.known_at as known_at, true as as_asked
    union all
    select {{ attest.end_of_day('question.to_day') }}, false
    where {{ attest.end_of_day('question.to_day') }} < question.known_at
  ) as knowledge
),
{{ attest.related_ctes(attest.evidence('assertions')) }},
entities as (
  select related.entity_id from related
  union
  {{ attest.entities_of_nodes(named) }}
),
{{ attest.recorded_ctes('entities', policies) }},
{{ attest.stretch_ctes() }}
{% endmacro %}

{#- The CTEs from `asks` to `related`: for each ask, the entities whose definitions may end one of the asked entity's.
    assertions: a relation of assertions; few of them link to another entity. -#}
{% macro related_ctes(assertions) %}
{{ attest.link_ctes(assertions) }},
related as (
  select asks.ask_id, asks.entity_id from asks
  union
  select related.ask_id, links_across.by_entity
  from related join links_across on links_across.of_entity = related.entity_id
)
{% endmacro %}

{#- The CTEs to `links_across`: by_entity has a definition that supersedes, or was said to supersede, one of of_entity. -#}
{% macro link_ctes(assertions) %}
declared as (
  select assertion.entity_id, unnest(assertion.supersedes) as evidence_id, true as forward
  from {{ assertions }} as assertion where assertion.links_elsewhere
  union all
  select assertion.entity_id, unnest(assertion.superseded_by), false
  from {{ assertions }} as assertion where assertion.links_elsewhere
),
links_across as (
  select distinct link.by_entity, link.of_entity
  from (
    select if(declared.forward, declared.entity_id, target.entity_id) as by_entity,
      if(declared.forward, target.entity_id, declared.entity_id) as of_entity
    from declared
    join {{ assertions }} as target on target.evidence_id = declared.evidence_id
    union all
    -- an id that nobody states passes on what two say of it
    select later.entity_id, earlier.entity_id
    from declared as later
    join declared as earlier on earlier.evidence_id = later.evidence_id
    where later.forward and not earlier.forward
  ) as link
  where link.by_entity <> link.of_entity
)
{% endmacro %}

{#- The entities of the nodes that any definition of the entities of a CTE names: who may see these decides which are shown. -#}
{% macro entities_of_nodes(named) %}
  select assertion.entity_id
  from {{ attest.evidence('assertions') }} as assertion
  where assertion.node_id in (
    select unnest(list_concat(coalesce(naming.models, []), coalesce(naming.sources, [])))
    from {{ attest.evidence('assertions') }} as naming
    where naming.entity_id in (select {{ named }}.entity_id from {{ named }}))
{%- endmacro %}

{#- The CTE `nodes_seen`, one row: the nodes in `recorded` of which the requester may see some definition. -#}
{% macro nodes_seen_cte() %}
nodes_seen as (
  select coalesce(list(distinct recorded.node_id), []) as node_ids
  from recorded
  join question on question.environment = recorded.environment and list_has_any(recorded.groups, question.groups)
  where not {{ attest.is_of_column('recorded') }}
)
{% endmacro %}
