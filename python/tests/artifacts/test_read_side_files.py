"""Reading what stands beside a manifest: real files of every version, and every kind of broken one."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.artifacts import (
    read_catalog,
    read_freshness,
    read_run_results,
    read_semantic_manifest,
)
from dbt_attest.artifacts.states import outcome
from dbt_attest.errors import InputError

REAL = Path(__file__).parents[4] / "shared" / "artifacts"
READERS: dict[str, Callable[[Path], Any]] = {
    "run_results": read_run_results,
    "catalog": read_catalog,
    "sources": read_freshness,
    "freshness": read_freshness,
    "semantic_manifest": read_semantic_manifest,
}


def kind_of(path: Path) -> str:
    return next((kind for kind in READERS if path.name.startswith(kind)), "manifest")


FILES = sorted(REAL.rglob("*.json"))


def named(kind: str) -> list[Any]:
    return [
        pytest.param(path, id=path.relative_to(REAL).as_posix()) for path in FILES if kind_of(path) == kind
    ] or [pytest.param(None, marks=pytest.mark.skip(reason="../shared/artifacts is not here"))]


@pytest.mark.parametrize("path", named("run_results"))
def test_real_run_results_have_every_row(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    results = read_run_results(path)
    assert len(results.executions) == len(raw["results"])
    assert Counter(execution.status for execution in results.executions) == Counter(
        row["status"] for row in raw["results"]
    )
    assert sum(execution.failures or 0 for execution in results.executions) == sum(
        row["failures"] for row in raw["results"] if isinstance(row.get("failures"), int)
    )
    assert [execution.node_id for execution in results.executions] == [
        row.get("unique_id") or None for row in raw["results"]
    ]
    classes = {execution.evidence for execution in results.executions}
    if raw["args"]["which"] == "generate":
        assert classes == {"compile_only"}
    else:
        skipped = sum(row["status"] == "skipped" for row in raw["results"])
        assert Counter(execution.evidence for execution in results.executions)["skipped"] == skipped
        assert classes <= {"executed", "skipped"}
    timed = sum(any(step.get("started_at") for step in row["timing"]) for row in raw["results"])
    assert sum(execution.started_at is not None for execution in results.executions) == timed
    assert results.invocation_id == raw["metadata"].get("invocation_id")
    # a hand-edited file says "Test failure" where dbt writes a number
    strange = [n for n, row in enumerate(raw["results"]) if isinstance(row.get("failures"), str)]
    assert [finding.json_path for finding in results.findings] == [f"results[{n}].failures" for n in strange]


@pytest.mark.parametrize("path", [*named("sources"), *named("freshness")])
def test_real_freshness_has_every_row(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    freshness = read_freshness(path)
    assert [(one.node_id, one.status) for one in freshness.observations] == [
        (row["unique_id"], row["status"]) for row in raw["results"]
    ]
    assert [one.outcome for one in freshness.observations] == [
        row["status"].lower() for row in raw["results"]
    ]
    assert all(one.max_loaded_at is not None for one in freshness.observations)
    assert freshness.findings == []


@pytest.mark.parametrize("path", named("catalog"))
def test_real_catalog_has_every_column(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    every = {**raw["nodes"], **raw["sources"]}
    catalog = read_catalog(path)
    assert catalog.relations.keys() == every.keys()
    assert {key: len(relation.columns or {}) for key, relation in catalog.relations.items()} == {
        key: len(relation["columns"]) for key, relation in every.items()
    }
    assert catalog.findings == []


@pytest.mark.parametrize("path", named("semantic_manifest"))
def test_real_semantic_manifest_has_every_name(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    read = read_semantic_manifest(path)
    assert read.metrics == [metric["name"] for metric in raw["metrics"]]
    assert len(read.semantic_models) == len(raw["semantic_models"])
    assert len(read.saved_queries) == len(raw["saved_queries"])
    assert read.generated_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("asked", READERS)
@pytest.mark.parametrize("path", [path for kind in (*READERS, "manifest") for path in named(kind)[:1]])
def test_a_file_of_another_kind_is_refused_by_its_name(path: Path, asked: str) -> None:
    found = kind_of(path)
    if READERS[asked] is READERS.get(found):
        return
    with pytest.raises(InputError) as error:
        READERS[asked](path)
    assert f"found a dbt {found}.json" in str(error.value)
    assert str(error.value).startswith(f"{path}: expected a dbt ")


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "an empty file"),
    "truncated": (b'{"metadata": {"generated_at": "2026', "cut off in the middle"),
    "gzip": (gzip.compress(b"{}"), "a gzip file"),
    "list": (b"[]", "JSON that is a list"),
    "another tool": (b'{"openapi": "3.0"}', "JSON of another tool"),
    "text": (b"hello", "text that is not JSON"),
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(("content", "expected"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_refused_in_one_sentence(
    tmp_path: Path, kind: str, content: bytes, expected: str
) -> None:
    path = tmp_path / f"{kind}.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        READERS[kind](path)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="found a directory"):
        READERS[kind](path)


@pytest.mark.parametrize("kind", ["run_results", "catalog", "sources", "freshness"])
def test_unknown_newer_schema_is_read_and_said(tmp_path: Path, kind: str) -> None:
    url = f"https://schemas.getdbt.com/dbt/{kind.replace('_', '-')}/v31.json"
    metadata = {"generated_at": "2026-01-01T00:00:00Z", "dbt_schema_version": url}
    row = {"unique_id": "model.p.m", "status": "pass", "max_loaded_at": "2026-01-01", "brand_new": [1]}
    sections = {"nodes": {"model.p.m": {"columns": {}, "brand_new": [1]}}, "sources": {}, "errors": None}
    if kind != "catalog":
        sections = {"results": [row], "args": {"which": "test"}}
    path = tmp_path / f"{kind}.json"
    path.write_text(json.dumps({"metadata": metadata, **sections}))
    read = READERS[kind](path)
    rows = {"run_results": "executions", "catalog": "relations"}.get(kind, "observations")
    assert len(getattr(read, rows)) == 1
    assert [finding.found for finding in read.findings] == ["v31; what is known was read"]


def results_of(folder: Path, *rows: dict[str, Any], **args: Any) -> Any:
    metadata = {"generated_at": "2026-01-01T00:00:00Z", "dbt_schema_version": "/dbt/run-results/v6.json"}
    path = folder / "run_results.json"
    path.write_text(json.dumps({"metadata": metadata, "results": list(rows), "args": args}))
    return read_run_results(path)


@pytest.mark.parametrize(
    ("status", "args", "expected"),
    [
        ("success", {"which": "run"}, "executed"),
        ("success", {"which": "build", "empty": False}, "executed"),
        ("success", {"which": "build", "empty": True}, "empty"),
        ("success", {"which": "compile"}, "compile_only"),
        ("success", {"which": "generate"}, "compile_only"),
        ("success", {"rpc_method": "docs.generate"}, "compile_only"),
        ("success", {"command": "run"}, "executed"),
        ("success", {"which": "run-operation"}, "executed"),
        ("skipped", {"which": "run"}, "skipped"),
        ("no-op", {"which": "build"}, "skipped"),
        ("NoOp", {"which": "build"}, "skipped"),
        ("reused", {"which": "build"}, "reused"),
        ("success", {"which": "clone"}, "reused"),
        ("partial success", {"which": "run"}, "executed"),
        ("runtime error", {"which": "test"}, "executed"),
        ("error", {"which": "run"}, "executed"),
        ("fail", {"which": "test"}, "executed"),
        ("sparkling", {"which": "run"}, "executed"),
        ("pass", {}, "executed"),
        ("success", {}, "compile_only"),
        ("success", {"which": "retry"}, "compile_only"),
    ],
)
def test_class_of_evidence(tmp_path: Path, status: str, args: dict[str, Any], expected: str) -> None:
    results = results_of(tmp_path, {"unique_id": "model.p.m", "status": status}, **args)
    assert [execution.evidence for execution in results.executions] == [expected]
    assert results.executions[0].status == status
    said = {finding.json_path for finding in results.findings}
    assert said == (set() if args and args != {"which": "retry"} else {"args.which"})


def test_without_a_command_only_the_answer_of_a_warehouse_shows_that_it_was_asked(tmp_path: Path) -> None:
    row = {"unique_id": "model.p.m", "status": "success", "adapter_response": {"_message": "OK"}}
    assert results_of(tmp_path, row).executions[0].evidence == "executed"


def test_strange_rows_survive_with_their_place(tmp_path: Path) -> None:
    results = results_of(
        tmp_path,
        {"status": "success"},
        {"unique_id": "operation.p.p-on-run-end-0", "status": "success", "timing": None},
        {"unique_id": "unit_test.p.m.t", "status": "fail", "failures": 1},
        {"unique_id": "saved_query.p.q", "status": "no-op"},
        {"unique_id": "model.p.m", "status": "success", "execution_time": "long", "brand_new": [1]},
        "no object",
        {
            "unique_id": "model.p.micro",
            "status": "partial success",
            "batch_results": {"successful": [["a", "b"], ["c", "d"]], "failed": [["e", "f"]]},
            "timing": [
                {"name": "compile", "started_at": "2026-01-01T00:00:00.123456789Z", "completed_at": None},
                {"name": "execute", "started_at": "soon", "completed_at": "2026-01-01T00:00:02+00:00Z"},
            ],
        },
        which="build",
    )
    kinds = [execution.resource_type for execution in results.executions]
    assert kinds == [None, "operation", "unit_test", "saved_query", "model", "model"]
    micro = results.executions[-1]
    assert (micro.position, micro.batches_successful, micro.batches_failed) == (6, 2, 1)
    assert micro.started_at == datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=timezone.utc)
    assert micro.completed_at == datetime(2026, 1, 1, 0, 0, 2, tzinfo=timezone.utc)
    assert {finding.json_path for finding in results.findings} == {
        "results[4].execution_time",
        "results[5]",
        "results[6].timing[1].started_at",
    }


def freshness_of(folder: Path, *rows: dict[str, Any], name: str = "sources") -> Any:
    metadata = {"generated_at": "2026-01-01T00:00:00Z", "dbt_schema_version": f"/dbt/{name}/v3.json"}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"metadata": metadata, "results": list(rows)}))
    return read_freshness(path)


def test_what_could_not_be_observed_is_never_fresh(tmp_path: Path) -> None:
    row = {"max_loaded_at": "2026-01-01T00:00:00Z", "snapshotted_at": "2026-01-01 01:00:00"}
    freshness = freshness_of(
        tmp_path,
        {"unique_id": "source.p.r.a", "status": "runtime error", "error": 42},
        {"unique_id": "source.p.r.b", "status": "pass"},
        {"unique_id": "source.p.r.c", "status": "Pass", **row},
        {"unique_id": "source.p.r.d", "status": "sparkling", **row},
        {"status": "pass", **row},
        {"unique_id": "source.p.r.e", "status": "pass", **row, "max_loaded_at": "yesterday"},
    )
    assert [(one.node_id[-1], one.outcome) for one in freshness.observations] == [
        ("a", "unknown"),
        ("b", "unknown"),
        ("c", "pass"),
        ("d", "unknown"),
        ("e", "unknown"),
    ]
    assert freshness.observations[0].message == "42"
    assert {finding.json_path for finding in freshness.findings} == {
        "results[4].unique_id",
        "results[5].max_loaded_at",
    }


def test_limits_are_durations_and_an_unknown_unit_is_none(tmp_path: Path) -> None:
    def limit(period: str) -> dict[str, Any]:
        return {"count": 2, "period": period}

    criteria = {"warn_after": limit("day"), "error_after": limit("fortnight"), "filter": "x > 1"}
    observed = freshness_of(tmp_path, {"unique_id": "model.p.m", "status": "Warn", "criteria": criteria})
    (one,) = observed.observations
    assert (one.warn_after, one.error_after, one.filter) == (timedelta(days=2), None, "x > 1")


def test_sources_are_known_by_their_fields_where_the_url_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "sources.json"
    row = {"unique_id": "source.p.r.a", "status": "pass", "max_loaded_at": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps({"metadata": {"generated_at": "2026-01-01"}, "results": [row]}))
    assert [one.outcome for one in read_freshness(path).observations] == ["pass"]


def test_a_catalog_of_upper_case_without_columns_or_with_errors_survives(tmp_path: Path) -> None:
    path = tmp_path / "catalog.json"
    nodes: dict[str, Any] = {
        "model.p.a": {"metadata": {"type": "LATE BINDING VIEW", "owner": None}, "columns": None},
        "model.p.b": {"columns": {"ID": {"name": "ID", "type": "NUMBER", "index": 1}}},
        "model.p.c": {"columns": {"x": {"name": "x", "index": "first"}}},
    }
    content = {"metadata": {"generated_at": "2026-01-01"}, "nodes": nodes, "sources": None, "errors": ["a"]}
    path.write_text(json.dumps(content))
    catalog = read_catalog(path)
    assert {key: list(relation.columns or {}) for key, relation in catalog.relations.items()} == {
        "model.p.a": [],
        "model.p.b": ["ID"],
        "model.p.c": [],
    }
    places = {finding.json_path for finding in catalog.findings}
    assert {"errors[0]", "metadata.dbt_schema_version"} < places
    assert any(place.startswith("nodes['model.p.c'].columns") for place in places)


@pytest.mark.parametrize(
    ("status", "expected"),
    [("Pass", "pass"), ("RuntimeError", "runtime error"), ("runtime_error", "runtime error"),
     ("no-op", "no-op"), ("NoOp", "no-op"), ("CREATE TABLE (7)", "create table (7)"),
     (None, "unknown"), (7, "7"), ("partial success", "partial success")],
)  # fmt: skip
def test_states_in_one_spelling(status: object, expected: str) -> None:
    assert outcome(status) == expected
