{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per authoritative definition that nobody may see.
with
{{ attest.present_cte() }},
found as (
  select
    {{ attest.gap_about('present') }},
    'groups that may see it' as expected,
    'nobody' as found,
    present.known_from as since,
    'Name groups in `permissions` of its annotation, or in a rule of attest.yml for its folder.' as repair
  from present
  where present.governs and len(present.groups) = 0
)
{{ attest.gap_select('permission_missing', 'warning') }}
