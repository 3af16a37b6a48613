{{ config(materialized='view') }}{{ attest.stay('view') }}
-- One row per thing that was known of a definition during one stretch of recorded time: its content, from when it was
-- known (known_from) until when (known_until, null is now), and who may see it today. For stewards: nothing is masked.
with
{{ attest.recorded_ctes() }}
select recorded.* from recorded
