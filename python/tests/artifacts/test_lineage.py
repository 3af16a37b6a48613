"""The edges that a manifest states."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.artifacts import Edge, circles, edges, read_manifest

REAL = Path(__file__).parents[4] / "shared" / "artifacts"
MANIFESTS = [p for p in sorted(REAL.rglob("*manifest*.json")) if p.name != "semantic_manifest.json"]


def node(kind: str, *parents: str, package: str = "p") -> dict[str, Any]:
    return {
        "resource_type": kind,
        "name": "n",
        "package_name": package,
        "depends_on": {"nodes": list(parents)},
    }


def test_kind_is_that_of_what_is_read_and_what_nothing_contains_is_broken(write: Callable[..., Path]) -> None:
    manifest = read_manifest(
        write(
            nodes={
                "model.p.m": node("model", "source.p.raw.o", "model.other.gone", "source.p.raw.o"),
                "test.p.t": node("test", "model.p.m"),
                "analysis.p.a": node("analysis", "model.p.m"),
                "model.attest.ours": node("model", "model.p.m", package="attest"),
                "seed.p.s": {
                    "resource_type": "seed",
                    "name": "s",
                    "package_name": "p",
                    "depends_on": {"macros": []},
                },
            },
            semantic_models={"semantic_model.p.s": node("semantic_model", "model.p.m")},
            metrics={
                "metric.p.a": node("metric", "semantic_model.p.s"),
                "metric.p.b": node("metric", "metric.p.a"),
            },
            exposures={"exposure.p.e": node("exposure", "metric.p.b")},
            saved_queries={"saved_query.p.q": node("saved_query", "metric.p.b")},
            unit_tests={
                "unit_test.p.m.u": {"depends_on": {"nodes": ["model.p.m", "function.p.f", "model.p.gone"]}}
            },
            functions={"function.p.f": node("function")},
        )
    )
    assert edges(manifest) == [
        Edge("function.p.f", "unit_test.p.m.u", "test", "compiled"),
        Edge("metric.p.a", "metric.p.b", "metric", "compiled"),
        Edge("metric.p.b", "exposure.p.e", "metric", "compiled"),
        Edge("metric.p.b", "saved_query.p.q", "metric", "compiled"),
        Edge("model.other.gone", "model.p.m", "ref", "compiled", broken=True),
        Edge("model.p.gone", "unit_test.p.m.u", "test", "compiled", broken=True),
        Edge("model.p.m", "semantic_model.p.s", "ref", "compiled"),
        Edge("model.p.m", "test.p.t", "test", "compiled"),
        Edge("model.p.m", "unit_test.p.m.u", "test", "compiled"),
        Edge("semantic_model.p.s", "metric.p.a", "semantic_model", "compiled"),
        Edge("source.p.raw.o", "model.p.m", "source", "compiled", broken=True),
    ]


def test_ephemeral_models_are_gone_through(write: Callable[..., Path]) -> None:
    between = node("model", "source.p.raw.o") | {
        "config": {"materialized": "ephemeral"},
        "relation_name": None,
    }
    manifest = read_manifest(write(nodes={"model.p.e": between, "model.p.m": node("model", "model.p.e")}))
    assert [(edge.from_node, edge.to_node) for edge in edges(manifest)] == [
        ("model.p.e", "model.p.m"),
        ("source.p.raw.o", "model.p.e"),
    ]


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ({"a": ["a"]}, ["aa"]),
        ({"a": ["b"], "b": ["a"]}, ["aba"]),
        ({"c": ["b"], "b": ["a"], "a": ["c", "x"], "z": ["a"]}, ["abca"]),
        ({"d": ["d"], "a": ["b"], "b": ["a"], "e": ["a", "d"]}, ["aba", "dd"]),
        ({"a": ["x", "y"], "b": ["a", "x"]}, []),
        ({}, []),
    ],
)
def test_circles_are_told(reads: dict[str, list[str]], expected: list[str]) -> None:
    every = sorted(Edge(one, to, "ref", "compiled") for to, parents in reads.items() for one in parents)
    assert ["".join(circle) for circle in circles(every)] == expected


def test_a_chain_of_any_depth_is_no_circle_and_no_recursion() -> None:
    chain = [Edge(f"model.p.m{n}", f"model.p.m{n + 1}", "ref", "compiled") for n in range(30_000)]
    assert circles(chain) == []
    (found,) = circles([*chain, Edge("model.p.m30000", "model.p.m0", "ref", "compiled")])
    assert len(found) == 30_002


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: str(p.relative_to(REAL)))
def test_real_manifest_loses_no_edge(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    expected = set()
    for section in ("nodes", "metrics", "semantic_models", "exposures", "saved_queries", "unit_tests"):
        for unique_id, reader in raw.get(section, {}).items():
            if section != "nodes" or reader["resource_type"] in ("model", "seed", "snapshot", "test"):
                expected |= {(p, unique_id) for p in (reader.get("depends_on") or {}).get("nodes") or ()}
    assert {(edge.from_node, edge.to_node) for edge in edges(read_manifest(path))} == expected
