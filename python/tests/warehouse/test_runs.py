"""What invocations leave: parts, the results of others, states of every kind, and freshness in every form."""

from __future__ import annotations

import pytest

JANUARY, FEBRUARY = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2))
MODEL, SOURCE = "model.shop.orders", "source.shop.raw.orders"
EXECUTIONS = (
    "select node_id, status, class, manifest_id is not null from executions order by generated_at, position"
)


def test_a_retry_writes_a_part_and_takes_nothing_back(shop):
    """dbt-core#8848: only the nodes that were tried again are in the file, and `retry` is no command that runs."""
    failed = {"unique_id": "model.shop.late", "status": "error", "message": "no room"}
    shop.manifest(JANUARY)
    shop.run_results(JANUARY, "one", {"unique_id": MODEL, "status": "success"}, failed)
    assert shop.record() == []
    again = failed | {"status": "success", "message": None, "adapter_response": {"rows_affected": 1}}
    shop.manifest(FEBRUARY, "two")
    shop.write("run_results", FEBRUARY, "two", results=[again], args={"which": "retry"})
    assert shop.record() == ["retry; judged row by row"]
    assert shop.rows(EXECUTIONS) == [
        (MODEL, "success", "executed", True),
        ("model.shop.late", "error", "executed", True),
        ("model.shop.late", "success", "executed", True),
    ]


def test_what_fail_fast_left_out_was_not_executed(shop, node):
    """dbt-core#7785: the children of a node that failed are not in the file, neither as skipped."""
    child = node("model.shop.child", depends_on={"nodes": [MODEL]})
    shop.manifest(nodes=shop.sections["nodes"] | {"model.shop.child": child})
    shop.run_results(JANUARY, "one", {"unique_id": MODEL, "status": "error", "message": "FailFast"})
    assert shop.record() == []
    assert shop.rows(EXECUTIONS) == [(MODEL, "error", "executed", True)]


def test_results_of_an_older_invocation_beside_a_new_manifest(shop):
    """dbt-fusion#1545: a parse that fails leaves the old file; and the other way round."""
    shop.manifest(FEBRUARY, "two")
    shop.run_results(JANUARY, "one", {"unique_id": MODEL, "status": "success"})
    assert shop.record() == ["one; recorded for itself"]
    assert shop.rows(EXECUTIONS) == [(MODEL, "success", "executed", False)]


def test_results_of_another_project_are_not_recorded(shop):
    shop.manifest()
    shop.run_results(JANUARY, "one", {"unique_id": "model.other.m", "status": "success"})
    assert shop.record() == ["one of other; not recorded"]
    assert shop.rows(EXECUTIONS) == []


@pytest.mark.parametrize(
    ("status", "outcome", "evidence"),
    [
        ("success", "success", "executed"),
        ("partial success", "partial success", "executed"),
        ("warn", "warn", "executed"),
        ("runtime error", "runtime error", "executed"),
        ("no-op", "no-op", "skipped"),
        ("Skipped", "skipped", "skipped"),
        ("reused", "reused", "reused"),
        ("Reused", "reused", "reused"),
        ("quantum superposed", "quantum superposed", "executed"),
        ("CREATE TABLE (7)", "create table (7)", "executed"),
        (7, "7", "executed"),
        (None, "unknown", "executed"),
    ],
)
def test_states_are_kept_as_they_are(shop, status, outcome, evidence):
    shop.manifest()
    shop.run_results(JANUARY, "one", {"unique_id": MODEL, "status": status})
    assert shop.record() == ([] if status is not None else ["none"])
    kept = None if status is None else str(status)
    assert shop.rows("select status, outcome, class from executions") == [(kept, outcome, evidence)]


def test_six_thousand_tests(shop, node):
    tests = [f"test.shop.not_null_orders_{n}.{n:x}" for n in range(6000)]
    shop.manifest(
        nodes=shop.sections["nodes"] | {one: node(one, depends_on={"nodes": [MODEL]}) for one in tests}
    )
    rows = [{"unique_id": one, "status": "fail" if n % 1000 == 0 else "pass", "failures": int(n % 1000 == 0)}
            for n, one in enumerate(tests)]  # fmt: skip
    shop.run_results(JANUARY, "one", *rows)
    assert shop.record() == []
    assert shop.rows(
        "select count(distinct node_id), count(*) filter (outcome = 'fail'), any_value(tested_node) "
        "from executions"
    ) == [(6000, 6, MODEL)]


@pytest.mark.parametrize(
    "args", [{"which": "compile"}, {"which": "generate"}, {"which": "build", "empty": True}]
)
def test_what_executed_nothing_is_no_evidence(shop, args):
    shop.manifest()
    shop.write("run_results", results=[{"unique_id": MODEL, "status": "success"}], args=args)
    assert shop.record() == []
    assert shop.rows("select count(*) from executions where class = 'executed'") == [(0,)]


def test_an_error_that_is_a_number_and_times_of_every_form_in_one_file(shop):
    """dbt-core#12812 and dbt-core#1300."""
    times = ["2025-01-10T09:00:00Z", "2025-01-10T09:00:00+00:00", "2025-01-10T09:00:00+00:00Z",
             "2025-01-10T09:00:00.000000001Z", "2025-01-10 09:00:00", "2025-01-10T18:00:00+09:00"]  # fmt: skip
    rows = [
        {"unique_id": f"source.shop.raw.t{n}", "status": "pass", "max_loaded_at": at, "snapshotted_at": at,
         "max_loaded_at_time_ago_in_s": 0} for n, at in enumerate(times)
    ]  # fmt: skip
    errors = [{"unique_id": f"source.shop.raw.e{n}", "status": "runtime error", "error": error}
              for n, error in enumerate((42, 1.5, None, "no such table", {"code": 7}))]  # fmt: skip
    shop.manifest(sources={})
    shop.write("sources", results=rows + errors)
    assert shop.record() == []
    assert shop.rows(
        "select count(*), count(distinct max_loaded_at), epoch(min(snapshotted_at)) "
        "from freshness_observations where outcome = 'pass'"
    ) == [(6, 1, 1736499600.0)]
    assert shop.rows(
        "select message from freshness_observations where outcome = 'unknown' order by position"
    ) == [("42",), ("1.5",), (None,), ("no such table",), ("{'code': 7}",)]


def test_without_a_freshness_file_nothing_is_observed(shop):
    """dbt-core#7026: that a source is to be observed is known, and that it was not."""
    shop.manifest()
    assert shop.record() == []
    assert shop.rows("select count(*) from freshness_observations") == [(0,)]


@pytest.mark.parametrize(
    ("catalog", "found"),
    [
        ("null", "JSON that is null; run `dbt docs generate` again; not recorded"),
        ('{"metadata": {"generated_at": "2025-01-10T09:00:00Z"}, "nodes": null, "errors": null}', None),
    ],
    ids=["the file", "its parts"],
)  # fmt: skip
def test_a_catalog_that_is_null_makes_no_phantoms(shop, catalog, found):
    shop.manifest()
    (shop.target / "catalog.json").write_text(catalog)
    assert shop.record() == ([] if found is None else [found])
    assert shop.rows("select distinct source, phantom from columns") == [("yaml", None)]
