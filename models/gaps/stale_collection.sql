{{ config(materialized='view', enabled=target.type == 'duckdb' and var('attest_gaps', false)) }}{{ attest.stay('view') }}
-- One row per project whose newest collection is older than `collection.max_age` of its attest.yml.
with
latest as (
  select collection.environment, collection.project_name,
    max({generated_at: collection.generated_at, manifest_id: collection.manifest_id, max_age: collection.max_age}) as last
  from {{ attest.evidence('collections') }} as collection
  where collection.environment = {{ attest.literal(attest.environment()) }}
  group by collection.environment, collection.project_name
),
found as (
  select
    latest.environment,
    latest.project_name,
    cast(null as varchar) as entity,
    cast(null as varchar) as evidence_id,
    cast(null as varchar) as node_id,
    'a collection of ' || latest.project_name || ' of the last ' || latest.last.max_age as expected,
    'the newest manifest is of ' || strftime(timezone('UTC', latest.last.generated_at), '%Y-%m-%d %H:%M UTC') as found,
    'target/manifest.json' as file,
    cast(null as varchar) as owner,
    latest.last.generated_at + latest.last.max_age as since,
    'Run dbt and `attest build`, and find out why the schedule did not.' as repair
  from latest
  where latest.last.generated_at + latest.last.max_age < now()
)
{{ attest.gap_select('stale_collection', 'warning') }}
