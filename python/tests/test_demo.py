"""The demonstration project from nothing to answers, through SQL, Python and the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import duckdb
import pytest

from dbt_attest import Requester, open

REVENUE = Path(__file__).resolve().parents[2] / "integration_tests" / "revenue"
BIN = Path(sys.executable).parent
READER = Requester(groups=["analytics_readers"])


def run(folder: Path, *words: str) -> str:
    """Run a command that stands beside this Python, free of the caller's dbt settings."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "ATTEST_"))}
    ran = subprocess.run(
        [str(BIN / words[0]), *words[1:]],
        cwd=folder,
        env=environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "ATTEST_GROUPS": "analytics_readers"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, built and collected, with its analyses compiled."""
    folder = tmp_path_factory.mktemp("demo") / "revenue"
    shutil.copytree(
        REVENUE, folder, ignore=shutil.ignore_patterns("dbt_packages", "target", "logs", "*.duckdb*")
    )
    packages = folder / "packages.yml"
    packages.write_text(packages.read_text().replace("../../", str(REVENUE.parents[1])))
    run(folder, "dbt", "--quiet", "deps")
    run(folder, "dbt", "--quiet", "build")
    run(folder, "attest", "build")
    run(folder, "dbt", "--quiet", "compile")
    return folder


def sql(demo: Path, question: str) -> list[dict]:
    """The rows of one of the project's own analyses, as dbt compiled it."""
    text = (demo / "target" / "compiled" / "analytics" / "analyses" / f"{question}.sql").read_text()
    connection = duckdb.connect(str(demo / "revenue.duckdb"), read_only=True)
    try:
        found = connection.execute(text)
        return [
            dict(zip([one[0] for one in found.description], row, strict=True)) for row in found.fetchall()
        ]
    finally:
        connection.close()


def ask(demo: Path, entity: str, **question) -> dict:
    """The answer through Python, after checking that the command gives the very same."""
    found = open(demo / "revenue.duckdb").resolve(entity, requester=READER, **question).as_json()
    words = []
    for name, value in question.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    printed = json.loads(run(demo, "attest", "resolve", entity, *words, "--format", "json"))
    assert printed == json.loads(json.dumps(found))
    return found


def sources_of(found: dict) -> list[str]:
    return sorted(one["evidence_id"] for one in found["support"] if one["evidence_id"])


def test_q1_the_definition_for_a_reporting_date(demo):
    (row,) = sql(demo, "q1")
    assert (row["outcome"], row["evidence_id"]) == ("answer", "METRIC.REVENUE.v1")
    found = ask(demo, "metric.revenue", on="2025-06-30")
    assert (found["outcome"], found["evidence_id"]) == ("answer", "METRIC.REVENUE.v1")
    assert "Refunds and chargebacks are not deducted" in found["definition"]


def test_q2_the_definition_and_its_model(demo):
    (row,) = sql(demo, "q2")
    assert (row["evidence_id"], row["model_evidence_id"]) == ("METRIC.REVENUE.v2", "MODEL.FCT_REVENUE.v2")
    found = ask(demo, "metric.revenue", on="2025-07-15", support=True)
    assert found["evidence_id"] == "METRIC.REVENUE.v2"
    assert [one["evidence_id"] for one in found["support"] if one["kind"] == "model"] == [
        "MODEL.FCT_REVENUE.v2"
    ]


def test_q3_the_current_definition(demo):
    (row,) = sql(demo, "q3")
    assert row["evidence_id"] == "METRIC.REVENUE.v2"
    assert ask(demo, "revenue", on="2026-10-10")["evidence_id"] == "METRIC.REVENUE.v2"


def test_q4_a_year_is_split(demo):
    expected = [
        ("2025-01-01", "2025-06-30", "METRIC.REVENUE.v1"),
        ("2025-07-01", "2025-12-31", "METRIC.REVENUE.v2"),
    ]
    rows = sql(demo, "q4")
    assert {row["outcome"] for row in rows} == {"split"}
    assert [
        (str(row["segment_from"]), str(row["segment_to"]), row["evidence_id"]) for row in rows
    ] == expected
    found = ask(demo, "metric.revenue", during="2025")
    assert found["outcome"] == "split"
    assert [(one["from"], one["to"], one["evidence_id"]) for one in found["segments"]] == expected


def test_q5_the_board_plan_is_denied_and_nothing_of_it_leaks(demo):
    (row,) = sql(demo, "q5")
    assert (row["outcome"], row["evidence_id"]) == ("deny", None)
    found = ask(demo, "finance.board.revenue_plan", on="2026-10-10")
    assert (found["outcome"], found["evidence_id"]) == ("deny", None)
    printed = json.dumps(found)
    assert "FINANCE.BOARD.PLAN" not in printed
    assert "Finance Data" not in printed


def test_q6_the_sources_and_the_model_behind_it(demo):
    expected = ["LINEAGE.REVENUE.v2", "MODEL.FCT_REVENUE.v2", "SOURCE.ORDERS"]
    assert sorted(row["evidence_id"] for row in sql(demo, "q6") if row["evidence_id"]) == expected
    found = ask(demo, "metric.revenue", on="2025-07-15", support=True)
    assert sources_of(found) == expected
    assert [one["node_id"] for one in found["support"] if one["kind"] == "source"] == [
        "source.analytics.raw.chargebacks",
        "source.analytics.raw.orders",
        "source.analytics.raw.refunds",
    ]


def test_q7_no_approved_definition_exists(demo):
    (row,) = sql(demo, "q7")
    assert (row["outcome"], row["evidence_id"]) == ("abstain", None)
    found = ask(demo, "metric.gross_margin", on="2026-10-10")
    assert (found["outcome"], found["evidence_id"]) == ("abstain", None)
    assert [one["evidence_id"] for one in found["conflicts"]] == ["DRAFT.GROSS_MARGIN"]


def test_q8_the_draft_is_a_conflict_and_not_the_answer(demo):
    (row,) = sql(demo, "q8")
    assert row["evidence_id"] == "METRIC.REVENUE.v2"
    assert [one["evidence_id"] for one in row["conflicts"]] == ["DRAFT.REVENUE.v3"]
    found = ask(demo, "metric.revenue", on="2026-10-10")
    assert found["conflicts"] == [
        {"evidence_id": "DRAFT.REVENUE.v3", "status": "draft", "authority": "non_authoritative"}
    ]


def test_the_report_values_june_by_v1_and_july_by_v2(demo):
    connection = duckdb.connect(str(demo / "revenue.duckdb"), read_only=True)
    try:
        rows = connection.execute(
            "select order_month, revenue_evidence_id, sum(orders) from main.revenue_by_definition "
            "group by all order by order_month"
        ).fetchall()
        orders = connection.execute(
            "select count(*) from main.stg_orders where order_completed_at is not null"
        ).fetchall()[0][0]
    finally:
        connection.close()
    by_month = {month: evidence for month, evidence, _ in rows if month}
    assert by_month[date(2025, 6, 1)] == "METRIC.REVENUE.v1"
    assert by_month[date(2025, 7, 1)] == "METRIC.REVENUE.v2"
    assert sum(count for month, _, count in rows if month) == orders


def test_the_notes_orders_are_data(demo):
    found = ask(demo, "note.revenue", on="2026-10-10")
    assert (found["outcome"], found["reason"]) == ("abstain", "no_authority")


def test_the_paragraph_can_be_pasted_into_a_mail(demo):
    text = run(demo, "attest", "resolve", "revenue", "--on", "2025-06-30")
    assert text.startswith("Revenue (metric.revenue) on 30 June 2025: METRIC.REVENUE.v1, version 1, in force")
    for part in (
        "Approved by Finance Data Council on 12 December 2023",
        "fct_revenue.v1",
        "METRIC.REVENUE.v2",
    ):
        assert part in " ".join(text.split())


def test_nothing_is_to_be_repaired(demo):
    found = json.loads(run(demo, "attest", "check", "--format", "json"))
    # the board's plan is for 2026
    kept = [
        gap
        for gap in found["gaps"]
        if (gap["kind"], gap["entity"]) != ("version_expired", "finance.board.revenue_plan")
    ]
    assert (found["checked"].endswith("revenue.duckdb"), kept) == (True, [])
