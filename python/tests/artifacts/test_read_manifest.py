"""Reading dbt's manifest.json: real ones of every version, and every kind of broken file."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.artifacts import read_manifest
from dbt_attest.errors import InputError

REAL = Path(__file__).parents[4] / "shared" / "artifacts"
REAL_FILES = sorted(REAL.rglob("*.json"))
SECTIONS = ("sources", "metrics", "semantic_models", "exposures", "saved_queries")
Write = Callable[..., Path]


def is_manifest(path: Path) -> bool:
    return "manifest" in path.name and path.name != "semantic_manifest.json"


@pytest.mark.parametrize(
    "path", [p for p in REAL_FILES if is_manifest(p)], ids=lambda p: str(p.relative_to(REAL))
)
def test_real_manifest_has_every_resource(path: Path) -> None:
    raw = json.loads(path.read_bytes())

    manifest = read_manifest(path)

    for kind in ("model", "seed", "snapshot"):
        expected = {key for key, node in raw["nodes"].items() if node["resource_type"] == kind}
        assert {key for key, node in manifest.nodes.items() if node.resource_type == kind} == expected
    for section in SECTIONS:
        assert getattr(manifest, section).keys() == raw.get(section, {}).keys()
    versions = {
        key: node.get("version") for key, node in raw["nodes"].items() if node.get("version") is not None
    }
    read = {key: node.version for key, node in manifest.nodes.items() if node.version is not None}
    assert read == versions
    assert manifest.artifact_id == hashlib.sha256(path.read_bytes()).hexdigest()
    assert manifest.size_bytes == path.stat().st_size
    assert manifest.generated_at.utcoffset() is not None
    assert manifest.dbt_version == raw["metadata"].get("dbt_version")
    assert all(finding.json_path == "metadata.dbt_schema_version" for finding in manifest.findings)


@pytest.mark.parametrize(
    "path", [p for p in REAL_FILES if not is_manifest(p)], ids=lambda p: str(p.relative_to(REAL))
)
def test_real_file_of_another_kind_is_refused_by_its_name(path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_manifest(path)
    kind = next(
        k for k in ("run_results", "catalog", "sources", "freshness", "semantic_manifest") if k in path.name
    )
    assert f"found a dbt {kind}.json" in str(error.value)


@pytest.mark.skipif(not REAL_FILES, reason="no real artifacts here")
def test_project_is_known_by_its_hash_before_v9_although_a_package_has_more_nodes() -> None:
    manifest = read_manifest(REAL / "dbt-artifacts-parser/manifest/v5/jaffle_shop/manifest.json")
    assert manifest.project_name == "jaffle_shop"


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "found an empty file"),
    "blank": (b"  \n", "found an empty file"),
    "text": (b"hello", "text that is not JSON"),
    "truncated": (b'{"metadata": {"generated_at": "2026', "cut off in the middle"),
    "gzip": (gzip.compress(b"{}"), "found a gzip file"),
    "list": (b"[]", "JSON that is a list"),
    "null": (b"null", "JSON that is null"),
    "empty object": (b"{}", "an empty JSON object"),
    "another tool": (
        b'{"openapi": "3.0", "paths": {}}',
        "JSON of another tool (its keys are `openapi`, `paths`)",
    ),
    "run results": (b'{"metadata": {}, "results": [], "args": {}}', "found a dbt run_results.json"),
    "catalog": (b'{"metadata": {}, "nodes": {}, "sources": {}, "errors": null}', "found a dbt catalog.json"),
    "no generated_at": (b'{"metadata": {}, "nodes": {}}', "metadata.generated_at"),
    "odd generated_at": (b'{"metadata": {"generated_at": "soon"}, "nodes": {}}', "'soon'"),
    "nodes as a list": (b'{"metadata": {"generated_at": "2026-01-01T00:00:00Z"}, "nodes": []}', "`nodes`"),
    "a node as text": (
        b'{"metadata": {"generated_at": "2026-01-01T00:00:00Z"}, "nodes": {"a.b": "x"}}',
        "nodes['a.b']",
    ),
    "not UTF-8": (b'{"metadata": {"generated_at": "\xff"}, "nodes": {}}', "expected a dbt manifest.json"),
    "deep": (b'{"nodes": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "expected a dbt manifest.json"),
}


@pytest.mark.parametrize(("content", "expected"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_manifest(path)
    assert expected in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_missing_file_and_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_manifest(tmp_path / "manifest.json")
    with pytest.raises(InputError, match="found a directory"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-20T13:47:12.274457Z",
        "2026-08-20T13:47:12.274457+00:00",
        "2026-08-20T13:47:12.274457+00:00Z",
        "2026-08-20T13:47:12.274457",
        "2026-08-20 13:47:12.274457",
        "2026-08-20T13:47:12.274457473Z",
        "2026-08-20T22:47:12.274457+09:00",
        "2026-08-20T08:17:12.274457-0530",
    ],
)
def test_generated_at_is_one_instant_in_every_form(write: Write, text: str) -> None:
    manifest = read_manifest(write(metadata={"generated_at": text}))
    assert manifest.generated_at == datetime(2026, 8, 20, 13, 47, 12, 274457, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text", ["2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00+02:00Z", ""]
)
def test_impossible_generated_at_is_refused(write: Write, text: str) -> None:
    with pytest.raises(InputError, match="generated_at"):
        read_manifest(write(metadata={"generated_at": text}))


def test_sections_and_metadata_may_be_missing_or_null(write: Write) -> None:
    manifest = read_manifest(write(sources=None, exposures=None, metadata={"generated_at": "2026-01-01"}))
    assert manifest.sources == {}
    assert manifest.metrics == {}
    assert (manifest.project_name, manifest.invocation_id, manifest.dbt_version) == (None, None, None)
    assert [finding.found for finding in manifest.findings] == ["no schema version"]


def test_unknown_newer_schema_is_read_and_said(write: Write) -> None:
    url = "https://schemas.getdbt.com/dbt/manifest/v31.json"
    path = write(
        metadata={"generated_at": "2026-01-01T00:00:00Z", "dbt_schema_version": url},
        nodes={"model.p.m": {"resource_type": "model", "name": "m", "package_name": "p", "brand_new": [1]}},
    )
    manifest = read_manifest(path)
    assert list(manifest.nodes) == ["model.p.m"]
    assert [finding.found for finding in manifest.findings] == ["v31; what is known was read"]


@pytest.mark.parametrize("schema", ["manifest/v12", "manifest/v20", "run-results/v6", "unheard-of"])
def test_the_fields_say_what_it_is_and_never_the_schema_url(write: Write, schema: str) -> None:
    """dbt-core#12900: keys change inside v12; dbt-fusion#462: a v20 was written that was never published."""
    old, new = {"description": "old", "raw_sql": "select 1"}, {"description": "new", "raw_code": "select 1"}
    nodes = {
        f"model.p.{keys['description']}": {
            "resource_type": "model",
            "package_name": "p",
            **keys,
            "added_later": {},
        }
        for keys in (old, new)
    }
    metadata = {"generated_at": "2026-01-01T00:00:00Z", "dbt_version": "2026.1.14+8153e4a",
                "dbt_schema_version": f"https://schemas.getdbt.com/dbt/{schema}.json"}  # fmt: skip
    manifest = read_manifest(write(metadata=metadata, nodes=nodes, macros={}))
    assert {key: node.raw_sql or node.raw_code for key, node in manifest.nodes.items()} == {
        "model.p.old": "select 1", "model.p.new": "select 1"
    }  # fmt: skip
    assert manifest.dbt_version == "2026.1.14+8153e4a"


def test_field_of_another_type_is_left_out_and_named(write: Write) -> None:
    node = {"resource_type": "model", "name": "m", "package_name": "p", "original_file_path": "models/m.sql"}
    path = write(nodes={"model.p.m": {**node, "description": {"text": "x"}, "label": 3}, "model.p.n": node})

    manifest = read_manifest(path)

    assert manifest.nodes["model.p.m"].description is None
    assert manifest.nodes["model.p.m"].name == "m"
    places = {(finding.node_id, finding.json_path, finding.file) for finding in manifest.findings}
    assert ("model.p.m", "nodes['model.p.m'].description", "models/m.sql") in places
    assert ("model.p.m", "nodes['model.p.m'].label", "models/m.sql") in places
    assert len(places) == 2


def test_disabled_is_known_as_map_and_as_list_and_yields_to_nodes(write: Write) -> None:
    node = {"resource_type": "model", "unique_id": "model.p.m", "name": "m", "package_name": "p"}
    both = write(nodes={"model.p.m": node}, disabled={"model.p.m": [node], "model.p.old.v1": [node]})
    assert read_manifest(both).disabled == {"model.p.old.v1"}
    assert read_manifest(write(disabled=[{"unique_id": "model.p.x"}])).disabled == {"model.p.x"}
    assert read_manifest(write(disabled=None)).disabled == frozenset()


def test_nan_in_meta_does_not_make_a_manifest_unreadable(write: Write) -> None:
    node = {"resource_type": "model", "name": "m", "package_name": "p", "meta": {"x": float("nan")}}
    assert read_manifest(write(nodes={"model.p.m": node})).nodes["model.p.m"].meta == {"x": None}


def test_only_annotated_columns_are_kept(write: Write) -> None:
    columns: dict[str, Any] = {
        "a": {"name": "a", "meta": {"attest": {"definition": "x"}}},
        "b": {"name": "b", "meta": {}, "config": {"meta": {"attest": {"definition": "y"}}}},
        "c": {"name": "c", "meta": None, "description": "attest"},
    }
    node = {"resource_type": "model", "name": "m", "package_name": "p", "columns": columns}
    assert read_manifest(write(nodes={"model.p.m": node})).nodes["model.p.m"].columns.keys() == {"a", "b"}
