"""The lineage edges that a manifest states."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import msgspec

from dbt_attest.artifacts.manifest import Manifest

_KINDS = {"source": "source", "metric": "metric", "semantic_model": "semantic_model"}


class Edge(msgspec.Struct, frozen=True, order=True, gc=False):
    """One edge of the lineage graph: `from_node` is read by `to_node`, both unique_ids.

    `kind` is ref, source, metric or semantic_model, by what is read, or test, where a test reads it;
    `strength` is `compiled`: dbt resolved it. `broken` is an end that the manifest itself does not contain.
    """

    from_node: str
    to_node: str
    kind: str
    strength: str
    broken: bool = False


def edges(manifest: Manifest) -> list[Edge]:
    """All edges stated by `depends_on`, sorted and without repetition; an end that is in no manifest is kept.

    Edges into analyses and operations are no lineage of data, and the nodes of the package `attest` are ours:
    neither is returned.
    """
    readers = [
        *manifest.nodes.values(),
        *manifest.metrics.values(),
        *manifest.semantic_models.values(),
        *manifest.exposures.values(),
        *manifest.saved_queries.values(),
    ]
    present = manifest.unique_ids
    # tuples are compared much faster than objects
    found: list[tuple[str, str, str, str, bool]] = []
    for node in readers:
        if node.package_name == "attest" or node.depends_on is None:
            continue
        for parent in dict.fromkeys(node.depends_on.nodes or ()):
            kind = _KINDS.get(parent.split(".", 1)[0], "ref")
            found.append((parent, node.unique_id, kind, "compiled", parent not in present))
    for test, parents in manifest.test_reads.items():
        for parent in dict.fromkeys(parents) if test.split(".", 2)[1:2] != ["attest"] else ():
            found.append((parent, test, "test", "compiled", parent not in present))
    return [Edge(*edge) for edge in sorted(found)]


def circles(edges: list[Edge]) -> list[list[str]]:
    """Nodes that read each other in a circle, each from its smallest unique_id back to it, sorted.

    dbt refuses them; hand-written manifests have them (dbt-core#4733). Of several circles through one node
    one is returned.
    """
    # most nodes only read or are only read, and are in no circle
    between = {edge.from_node for edge in edges} & {edge.to_node for edge in edges}
    graph: dict[str, list[str]] = {}
    for edge in edges:
        if edge.from_node in between and edge.to_node in between:
            graph.setdefault(edge.to_node, []).append(edge.from_node)
    found: list[list[str]] = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            around = error.args[1][:-1]
            start = around.index(min(around))
            found.append([*around[start:], *around[:start], around[start]])
            for node in around:
                del graph[node]
        else:
            return sorted(found)
