{#- From the CTE `found` to the rows of one kind of gap: with its severity, and without what attest.yml excepts today.

    found: environment, project_name, entity, evidence_id, node_id, expected, found, file, owner, since, repair; and, where a
    kind has rows of several severities, severity -#}
{% macro gap_select(kind, severity=none) %}
select
  found.environment,
  found.entity,
  found.evidence_id,
  '{{ kind }}' as kind,
  coalesce(
    rules.severity, {{ 'found.severity' if severity is none else "'" ~ severity ~ "'" }}) as severity,
  found.expected,
  found.found,
  found.file,
  found.owner,
  found.since,
  found.repair,
  found.node_id
from found
left join (
  select
    latest.environment,
    latest.project_name,
    any_value(rule.severity) as severity,
    list({name: rule.entity, files: rule.file_pattern}) filter (rule.until >= {{ attest.today() }}) as exceptions
  from ({{ attest.present_project_files() }}) as latest
  join {{ attest.evidence('gap_rules') }} as rule on rule.project_file_id = latest.project_file_id and rule.kind = '{{ kind }}'
  group by latest.environment, latest.project_name
) as rules on rules.environment = found.environment and rules.project_name = found.project_name
where rules.severity is distinct from 'ignore'
  and not coalesce(list_bool_or(list_transform(rules.exceptions, lambda exception:
    (exception.name is null or coalesce(exception.name in (found.entity, found.evidence_id), false))
    and (exception.files is null or coalesce(regexp_full_match(found.file, exception.files), false)))), false)
{% endmacro %}

{#- The columns of `found` that say which definition it is about, from a relation with the columns of `present`. -#}
{% macro gap_about(definition) -%}
  {{ definition }}.environment, {{ definition }}.project_name, {{ definition }}.entity_id as entity, {{ definition }}.evidence_id,
    {{ definition }}.node_id, {{ definition }}.file, {{ definition }}.owner
{%- endmacro %}

{#- Whether a definition is of a semantic model. -#}
{% macro is_semantic_model(definition) -%}
  coalesce(starts_with({{ definition }}.node_id, 'semantic_model.'), false)
{%- endmacro %}

{#- The CTE `present`: what is known now of each definition that is still stated, of the environment that is asked. -#}
{% macro present_cte() %}
present as (
  select assertion.*, {{ attest.owner_today('assertion.owners') }} as owner,
    assertion.authority = 'authoritative' and assertion.status not in ('draft', 'void') as governs
  from {{ attest.recorded_assertions() }} as assertion
  where assertion.environment = {{ attest.literal(attest.environment()) }}
    and assertion.known_until is null and assertion.removed_on is null
)
{% endmacro %}

{#- Today's owners of a definition as one text; null is none. -#}
{% macro owner_today(owners) -%}
  nullif(array_to_string(list_transform(list_filter({{ owners }}, lambda one:
    coalesce(one.effective_from <= {{ attest.today() }}, true) and coalesce(one.effective_to >= {{ attest.today() }}, true)),
    lambda one: one.name), ', '), '')
{%- endmacro %}

{#- The first instant of a UTC date. -#}
{% macro start_of_day(date) -%}
  timezone('UTC', cast({{ date }} as timestamp))
{%- endmacro %}

{#- The view of what was in force over time. -#}
{% macro timeline_relation() -%}
  {{ ref('attest', 'definition_timeline').include(database=false).render() }}
{%- endmacro %}

