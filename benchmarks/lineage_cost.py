"""What the lineage resolvers cost on a graph of 100,000 nodes and 300,000 edges.

The graph is a made one: every node reads three of the 1,000 before it. Each node has a definition, 2 in 100 are
open to finance alone; a second collection no longer states 1 in 100 edges; one run built every node. Compared
are processor seconds, since waiting for others does not lengthen them; the questions alternate and of each the
quickest run counts.

    lineage_upstream         all ancestors of the last node with their edges, asked by somebody who may see
                             all of them, over a bare recursive query of the same edges (no permission, no
                             state of knowledge, no run): at most 1.5
    lineage_upstream_masked  the same for a requester who may not see the 2 in 100
    lineage_upstream_near    the ancestors of one of the first nodes, 10 edges, over the same of the bare query
    networkx                 the graph built in networkx from the same rows, and its ancestors, over the bare query
    recording_edges          recording the collection of a big project (made_manifest.py), over recording it
                             without edges: at most 1.3

    python benchmarks/lineage_cost.py [--runs 5] [--scale 1.0]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import networkx

from dbt_attest.annotations import ProjectFile, read_project_file
from dbt_attest.artifacts import read_manifest
from dbt_attest.warehouse.building import build
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.collection import Collection
from dbt_attest.warehouse.recording import record

NODES, WINDOW = 100_000, 1_000
LIMITS = {"lineage_upstream": 1.5, "recording_edges": 1.3}
MADE = Path(__file__).with_name("made_manifest.py")
_SHARED = "'prod' as environment, 'made' as project_name"

#: The rows of the made graph, table by table; a node's name is as long as real ones are.
GRAPH = {
    "collections": f"""
        select 'c' || turn as collection_id, 'm' || turn as manifest_id, {_SHARED},
          timestamptz '2026-01-01 00:00:00+00' + interval 1 month * turn as generated_at,
          generated_at as known_until, generated_at as ingested_at, [] as disabled
        from range(2) as turns(turn)
        """,
    "assertions": f"""
        select {_SHARED}, name as entity_id, name || '.v1' as evidence_id, true as stated, name as node_id,
          'made' as package_name, [split_part(name, '.', 3)] as names,
          [if(number % 50 = 0, 'finance', 'everyone')] as permissions, 'm0' as artifact_id,
          timestamptz '2026-01-01 00:00:00+00' as asserted_at, asserted_at as generated_at,
          'c0' as collection_id, asserted_at as ingested_at
        from names
        """,
    "lineage_edges": f"""
        select {_SHARED}, reads.name as from_node, reader.name as to_node, 'ref' as kind,
          if(edge.stated, 'compiled', null) as strength, if(edge.stated, false, null) as broken,
          if(edge.stated, 'dbt', null) as collector, edge.stated,
          timestamptz '2026-01-01 00:00:00+00' + interval 1 month * edge.turn as asserted_at,
          asserted_at as generated_at, 'm' || edge.turn as artifact_id, 'c' || edge.turn as collection_id,
          asserted_at as ingested_at
        from (
          select from_number, to_number, true as stated, 0 as turn from graph
          union all
          select from_number, to_number, false, 1 from graph where (from_number + to_number) % 100 = 0
        ) as edge
        join names as reads on reads.number = edge.from_number
        join names as reader on reader.number = edge.to_number
        """,
    "executions": f"""
        select {_SHARED}, 'r0' as artifact_id, number as position, 'invocation' as invocation_id,
          'm0' as manifest_id, name as node_id, 'executed' as class, 'success' as outcome,
          timestamptz '2026-01-01 01:00:00+00' as generated_at
        from names
        """,
}
BARE = """
    with recursive walked as (
      select $node as node_id
      union
      select edge.from_node from walked join attest.lineage_edges as edge on edge.to_node = walked.node_id
    )
    select edge.from_node, edge.to_node, edge.kind, edge.strength, edge.collector, edge.asserted_at,
      edge.generated_at, edge.artifact_id, edge.broken
    from attest.lineage_edges as edge where edge.to_node in (select walked.node_id from walked)
    """
RESOLVER = "from attest.lineage_upstream($node, groups := $groups)"


def make_graph(connection: duckdb.DuckDBPyConnection, scale: float) -> None:
    """Fill the evidence tables with the made graph."""
    nodes = round(NODES * scale)
    connection.execute(
        "create temp table names as select number, 'model.made.stg_' || substr(md5(number::varchar), 1, 8) "
        f"|| '_orders_' || number as name from range({nodes}) as numbers(number)"
    )
    connection.execute(
        f"""
        create temp table graph as
        select distinct to_number, to_number - 1
          - hash(to_number * 3 + turn) % least({WINDOW}, to_number) as from_number
        from range(1, {nodes}) as readers(to_number), range(3) as turns(turn)
        """
    )
    for table, rows in GRAPH.items():
        connection.execute(f"insert into attest.{table} by name {rows}")


def cost(act: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    begin = time.process_time()
    act()
    return time.process_time() - begin


def quickest(acts: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Of each act the processor seconds of its quickest run; the first run of each warms up."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for turn in range(runs + 1):
        for name, act in acts.items():
            seconds = cost(act)
            if turn:
                taken[name].append(seconds)
    return {name: min(seconds) for name, seconds in taken.items()}


def report(name: str, value: float) -> bool:
    """Print one ratio; whether it is over its limit."""
    limit = LIMITS.get(name)
    over = limit is not None and value > limit
    print(f"ratio {name} {value:.2f} limit {'none' if limit is None else limit} {'over' if over else 'ok'}")
    return over


def of_questions(folder: Path, runs: int, scale: float) -> bool:
    """The questions about the made graph; whether any is over its limit."""
    nothing = folder / "nothing"
    (nothing / "target").mkdir(parents=True)
    (nothing / "dbt_project.yml").write_text("name: made\n")
    subprocess.run(
        [sys.executable, MADE, nothing / "target" / "manifest.json", "--scale", "0"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    warehouse = build(nothing, environment="nothing").warehouse
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute("begin")
        make_graph(connection, scale)
        connection.execute("commit")
        connection.execute("checkpoint")
        rows = connection.execute(
            "select name from names where number in (50, (select max(number) from names))"
        )
        first, last = sorted(
            (name for (name,) in rows.fetchall()), key=lambda name: int(name.rpartition("_")[2])
        )

        def asked(sql: str, node: str, **values: object) -> Callable[[], object]:
            # everything is computed and kept, and nothing is turned into Python objects
            return lambda: connection.execute(
                f"create or replace temp table answer as {sql}", {"node": node, **values}
            )

        def in_networkx() -> object:
            graph = networkx.DiGraph()
            graph.add_edges_from(
                connection.execute("select from_node, to_node from attest.lineage_edges").fetchall()
            )
            return networkx.ancestors(graph, last)

        everything = ["finance"]
        costs = quickest(
            {
                "bare": asked(BARE, last),
                "lineage_upstream": asked(RESOLVER, last, groups=everything),
                "lineage_upstream_masked": asked(RESOLVER, last, groups=[]),
                "bare_near": asked(BARE, first),
                "lineage_upstream_near": asked(RESOLVER, first, groups=everything),
            },
            runs,
        )
        costs |= quickest({"networkx": in_networkx}, 1)
    for name, seconds in costs.items():
        print(f"{name} {seconds * 1000:.0f} ms", file=sys.stderr)
    over = report("lineage_upstream", costs["lineage_upstream"] / costs["bare"])
    report("lineage_upstream_masked", costs["lineage_upstream_masked"] / costs["bare"])
    report("lineage_upstream_near", costs["lineage_upstream_near"] / costs["bare_near"])
    report("networkx", costs["networkx"] / costs["bare"])
    return over


def of_recording(folder: Path, runs: int, scale: float) -> bool:
    """Building a big project's evidence with its edges and without; whether it is over its limit."""
    path = folder / "manifest.json"
    subprocess.run([sys.executable, MADE, path, "--scale", str(scale)], check=True, stdout=subprocess.DEVNULL)
    project_file = read_project_file(folder / "attest.yml")

    def built(with_edges: bool) -> Callable[[], object]:
        def act() -> None:
            shutil.copyfile(folder / "nothing" / "evidence.duckdb", folder / "recorded.duckdb")
            collection = _collected(path, project_file)
            with duckdb.connect(str(folder / "recorded.duckdb")) as connection:
                record(connection, "attest", collection if with_edges else replace(collection, edges=()))

        return act

    costs = quickest({"with": built(True), "without": built(False)}, runs)
    for name, seconds in costs.items():
        print(f"recording {name} edges {seconds:.2f} s", file=sys.stderr)
    return report("recording_edges", costs["with"] / costs["without"])


def _collected(path: Path, project_file: ProjectFile) -> Collection:
    collection, _ = collect(path.parent, read_manifest(path), project_file, "prod")
    return collection


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of nodes (default: 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        over = [
            of_questions(folder, options.runs, options.scale),
            of_recording(folder, max(2, options.runs // 2), options.scale),
        ]
    return 1 if any(over) else 0


if __name__ == "__main__":
    sys.exit(main())
