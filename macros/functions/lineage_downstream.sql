{% macro lineage_downstream_function() %}
-- One row per edge of the graph of the descendants of `node`, in no order. At an end that the requester may not see the walk stops:
-- one row with outcome `deny` that names the other end alone. Where there is no edge, or the name means no node or several,
-- exactly one row says so.
with recursive
{{ attest.lineage_ctes('node', 'known_at', 'groups', 'environment') }},
{{ attest.walk_ctes(near='from_node', far='to_node') }}
{% endmacro %}
