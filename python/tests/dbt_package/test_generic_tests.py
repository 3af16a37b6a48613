"""The generic tests, called from a user's project as any other: what fails, how loudly, and what a failing row says."""

from __future__ import annotations

import json
import shutil
from datetime import date
from typing import Any

import duckdb
import pytest

from .conftest import Project, put

CHECKS = """
version: 2
models:
  - name: checked
    data_tests:
      - attest.definition_unchanged_since:
          name: period_changed
          arguments:
            entity: metric.b
            known_at: 2024-06-09T12:00:00Z
            from_date: 2024-06-29
            to_date: 2024-07-04
            groups: [readers]
          config: {store_failures: true}
      - attest.definition_unchanged_since:
          name: period_backwards
          arguments: {entity: metric.b, known_at: 2024-06-09, from_date: 2024-07-04, to_date: 2024-07-03}
      - attest.covered_by_definition:
          name: covered_on_the_model
          arguments: {column_name: ordered_on, entity: metric.b, groups: readers}
          config: {where: "ordered_on >= date '2024-01-01'"}
    columns:
      - name: ordered_on
        data_tests:
          - attest.covered_by_definition:
              name: uncovered
              arguments: {entity: metric.b, groups: [readers]}
              config: {store_failures: true}
          - attest.covered_by_definition:
              name: covered_from_2024
              arguments: {entity: metric.b, groups: [readers]}
              config: {where: "ordered_on >= date '2024-01-01'"}
          - attest.covered_by_definition:
              name: of_several_entities
              arguments: {entity_column: metric, groups: [readers]}
              config: {store_failures: true}
          - attest.covered_by_definition:
              name: of_the_public
              arguments: {entity: metric.b}
              config: {store_failures: true, severity: warn}
          - attest.covered_by_definition:
              name: before_it_was_recorded
              arguments: {entity: metric.b, groups: [readers], known_at: 2023-12-01}
              config: {store_failures: true}
          - attest.covered_by_definition:
              name: without_its_scope
              arguments: {entity: metric.regional, groups: [readers]}
              config: {where: "ordered_on >= date '2024-01-01'", store_failures: true}
          - attest.covered_by_definition:
              name: in_its_scope
              arguments: {entity: metric.regional, groups: [readers], scope: {region: EU}}
              config: {where: "ordered_on >= date '2024-01-01'"}
          - attest.definition_unchanged_since:
              name: changed
              arguments: {entity: metric.b, known_at: 2024-06-09, groups: [readers]}
              config: {store_failures: true}
          - attest.definition_unchanged_since:
              name: changed_and_strict
              arguments: {entity: metric.b, known_at: "2024-06-09", groups: [readers]}
              config: {severity: error}
          - attest.definition_unchanged_since:
              name: unchanged
              arguments: {entity: metric.b, known_at: 2024-06-10, groups: [readers]}
          - attest.definition_unchanged_since:
              name: pinned_to_the_future
              arguments: {entity: metric.b, known_at: 2999-01-01, groups: [readers]}
"""


def check(project: Project, checks: str, *more: str, succeeds: bool) -> dict[str, str]:
    """Build a view of the orders with these tests on it; the status of each test."""
    project.write("models/checked.sql", "select * from {{ ref('orders') }}")
    project.write("models/checks.yml", checks)
    project.dbt("build", "--select", "checked", *more, succeeds=succeeds)
    return statuses(project)


@pytest.fixture(scope="module")
def tested(collected: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The shop with every check above, tested once."""
    project = Project(tmp_path_factory.mktemp("tested") / "shop")
    shutil.copytree(collected.folder, project.folder, symlinks=True)
    check(project, CHECKS, succeeds=False)
    return project


def failing(project: Project, test: str, columns: str) -> list[tuple[Any, ...]]:
    return project.sql(f"select {columns} from main_dbt_test__audit.{test} order by all")


def statuses(project: Project) -> dict[str, str]:
    return {node.split(".")[2]: status for node, status in project.results().items() if node[:5] == "test."}


def test_what_passes_what_fails_and_what_only_warns(tested: Project) -> None:
    expected = {
        "covered_on_the_model": "pass",
        "uncovered": "fail",
        "covered_from_2024": "pass",
        "of_several_entities": "fail",
        "of_the_public": "warn",
        "before_it_was_recorded": "fail",
        "without_its_scope": "fail",
        "in_its_scope": "pass",
        "changed": "warn",
        "changed_and_strict": "fail",
        "unchanged": "pass",
        "period_changed": "warn",
        "period_backwards": "error",
        "pinned_to_the_future": "error",
    }
    assert statuses(tested) == expected


def test_what_cannot_be_asked_is_told_in_a_sentence(tested: Project) -> None:
    ran = json.loads((tested.folder / "target" / "run_results.json").read_text(encoding="utf-8"))["results"]
    told = {one["unique_id"].split(".")[2]: " ".join((one["message"] or "").split()) for one in ran}
    assert "attest: known_at lies in the future: 2999-01-01" in told["pinned_to_the_future"]
    assert "attest: the period ends before it begins: 2024-07-04 to 2024-07-03" in told["period_backwards"]


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        (
            "covered_by_definition: {arguments: {groups: readers}}",
            "attest.join_definition expects either entity or entity_column.",
        ),
        (
            "definition_unchanged_since: {arguments: {entity: metric.b, known_at: null}}",
            "attest.definition_unchanged_since expects known_at, the instant the report is pinned to.",
        ),
        (
            "definition_unchanged_since: {arguments: {entity: metric.b, known_at: 2024-06-09, from_date: 2024-01-01}}",
            "attest.definition_unchanged_since expects either a date column or both from_date and to_date.",
        ),
    ],
)
def test_wrong_arguments_are_told_when_dbt_parses(fresh: Project, test: str, sentence: str) -> None:
    fresh.write("models/checked.sql", "select * from {{ ref('orders') }}")
    columns = f"[{{name: ordered_on, data_tests: [{{attest.{test}}}]}}]"
    fresh.write("models/checks.yml", f"version: 2\nmodels:\n  - {{name: checked, columns: {columns}}}\n")
    run = fresh.dbt("parse", succeeds=False)
    assert sentence in " ".join(run.output.split())


def test_a_failing_row_is_a_date_with_the_outcome_the_reason_and_its_facts(tested: Project) -> None:
    columns = "entity, on_date, outcome, reason, facts"
    early, end, start = date(2020, 1, 1), date(2024, 6, 30), date(2024, 7, 1)
    assert failing(tested, "uncovered", columns) == [("metric.b", early, "abstain", "before_first", 1)]
    assert failing(tested, "of_several_entities", columns) == [
        ("metric.b", early, "abstain", "before_first", 1),
        ("metric.nowhere", start, "abstain", "unknown_entity", 1),
        ("metric.plan", start, "deny", "not_permitted", 1),
        (None, start, "abstain", "unknown_entity", 1),
    ]
    # every fact with a date, the two equal ones as one date
    assert failing(tested, "of_the_public", "on_date, outcome, facts") == [
        (early, "deny", 1),
        (end, "deny", 2),
        (start, "deny", 5),
    ]
    assert failing(tested, "before_it_was_recorded", "distinct reason") == [("not_recorded_yet",)]
    assert failing(tested, "without_its_scope", "distinct outcome, reason") == [("clarify", "scope_needed")]


def test_a_rewritten_day_shows_the_answers_then_and_now(tested: Project) -> None:
    columns = "from_date, to_date, facts, then_outcome, then_evidence_id, now_outcome, now_evidence_id"
    start = date(2024, 7, 1)
    assert failing(tested, "changed", columns) == [(start, start, 5, "answer", "B.v1", "answer", "B.v2")]
    ((then, now),) = failing(tested, "changed", "then_content_hash, now_content_hash")
    recorded = dict(
        tested.sql(
            "select evidence_id, content_hash from main_attest.assertions where entity_id = 'metric.b'"
        )
    )
    assert (then, now) == (recorded["B.v1"], recorded["B.v2"])


def test_a_rewritten_period_is_shown_as_intervals(tested: Project) -> None:
    columns = "from_date, to_date, facts, then_evidence_id, now_evidence_id"
    assert failing(tested, "period_changed", columns) == [
        (date(2024, 7, 1), date(2024, 7, 4), None, "B.v1", "B.v2")
    ]


def test_a_corrected_text_is_a_rewritten_past(project: Project) -> None:
    """The same definition governs, and says something else; then another one that was recorded late."""
    pinned = """
version: 2
models:
  - name: checked
    data_tests:
      - attest.definition_unchanged_since:
          name: pinned
          arguments:
            {entity: metric.b, known_at: 2024-12-31, from_date: 2024-06-01, to_date: 2024-08-31, groups: readers}
          config: {store_failures: true}
"""
    assert check(project, pinned, succeeds=True) == {"pinned": "pass"}
    with duckdb.connect(project.folder / project.database) as connection:
        put(connection, "2025-02-01T00:00:00Z", "B.v1", effective_from="2024-01-01", definition="Corrected")
        put(connection, "2025-02-01T00:00:00Z", "B.v3", effective_from="2024-08-01", supersedes=["B.v2"])
    assert check(project, pinned, succeeds=True) == {"pinned": "warn"}
    columns = (
        "from_date, to_date, then_evidence_id, now_evidence_id, then_content_hash = now_content_hash as same"
    )
    assert failing(project, "pinned", columns) == [
        (date(2024, 6, 1), date(2024, 6, 30), "B.v1", "B.v1", False),
        (date(2024, 8, 1), date(2024, 8, 31), "B.v2", "B.v3", False),
    ]


def test_without_the_arguments_nesting_and_with_empty_input(project: Project) -> None:
    """The form of dbt before 1.10; on no facts no date is uncovered, while a period needs no facts."""
    checks = """
version: 2
models:
  - name: checked
    data_tests:
      - attest.definition_unchanged_since:
          {entity: metric.b, known_at: 2024-06-09, from_date: 2024-06-29, to_date: 2024-07-04, groups: [readers]}
    columns:
      - name: ordered_on
        data_tests:
          - attest.covered_by_definition: {entity: metric.b, groups: [readers]}
          - attest.definition_unchanged_since: {entity: metric.b, known_at: 2024-06-09, groups: [readers]}
"""
    assert sorted(check(project, checks, succeeds=False).values()) == ["fail", "warn", "warn"]
    assert sorted(check(project, checks, "--empty", succeeds=True).values()) == ["pass", "pass", "warn"]


@pytest.mark.parametrize(
    "test",
    [
        "covered_by_definition: {arguments: {entity: metric.b}}",
        "definition_unchanged_since: {arguments: {entity: metric.b, known_at: 2024-06-09}}",
    ],
)
def test_another_adapter_refuses_only_where_they_are_used(fresh: Project, test: str) -> None:
    pytest.importorskip("dbt.adapters.postgres")
    for model in (fresh.folder / "models").glob("*"):
        if model.stem != "orders":
            model.unlink()
    fresh.write(
        "models/checks.yml",
        "version: 2\nmodels:\n  - name: orders\n    columns:\n      - name: ordered_on\n"
        f"        data_tests:\n          - not_null\n          - attest.{test}\n",
    )
    fresh.write(
        "profiles.yml",
        "shop: {target: dev, outputs: {dev: {type: postgres, host: nowhere.invalid, user: u, "
        "password: p, port: 5432, dbname: d, schema: main, threads: 1}}}\n",
    )
    offline = ("--no-populate-cache", "--no-introspect")
    fresh.dbt(
        "compile", *offline, "--select", "orders", "test_name:not_null", "--indirect-selection", "empty"
    )
    name = test.partition(":")[0]
    run = fresh.dbt("compile", *offline, "--select", f"test_name:{name}", succeeds=False)
    assert f"attest.{name} runs on DuckDB, and this target is postgres" in " ".join(run.output.split())
