"""NUL characters anywhere in an artifact: replaced, and each place named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.artifacts import read_catalog, read_manifest, read_run_results

NODE = {"unique_id": "model.p.m", "resource_type": "model", "name": "m", "package_name": "p",
        "original_file_path": "models/m.sql"}  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        ({"description": "a\0b"}, ["description"]),
        ({"columns": {"a\0b": {"name": "a\0b"}}}, ["columns['a�b']", "columns['a�b'].name"]),
        ({"config": {"meta": {"owner": ["x", "a\0b"]}}}, ["config.meta.owner[1]"]),
        ({"depends_on": {"nodes": ["model.p.a\0b"]}}, ["depends_on.nodes[0]"]),
        ({"raw_code": "select '\\u0000', '\\\\0'"}, []),
    ],
)
def test_in_a_manifest(write: Callable[..., Path], keys: dict[str, Any], places: list[str]) -> None:
    manifest = read_manifest(write(nodes={"model.p.m": NODE | keys}))
    assert [finding.json_path for finding in manifest.findings] == [
        f"nodes['model.p.m'].{place}" for place in places
    ]
    assert {(finding.file, finding.node_id) for finding in manifest.findings} <= {
        ("models/m.sql", "model.p.m")
    }
    read = manifest.nodes["model.p.m"]
    assert "\0" not in f"{read}{read.all_columns}"
    assert read.raw_code == keys.get("raw_code")
    assert list(read.all_columns) == (["a�b"] if "columns" in keys else [])


def test_in_the_id_of_a_node(write: Callable[..., Path]) -> None:
    manifest = read_manifest(write(nodes={"model.p.a\0b": NODE | {"unique_id": "model.p.a\0b"}}))
    assert list(manifest.nodes) == ["model.p.a�b"]
    assert {finding.node_id for finding in manifest.findings} == {"model.p.a�b"}


def test_beside_a_manifest(tmp_path: Path) -> None:
    metadata = {"generated_at": "2026-01-01T00:00:00Z", "dbt_schema_version": "/dbt/run-results/v6.json"}
    path = tmp_path / "run_results.json"
    row = {"unique_id": "model.p.m", "status": "error", "message": "a\0b"}
    path.write_text(json.dumps({"metadata": metadata, "args": {"which": "run"}, "results": [row]}))
    results = read_run_results(path)
    assert results.executions[0].message == "a�b"
    assert [(one.json_path, one.node_id) for one in results.findings] == [("results[0].message", "model.p.m")]
    path = tmp_path / "catalog.json"
    columns = {"A\0B": {"name": "A\0B", "index": 1, "comment": "c\0"}}
    metadata["dbt_schema_version"] = "/dbt/catalog/v1.json"
    path.write_text(json.dumps({"metadata": metadata, "nodes": {"model.p.m": {"columns": columns}}, "sources": {},
                                "errors": None}))  # fmt: skip
    catalog = read_catalog(path)
    assert [(one.name, one.comment) for one in (catalog.relations["model.p.m"].columns or {}).values()] == [
        ("A�B", "c�")
    ]
    assert len(catalog.findings) == 3
