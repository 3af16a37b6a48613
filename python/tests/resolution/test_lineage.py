"""The lineage resolvers against plain Python over small random graphs, and what they may never tell."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dbt_attest
from dbt_attest import Requester
from dbt_attest.resolution import lineage
from dbt_attest.warehouse.building import build

START = datetime(2025, 1, 1, tzinfo=timezone.utc)
NODES = [f"model.shop.n{number}" for number in range(6)]
_ENVIRONMENTS = count(1)
GONE = ["model.shop.gone", "source.shop.raw.gone"]


@dataclass(frozen=True)
class Graph:
    """What one manifest says: of each node that it contains, who may see it and what it reads."""

    permissions: dict[str, str]
    reads: dict[str, frozenset[str]]
    tests: dict[str, frozenset[str]]

    def manifest(self, at: datetime) -> dict[str, Any]:
        nodes = {
            node: _node(node, "model", self.reads[node], {"attest": {"permissions": [group]}})
            for node, group in self.permissions.items()
        } | {test: _node(test, "test", reads, {}) for test, reads in self.tests.items()}
        return _manifest(at, nodes)


def _node(unique_id: str, kind: str, reads: Any, meta: dict[str, Any]) -> dict[str, Any]:
    return {
        "unique_id": unique_id,
        "resource_type": kind,
        "name": unique_id.split(".", 2)[2],
        "package_name": unique_id.split(".")[1],
        "original_file_path": "models/models.sql",
        "depends_on": {"nodes": sorted(reads)},
        "config": {"meta": meta},
    }


def _manifest(at: datetime, nodes: dict[str, Any], invocation: str = "i", **sections: Any) -> dict[str, Any]:
    empty = ("sources", "metrics", "semantic_models", "exposures", "saved_queries", "groups", "disabled")
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "dbt_version": "1.11.0",
            "generated_at": at.isoformat(),
            "invocation_id": invocation,
            "project_name": "shop",
            "adapter_type": "duckdb",
        },
        "macros": {},
        **{name: {} for name in empty},
        "nodes": nodes,
        **sections,
    }


@st.composite
def graphs(draw: st.DrawFn) -> list[Graph]:
    """One to three manifests, one day apart; nodes and edges come and go, cycles and missing ends included."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        present = draw(st.lists(st.sampled_from(NODES), min_size=1, unique=True))
        ends = st.frozensets(st.sampled_from(NODES + GONE), max_size=3)
        open_to = st.sampled_from(["everyone", "everyone", "everyone", "everyone", "finance", "secret"])
        found.append(
            Graph(
                {node: draw(open_to) for node in present},
                {node: draw(ends) for node in present},
                {f"test.shop.t{number}": draw(ends) for number in range(draw(st.integers(0, 2)))},
            )
        )
    return found


class Oracle:
    """The same answers by walking dictionaries; `known` counts the manifests that are known."""

    def __init__(self, history: list[Graph], known: int, groups: set[str]) -> None:
        self.present = set(history[known - 1].permissions) | set(history[known - 1].tests)
        self.edges: dict[tuple[str, str], tuple[int, bool]] = {}
        for number, graph in enumerate(history[:known]):
            stated = {
                (end, node)
                for reads in (graph.reads, graph.tests)
                for node, ends in reads.items()
                for end in ends
            }
            contained = set(graph.permissions) | set(graph.tests)
            self.edges = {
                edge: (self.edges[edge][0] if edge in self.edges else number, edge[0] not in contained)
                for edge in stated
            }
        last: dict[str, str] = {}
        for graph in history:
            last |= graph.permissions
        self.withheld = {node for node, group in last.items() if group not in groups | {"everyone"}}
        # a policy that says `existence: hidden`: as if these nodes were not there
        self.hidden = {node for node, group in last.items() if group == "secret"}
        for graph in history:
            for test, ends in graph.tests.items():
                if ends & self.withheld:
                    self.withheld |= {test}
                if ends & self.hidden:
                    self.hidden |= {test}
        # a test is known by what it reads
        self.known_nodes = {one for graph in history for one in graph.permissions} | {
            test for graph in history for test, ends in graph.tests.items() if ends
        }
        self.known_nodes |= {
            end
            for graph in history
            for reads in (graph.reads, graph.tests)
            for ends in reads.values()
            for end in ends
        }

    def walk(self, node: str, up: bool) -> set[tuple[Any, ...]]:
        """(from_node, to_node, first_seen, broken), None for what is withheld."""
        seen, waiting, found = {node}, [node], set()
        while waiting:
            near = waiting.pop()
            for (start, end), (first, broken) in self.edges.items():
                if near != (end if up else start):
                    continue
                far = start if up else end
                if far in self.hidden:
                    continue
                if far in self.withheld:
                    found.add((None, near, None, None) if up else (near, None, None, None))
                    continue
                found.add((start, end, START + timedelta(days=first), broken))
                if far not in seen:
                    seen.add(far)
                    waiting.append(far)
        return found

    def distance(self, start: str, goal: str) -> int | None:
        level, seen, steps = {start}, {start}, 0
        while level:
            if goal in level:
                return steps
            level = {
                end for begin, end in self.edges if begin in level and not {begin, end} & self.withheld
            } - seen
            seen |= level
            steps += 1
        return None


def _record(world: Any, history: list[Graph]) -> str:
    """Into an environment of its own, and gives its name."""
    environment = f"e{next(_ENVIRONMENTS)}"
    target = world.folder / "target"
    target.mkdir(exist_ok=True)
    (world.folder / "dbt_project.yml").write_text("name: shop\n", encoding="utf-8")
    (world.folder / "attest.yml").write_text(
        "policies: {secret: {groups: [board], existence: hidden}}\n", encoding="utf-8"
    )
    for number, graph in enumerate(history):
        manifest = graph.manifest(START + timedelta(days=number))
        (target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        build(world.folder, environment=environment, removals_allowed=True)
    return environment


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory, world_in: Any) -> Any:
    return world_in(tmp_path_factory.mktemp("lineage"))


@settings(max_examples=10, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(history=graphs(), data=st.data())
def test_random_graphs_as_plain_python_walks_them(shared_world: Any, history: list[Graph], data: Any) -> None:
    environment = _record(shared_world, history)
    asked = dbt_attest.open(shared_world.warehouse, environment=environment)
    known = data.draw(st.integers(1, len(history)))
    groups = data.draw(st.sampled_from([set(), {"finance"}]))
    oracle = Oracle(history, known, groups)
    known_at = START + timedelta(days=known - 1)
    said: dict[str, Any] = {"known_at": known_at, "requester": Requester(sorted(groups))}
    for node in data.draw(st.lists(st.sampled_from(sorted(oracle.known_nodes)), min_size=1, max_size=3)):
        for up, ask in ((True, lineage.upstream), (False, lineage.downstream)):
            found = ask(asked, node, **said)
            if node in oracle.hidden:
                assert (found.outcome, found.reason, found.edges) == ("abstain", "unknown_node", ())
                continue
            if node in oracle.withheld:
                assert (found.outcome, found.reason, found.edges) == ("deny", "not_permitted", ())
                continue
            expected = oracle.walk(node, up)
            assert {
                (edge.from_node, edge.to_node, edge.first_seen, edge.broken) for edge in found.edges
            } == expected, (node, up)
            assert len(found.edges) == len(expected)
            assert found.node == node
            assert all(edge.last_seen == known_at for edge in found.edges if edge.outcome == "answer")
            if not expected:
                assert (found.outcome, found.reason) == ("abstain", "lineage_missing")
        goal = data.draw(st.sampled_from(sorted(oracle.known_nodes)))
        if {node, goal} & oracle.withheld or node == goal:
            continue
        _check_path(asked, oracle, node, goal, said)


def _check_path(asked: Any, oracle: Oracle, start: str, goal: str, said: dict[str, Any]) -> None:
    found = lineage.path(asked, start, goal, **said)
    there, back = oracle.distance(start, goal), oracle.distance(goal, start)
    if there is None and back is None:
        assert (found.outcome, found.edges) == ("abstain", ())
        assert found.reason in ("no_path", "path_incomplete")
        behind = oracle.walk(goal, True) | oracle.walk(start, True)
        assert (found.reason == "path_incomplete") == any(edge[0] is None or edge[3] for edge in behind)
        return
    first, last, length = (start, goal, there) if there is not None else (goal, start, back)
    assert len(found.edges) == length
    nodes = [found.edges[0].from_node, *(edge.to_node for edge in found.edges)]
    assert (nodes[0], nodes[-1]) == (first, last)
    assert all(
        one.to_node == other.from_node for one, other in zip(found.edges, found.edges[1:], strict=False)
    )
    assert {(edge.from_node, edge.to_node) for edge in found.edges} <= set(oracle.edges)


def test_a_chain_of_three_thousand(world: Any) -> None:
    chain = [f"model.shop.c{number}" for number in range(3000)]
    reads = {node: frozenset(chain[number - 1 : number]) for number, node in enumerate(chain)}
    graph = Graph(dict.fromkeys(chain, "everyone"), reads, {})
    asked = dbt_attest.open(world.warehouse, environment=_record(world, [graph]))
    assert len(lineage.upstream(asked, chain[-1]).edges) == 2999
    assert len(lineage.downstream(asked, chain[0]).edges) == 2999
    way = lineage.path(asked, chain[0], chain[-1])
    assert [edge.from_node for edge in way.edges] == chain[:-1]
    assert lineage.path(asked, chain[-1], chain[0]).edges == way.edges


# A small project with everything in it


CANARY = "canary"


def _shop(at: datetime, invocation: str = "build-1", **changed: Any) -> dict[str, Any]:
    def annotated(**said: Any) -> dict[str, Any]:
        return {"attest": {"authority": "authoritative", "permissions": ["everyone"],
                           "effective_from": "2024-01-01", "owner": "Finance", **said}}  # fmt: skip

    secret = {"attest": {"permissions": ["board"]}}
    nodes = {
        "model.shop.stg": _node("model.shop.stg", "model", ["source.shop.raw.orders"], annotated())
        | {"raw_code": "select 1"},
        f"model.shop.{CANARY}": _node(f"model.shop.{CANARY}", "model", ["source.shop.raw.orders"], secret),
        "model.shop.fct.v1": _node("model.shop.fct.v1", "model", ["model.shop.stg"], annotated())
        | {"name": "fct", "version": 1, "latest_version": 2},
        "model.shop.fct.v2": _node(
            "model.shop.fct.v2", "model", ["model.shop.stg", f"model.shop.{CANARY}"], annotated()
        )
        | {"name": "fct", "version": 2, "latest_version": 2},
        "test.shop.unique_stg.1": _node("test.shop.unique_stg.1", "test", ["model.shop.stg"], {})
        | {"attached_node": "model.shop.stg"},
        f"test.shop.{CANARY}_test.2": _node(
            f"test.shop.{CANARY}_test.2", "test", ["model.shop.stg", f"model.shop.{CANARY}"], {}
        )
        | {"attached_node": "model.shop.stg"},
    }
    source = _node("source.shop.raw.orders", "source", [], annotated()) | {
        "name": "orders", "source_name": "raw", "freshness": {"warn_after": {"count": 12, "period": "hour"}},
    }  # fmt: skip
    versions = [
        {"version": 1, "effective_from": "2024-01-01", "models": "fct.v1"},
        {"version": 2, "effective_from": "2025-07-01", "models": "fct.v2"},
    ]
    metric = _node("metric.shop.revenue", "metric", ["model.shop.fct.v2"], annotated(versions=versions))
    exposures = {
        f"exposure.shop.{name}": _node(f"exposure.shop.{name}", "exposure", reads, meta)
        | {"owner": {"name": "Ann"}}
        for name, reads, meta in (
            ("board_deck", ["metric.shop.revenue"], {"attest": {"permissions": ["everyone"]}}),
            (f"{CANARY}_deck", ["metric.shop.revenue"], secret),
        )
    }
    manifest = _manifest(
        at, nodes, invocation, sources={"source.shop.raw.orders": source},
        metrics={"metric.shop.revenue": metric}, exposures=exposures,
    )  # fmt: skip
    return manifest | changed


def _results(at: datetime, invocation: str, *rows: tuple[str, str]) -> dict[str, Any]:
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json",
            "dbt_version": "1.11.0",
            "generated_at": at.isoformat(),
            "invocation_id": invocation,
        },
        "args": {"which": "build"},
        "elapsed_time": 1.0,
        "results": [
            {"unique_id": node, "status": status, "timing": [], "execution_time": 0.1, "thread_id": "t",
             "message": "", "failures": 0, "adapter_response": {}}
            for node, status in rows
        ],
    }  # fmt: skip


def _sources(at: datetime, status: str) -> dict[str, Any]:
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/sources/v3.json",
            "dbt_version": "1.11.0",
            "generated_at": at.isoformat(),
            "invocation_id": f"freshness-{status}",
        },
        "elapsed_time": 1.0,
        "results": [
            {"unique_id": "source.shop.raw.orders", "status": status, "max_loaded_at": at.isoformat(),
             "snapshotted_at": at.isoformat(), "max_loaded_at_time_ago_in_s": 0.0, "adapter_response": {},
             "criteria": {"warn_after": {"count": 12, "period": "hour"}, "error_after": {}, "filter": None},
             "timing": [], "thread_id": "t", "execution_time": 0.1}
        ],
    }  # fmt: skip


DOCUMENT = """---
entity_id: lineage.revenue
evidence_id: LINEAGE.REVENUE
entity_type: lineage
models: [stg, fct.v2, nowhere]
permissions: [everyone]
---
Where it comes from.
"""
EVERYTHING = [(f"model.shop.{name}", "success") for name in ("stg", CANARY, "fct.v1")] + [
    ("model.shop.fct.v2", "error"),
    ("test.shop.unique_stg.1", "pass"),
    (f"test.shop.{CANARY}_test.2", "fail"),
]


def _collect(
    folder: Path,
    manifest: dict[str, Any],
    *,
    environment: str = "prod",
    policies: str = "",
    **files: dict[str, Any],
) -> None:
    target = folder / "target"
    target.mkdir(exist_ok=True)
    (folder / "dbt_project.yml").write_text("name: shop\n", encoding="utf-8")
    (folder / "attest.yml").write_text(f"documents: [docs/*.md]\n{policies}", encoding="utf-8")
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "lineage.md").write_text(DOCUMENT, encoding="utf-8")
    (target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for name, content in files.items():
        (target / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    build(folder, environment=environment)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, world_in: Any) -> Any:
    world = world_in(tmp_path_factory.mktemp("shop"))
    _collect(
        world.folder,
        _shop(START),
        run_results=_results(START + timedelta(hours=1), "build-1", *EVERYTHING),
        sources=_sources(START + timedelta(hours=1), "pass"),
    )
    later = START + timedelta(days=30)
    changed = _shop(later, "build-2")
    changed["nodes"]["model.shop.stg"]["raw_code"] = "select 2"
    _collect(
        world.folder,
        changed,
        run_results=_results(later, "compile-2", ("model.shop.fct.v1", "success")),
        sources=_sources(later, "warn"),
    )
    return world


@pytest.fixture
def asked(shop: Any) -> Any:
    return dbt_attest.open(shop.warehouse)


def _edges(found: Any) -> dict[tuple[str | None, str | None, str | None], Any]:
    return {(edge.from_node, edge.to_node, edge.kind): edge for edge in found.edges}


def test_strength_and_process_of_edges(asked: Any) -> None:
    edges = _edges(lineage.upstream(asked, "revenue", requester=Requester(["board"])))
    assert {key: (edge.strength, edge.process) for key, edge in edges.items()} == {
        ("model.shop.fct.v2", "metric.shop.revenue", "ref"): ("compiled", "dbt"),
        ("model.shop.fct.v2", "metric.shop.revenue", "declared"): ("declared", "dbt"),
        ("model.shop.fct.v1", "metric.shop.revenue", "declared"): ("declared", "dbt"),
        ("model.shop.stg", "model.shop.fct.v1", "ref"): ("observed", "build-1"),
        # it failed
        ("model.shop.stg", "model.shop.fct.v2", "ref"): ("compiled", "dbt"),
        (f"model.shop.{CANARY}", "model.shop.fct.v2", "ref"): ("compiled", "dbt"),
        ("source.shop.raw.orders", "model.shop.stg", "source"): ("observed", "build-1"),
        ("source.shop.raw.orders", f"model.shop.{CANARY}", "source"): ("observed", "build-1"),
    }
    before_the_run = lineage.upstream(asked, "metric.shop.revenue", known_at=START)
    assert "observed" not in {edge.strength for edge in before_the_run.edges}


def test_a_document_declares_edges_and_what_nothing_contains_is_broken(asked: Any) -> None:
    found = lineage.upstream(asked, "LINEAGE.REVENUE")
    edges = _edges(found)
    broken = edges["nowhere", "LINEAGE.REVENUE", "declared"]
    assert (broken.broken, broken.strength, broken.process) == (True, "declared", "attest")
    assert not edges["model.shop.stg", "LINEAGE.REVENUE", "declared"].broken
    assert not found.complete
    assert _edges(lineage.downstream(asked, "nowhere")).keys() == {("nowhere", "LINEAGE.REVENUE", "declared")}


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("model.shop.fct.v1", "model.shop.fct.v1"),
        ("metric.shop.revenue.v2", "metric.shop.revenue"),
        ("revenue", "metric.shop.revenue"),
        ("raw.orders", "source.shop.raw.orders"),
        ("fct.v2", None),
        ("test.shop.unique_stg.1", "test.shop.unique_stg.1"),
        ("unique_stg", "test.shop.unique_stg.1"),
    ],
)
def test_what_a_name_means(asked: Any, name: str, node: str | None) -> None:
    assert lineage.downstream(asked, name).node == (node or "model.shop.fct.v2")


def test_an_ambiguous_name_gives_the_ids(asked: Any) -> None:
    found = lineage.upstream(asked, "fct")
    assert (found.outcome, found.reason, found.edges) == ("clarify", "ambiguous_name", ())
    assert found.candidates == ("model.shop.fct.v1", "model.shop.fct.v2")


def test_an_unknown_name(asked: Any) -> None:
    for ask in (lineage.upstream, lineage.downstream, lineage.impact):
        assert ask(asked, "no such node").reason == "unknown_node"
    assert lineage.path(asked, "no such node", "stg").reason == "unknown_node"
    nothing = dbt_attest.open(asked.path, environment="nowhere")
    assert lineage.upstream(nothing, "stg").reason == "nothing_collected"


def test_tests_are_downstream_and_never_upstream_of_a_model(asked: Any) -> None:
    down = lineage.downstream(asked, "stg", requester=Requester(["board"]))
    assert ("model.shop.stg", "test.shop.unique_stg.1", "test") in _edges(down)
    assert "test" not in {edge.kind for edge in lineage.upstream(asked, "revenue").edges}


def test_impact_tells_days_and_owners(asked: Any) -> None:
    found = {
        one.evidence_id or one.entity_id: one
        for one in lineage.impact(asked, "fct.v1").affected
        if one.node_id
    }
    assert found.keys() == {"metric.shop.revenue.v1", "exposure.shop.board_deck"}
    metric = found["metric.shop.revenue.v1"]
    assert (str(metric.valid_from), str(metric.valid_to), metric.owner) == (
        "2024-01-01",
        "2025-07-01",
        "Finance",
    )
    exposure = found["exposure.shop.board_deck"]
    assert (exposure.governed, exposure.owner, exposure.valid_from) == (False, "Ann", None)
    of_stg = {one.evidence_id for one in lineage.impact(asked, "stg").affected}
    assert {"metric.shop.revenue.v1", "metric.shop.revenue.v2", "model.shop.fct.v2"} <= of_stg
    assert lineage.impact(asked, "exposure.shop.board_deck").reason == "no_impact"


@pytest.fixture
def hiding(world: Any) -> Any:
    """In one environment a model between two others is hidden, in the other it never was."""
    read, hidden, reader = "model.shop.read", f"model.shop.{CANARY}", "model.shop.reader"
    open_to_all = {"permissions": ["everyone"]}
    for environment in ("with_hidden", "without"):
        between = [hidden] if environment == "with_hidden" else []
        governed = open_to_all | {
            "authority": "authoritative", "definition": "d", "effective_from": "2024-01-01",
            "models": ["reader", *between],
        }  # fmt: skip
        nodes = {
            read: _node(read, "model", [], {"attest": open_to_all}),
            reader: _node(reader, "model", between, {"attest": open_to_all}),
        }
        for node in between:
            nodes[node] = _node(node, "model", [read], {"attest": {"permissions": ["secret"]}})
            nodes[f"test.shop.{CANARY}.1"] = _node(f"test.shop.{CANARY}.1", "test", [read, node], {})
        metric = _node("metric.shop.m", "metric", [reader], {"attest": governed})
        _collect(
            world.folder, _manifest(START, nodes, metrics={"metric.shop.m": metric}), environment=environment,
            policies="policies: {secret: {groups: [board], existence: hidden}}",
        )  # fmt: skip
    return world


SUPPORT = ("resolve", "m", "--on", "2025-01-15", "--support")


def test_what_is_hidden_is_not_there(hiding: Any, attest: Any) -> None:
    """Everything that reads a hidden node, or that it reads, is told as if it did not."""

    def told(environment: str) -> list[str]:
        ways = [("--up",), ("--down",), ("--impact",), ("--path", "read"), ("--path", "reader")]
        asked = [("lineage", name, *way) for name in ("read", "reader", "m") for way in ways]
        ran = [attest(hiding.folder, *words, "--environment", environment) for words in (*asked, SUPPORT)]
        # the last line names the manifest, which is another one
        return [
            f"{one.code} {one.output.partition('As known at')[0]} {one.errors}".replace(environment, "")
            for one in ran
        ]

    assert told("with_hidden") == told("without")
    everything = lineage.upstream(
        dbt_attest.open(hiding.warehouse, environment="with_hidden"), "m", requester=Requester(["board"])
    )
    assert {edge.from_node for edge in everything.edges} > {f"model.shop.{CANARY}", "model.shop.read"}


def test_an_export_holds_nothing_of_what_is_hidden_between_others(hiding: Any, attest: Any) -> None:
    said = ("--environment", "with_hidden")
    out = str(hiding.folder / "own.duckdb")
    assert attest(hiding.folder, "export", "--for-groups", "team", out, *said).code == 0
    full, export = (
        attest(hiding.folder, *SUPPORT, *said, *where).output.partition("As known at")[0]
        for where in ((), ("--warehouse", out))
    )
    assert full == export
    assert "model     model.shop.reader" in full
    with duckdb.connect(out, read_only=True) as connection:
        edges = connection.execute("select from_node, to_node from attest.lineage_edges").fetchall()
        models = connection.execute("select models from attest.assertions where entity_id = 'metric.shop.m'")
        assert set(edges) == {("model.shop.reader", "metric.shop.m")}
        assert models.fetchall() == [(["model.shop.reader"],)]


def test_an_export_names_no_node_that_may_not_be_seen(world: Any, attest: Any) -> None:
    """A model between two others is somebody else's, as is a metric that is built on a model of its own."""
    own, theirs = {"permissions": ["team"]}, {"permissions": ["finance"]}
    read, between, reader, other = (
        f"model.shop.{name}" for name in ("read", CANARY, "reader", f"{CANARY}_2")
    )
    nodes = {
        read: _node(read, "model", [], {"attest": own}),
        between: _node(between, "model", [read], {"attest": theirs}),
        reader: _node(reader, "model", [between], {"attest": own}),
        other: _node(other, "model", [], {"attest": theirs}),
    }
    metrics = {
        "metric.shop.m": _node("metric.shop.m", "metric", [reader], {"attest": own}),
        f"metric.shop.{CANARY}": _node(f"metric.shop.{CANARY}", "metric", [other], {"attest": theirs}),
    }
    _collect(world.folder, _manifest(START, nodes, metrics=metrics))
    out = str(world.folder / "own.duckdb")
    assert attest(world.folder, "export", "--for-groups", "team", out).code == 0
    with duckdb.connect(out, read_only=True) as connection:
        edges = dict(connection.execute("select to_node, from_node from attest.lineage_edges").fetchall())
    assert edges.keys() == {"metric.shop.m", reader, edges[reader]}
    assert re.fullmatch(r"node\.[0-9a-f-]{36}", edges[reader])
    assert edges[edges[reader]] == read


def test_impact_and_path_end_at_what_may_not_be_seen(world: Any) -> None:
    restricted = {"attest": {"permissions": ["finance"]}}
    read, reader = "model.shop.read", "model.shop.reader"
    nodes = {
        read: _node(read, "model", [], {"attest": {"permissions": ["everyone"]}}),
        reader: _node(reader, "model", [read], restricted),
    }
    deck = _node("exposure.shop.deck", "exposure", [reader], {"attest": {"permissions": ["everyone"]}})
    _collect(world.folder, _manifest(START, nodes, exposures={"exposure.shop.deck": deck}))
    asked = dbt_attest.open(world.warehouse)
    seen = lineage.impact(asked, "read", requester=Requester(["finance"])).affected
    assert [(one.outcome, one.node_id) for one in seen] == [("answer", "exposure.shop.deck")]
    assert [(one.outcome, one.node_id) for one in lineage.impact(asked, "read").affected] == [("deny", None)]
    ways = [lineage.path(asked, "read", "deck", requester=Requester(groups)) for groups in (["finance"], [])]
    assert [(one.reason, len(one.edges)) for one in ways] == [("recorded", 2), ("path_incomplete", 0)]


def test_impact_tells_of_no_version_that_may_not_be_seen(world: Any) -> None:
    versions = [
        {"version": 1, "effective_from": "2024-01-01", "effective_to": "2024-12-31", "models": "read"},
        {"version": 2, "effective_from": "2025-01-01", "models": "read", "permissions": ["finance"]},
    ]
    said = {
        "authority": "authoritative",
        "permissions": ["everyone"],
        "definition": "d",
        "versions": versions,
    }
    node = _node("model.shop.read", "model", [], {"attest": {"permissions": ["everyone"]}})
    metric = _node("metric.shop.m", "metric", ["model.shop.read"], {"attest": said})
    _collect(world.folder, _manifest(START, {"model.shop.read": node}, metrics={"metric.shop.m": metric}))
    asked = dbt_attest.open(world.warehouse)

    def told(*groups: str) -> list[str | None]:
        affected = lineage.impact(asked, "read", requester=Requester(groups)).affected
        return [one.evidence_id for one in affected]

    assert told("finance") == ["metric.shop.m.v1", "metric.shop.m.v2"]
    assert told() == ["metric.shop.m.v1"]


def test_support_tells_runs_tests_and_freshness(asked: Any) -> None:
    found = asked.resolve(
        "metric.shop.revenue", on="2025-01-15", support=True, requester=Requester(["board"])
    )
    support = {one.node_id: one for one in found.support}
    stg, fct = support["model.shop.stg"], support["model.shop.fct.v1"]
    assert (fct.strength, fct.evidence_class, fct.run_invocation_id, fct.run_status) == (
        "declared", "executed", "compile-2", "success",
    )  # fmt: skip
    assert (stg.strength, stg.run_invocation_id) == ("observed", "build-1")
    assert [(test["test"], test["outcome"]) for test in stg.tests] == [
        (f"test.shop.{CANARY}_test.2", "fail"),
        ("test.shop.unique_stg.1", "pass"),
    ]
    assert "logic_changed" in stg.warnings
    source = support["source.shop.raw.orders"]
    assert (source.freshness_then, source.freshness_now) == ("pass", "warn")
    assert (stg.freshness_then, source.evidence_class) == (None, None)


def test_freshness_at_an_instant(asked: Any) -> None:
    with asked.connection() as (connection, schema):

        def ask(source: str, at: str | None) -> Any:
            return connection.execute(
                f"select outcome, reason, freshness from {schema}.source_freshness_on($source, at := $at)",
                {"source": source, "at": at},
            ).fetchall()  # fmt: skip

        assert ask("raw.orders", None) == [("answer", "recorded", "warn")]
        assert ask("raw.orders", "2025-01-15") == [("answer", "recorded", "pass")]
        assert ask("orders", "2024-12-31") == [("abstain", "not_observed", None)]
        assert ask("stg", None) == [("abstain", "not_observed", None)]
        assert ask("nowhere at all", None) == [("abstain", "unknown_node", None)]


def test_logic_that_changed_behind_the_same_words_is_warned_of(asked: Any) -> None:
    assert "logic_changed" in asked.resolve("model.shop.stg", on="2025-02-15").warnings
    assert (
        "logic_changed"
        not in asked.resolve("model.shop.stg", known_at="2025-01-15", on="2025-01-10").warnings
    )
    assert "logic_changed" not in asked.resolve("model.shop.fct", on="2025-02-15").warnings


def test_what_is_withheld_is_named_nowhere_and_counted_nowhere(asked: Any, shop: Any, attest: Any) -> None:
    everything = []
    for name in ("stg", "revenue", "fct.v2", "raw.orders", CANARY, "LINEAGE.REVENUE", f"{CANARY}_test"):
        for words in (["--up"], ["--down"], ["--impact"], ["--path", "raw.orders"]):
            for output in ("text", "json", "mermaid") if words == ["--up"] else ("text",):
                ran = attest(shop.folder, "lineage", name, *words, "--format", output)
                everything.append((name, ran.output, ran.errors))
    ran = attest(shop.folder, "resolve", "revenue", "--support", "--format", "json", "--on", "2025-08-01")
    everything.append(("revenue", ran.output, ran.errors))
    for name, *told in everything:
        for text in told:
            assert CANARY not in text.replace(name, ""), (name, text)
    up = lineage.upstream(asked, "fct.v2")
    withheld = [edge for edge in up.edges if edge.outcome == "deny"]
    assert [(edge.from_node, edge.to_node, edge.kind, edge.first_seen) for edge in withheld] == [
        (None, "model.shop.fct.v2", None, None)
    ]
    assert not up.complete
    support = asked.resolve("revenue", on="2025-08-01", support=True).support
    assert [one.node_id for one in support if one.outcome == "deny"] == [None]
    down = [edge for edge in lineage.downstream(asked, "stg").edges if edge.outcome == "deny"]
    assert sorted(edge.from_node for edge in down) == ["metric.shop.revenue", "model.shop.stg"]
    denied = lineage.upstream(asked, f"model.shop.{CANARY}")
    assert (denied.outcome, denied.node, denied.edges) == ("deny", None, ())
    assert lineage.upstream(asked, CANARY).reason == "unknown_node"


def test_a_removed_edge_is_known_until_it_was_removed(world: Any) -> None:
    nodes = {"model.shop.n0": "everyone", "model.shop.n1": "everyone"}
    reads = [frozenset(["model.shop.n0"]), frozenset(), frozenset(["model.shop.n0"])]
    history = [Graph(nodes, defaultdict(frozenset, {"model.shop.n1": one}), {}) for one in reads]
    asked = dbt_attest.open(world.warehouse, environment=_record(world, history))
    seen = [
        [
            edge.first_seen
            for edge in lineage.upstream(asked, "n1", known_at=START + timedelta(days=day)).edges
        ]
        for day in range(3)
    ]
    assert seen == [[START], [], [START + timedelta(days=2)]]
