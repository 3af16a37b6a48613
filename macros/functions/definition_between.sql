{% macro definition_between_function() %}
-- Exactly one row: the definitions of `entity` in force from `from_date` to `to_date`, both inclusive, as `segments`
-- (from, to, outcome, reason, evidence_id); `outcome` is `split` where they differ and any is an answer.
{{ attest.definition_between_sql('entity', 'from_date', 'to_date', 'known_at', 'groups', 'scope', 'environment') }}
{% endmacro %}
