{#- A generic test on a model of gaps: there is none, notices aside. It warns; `data_tests: {attest: {+severity: error}}` in a root
    project's dbt_project.yml makes it a gate. -#}
{% test no_gaps(model) %}
select * from {{ model }} where severity <> 'notice'
{% endtest %}
