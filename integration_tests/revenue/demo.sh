#!/bin/sh
# The main job on the demonstration project: build, record, ask. `dbt` and `attest` are taken from the PATH.
set -eu
cd "$(dirname "$0")"
export DBT_SEND_ANONYMOUS_USAGE_STATS=false ATTEST_GROUPS=analytics_readers
unset DBT_PROFILES_DIR DBT_PROJECT_DIR DBT_TARGET ATTEST_DEMO_DUCKDB 2>/dev/null || true

step() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}
ask() {
    printf '\n\033[1m%s\033[0m\n' "$1"
    shift
    step attest "$@"
}

rm -f revenue.duckdb revenue.duckdb.wal
step dbt --quiet deps
step dbt --quiet build
step attest build

ask "Q1  Which definition of Revenue applies to the reporting date 30 June 2025?" \
    resolve revenue --on 2025-06-30
ask "Q2  And on 15 July 2025, from which model and which sources?" \
    resolve revenue --on 2025-07-15 --support
ask "Q4  And for the whole year 2025?" \
    resolve revenue --during 2025
ask "Q5  What does the board plan for 2026 say?" \
    resolve finance.board.revenue_plan --on 2026-10-10
ask "Q7  What is the approved definition of Gross Margin?" \
    resolve metric.gross_margin --on 2026-10-10

printf '\n\033[1mThe report, each order valued by the definition in force on its own day\033[0m\n'
step dbt --quiet show --select revenue_by_definition --limit 10

cat <<'END'

Next, in integration_tests/revenue (see its README.md):
  attest timeline revenue                                       what was in force over time
  attest resolve revenue --on 2025-07-15 --known-at 2025-01-01  what was known then
  attest resolve finance.board.revenue_plan --groups finance_confidential
  dbt show --select q4                                          the same questions as SQL
Then change a definition in models/marts/_metrics.yml and run: dbt build && attest build && attest timeline revenue
END
