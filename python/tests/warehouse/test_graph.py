"""Lineage as it comes: circles, depth, ends that nobody has, metrics and what reads them; every query ends."""

from __future__ import annotations

import pytest

GOVERNED = {"authority": "authoritative", "effective_from": "2024-01-01", "permissions": ["everyone"]}
SUPPORT = "select kind, node_id from support_on('{}', '2025-01-01') order by all"
DEEP = 3000


@pytest.fixture
def graph(shop, node):
    """Records nodes by what each reads, all of them governed, and returns what was found."""

    def record(reads, **sections):
        nodes = {
            unique_id: node(unique_id, depends_on={"nodes": parents}, config={"meta": {"attest": GOVERNED}})
            for unique_id, parents in reads.items()
        }
        shop.manifest(**{"sources": {}, "exposures": {}, "nodes": nodes, **sections})
        return shop.record()

    return record


@pytest.mark.parametrize(
    ("reads", "told"),
    [
        ({"m": ["m"]}, "m → m"),
        ({"m": ["a"], "a": ["m"]}, "a → m → a"),
        ({"m": ["a"], "a": ["b"], "b": ["a"]}, "a → b → a"),
    ],
    ids=["itself", "two", "above"],
)
def test_a_circle_is_told_and_every_query_ends(shop, graph, reads, told):
    def unique(name):
        return f"model.shop.{name}"

    found = graph({unique(to): [unique(one) for one in parents] for to, parents in reads.items()})
    assert found == [" → ".join(unique(name) for name in told.split(" → "))]
    first = unique(told[0])
    assert shop.rows("select node_id, file, json_path from reader_findings where found like '% → %'") == [
        (first, "manifest.json", f"nodes['{first}'].depends_on.nodes")
    ]
    assert shop.rows("select count(*) from lineage_edges") == [(sum(map(len, reads.values())),)]
    supports = {node_id for _, node_id in shop.rows(SUPPORT.format("model.shop.m"))}
    assert supports == {unique(one) for parents in reads.values() for one in parents}


def test_a_chain_of_any_depth(shop, graph):
    reads = {f"model.shop.m{n}": [f"model.shop.m{n - 1}"] if n else [] for n in range(DEEP)}
    assert graph(reads) == []
    assert shop.rows("select count(*) from lineage_edges") == [(DEEP - 1,)]
    rows = shop.rows(SUPPORT.format(f"model.shop.m{DEEP - 1}"))
    assert len(rows) == DEEP - 1
    assert ("model", f"model.shop.m{DEEP - 2}") in rows
    assert ("through", "model.shop.m0") in rows


def test_ephemeral_models_are_gone_through(shop, graph, node):
    source = node("source.shop.raw.o", source_name="raw", config={"meta": {"attest": GOVERNED}})
    reads = {"model.shop.m": ["model.shop.e"], "model.shop.e": ["source.shop.raw.o"]}
    assert graph(reads, sources={"source.shop.raw.o": source}) == []
    assert shop.rows(SUPPORT.format("model.shop.m")) == [
        ("model", "model.shop.e"), ("source", "source.shop.raw.o")
    ]  # fmt: skip


def test_an_end_that_no_manifest_has_is_kept(shop, graph):
    assert graph({"model.shop.m": ["model.other.gone", "source.shop.gone.t"]}) == []
    assert shop.rows("select from_node, stated from lineage_edges order by all") == [
        ("model.other.gone", True), ("source.shop.gone.t", True)
    ]  # fmt: skip
    # no more than a name in what reads it: who may see that sees the name
    assert shop.rows("select kind, node_id, outcome from support_on('model.shop.m', '2025-01-01') order by all") == [
        ("model", "model.other.gone", "answer"), ("source", "source.shop.gone.t", "answer")
    ]  # fmt: skip


def test_metrics_and_everything_that_reads_them(shop, graph, node):
    def metric(name, kind, *parents, **params):
        nulls = {"measure": None, "input_measures": [], "metrics": []}
        return node(name, type=kind, type_params=nulls | params, depends_on={"nodes": list(parents)},
                    config={"meta": {"attest": GOVERNED}})  # fmt: skip

    orders, base, net, rate = (
        "semantic_model.shop.orders",
        *(f"metric.shop.{n}" for n in ("base", "net", "rate")),
    )
    aggregation = {"semantic_model": "orders", "agg": "sum"}
    found = graph(
        {"model.shop.m": []},
        semantic_models={orders: node(orders, depends_on={"nodes": ["model.shop.m"]})},
        metrics={
            base: metric(base, "simple", orders, metric_aggregation_params=aggregation, expr="amount"),
            net: metric(net, "derived", base, metrics=[{"name": "base"}], expr="base - 1"),
            rate: metric(rate, "ratio", base, net, numerator={"name": "net"}, denominator={"name": "base"}),
        },
        saved_queries={"saved_query.shop.q": node("saved_query.shop.q", depends_on={"nodes": [rate]})},
        exposures={
            "exposure.shop.e": node("exposure.shop.e", type="dashboard", depends_on={"nodes": [rate, net]})
        },
    )
    assert found == []
    assert shop.rows("select from_node, to_node, kind from lineage_edges order by all") == sorted(
        [("model.shop.m", orders, "ref"), (orders, base, "semantic_model"), (base, net, "metric"),
         (base, rate, "metric"), (net, rate, "metric"), (rate, "saved_query.shop.q", "metric"),
         (rate, "exposure.shop.e", "metric"), (net, "exposure.shop.e", "metric")]
    )  # fmt: skip
    assert shop.rows(
        "select count(distinct logic_hash) from assertions where entity_type = 'metric_definition'"
    ) == [(3,)]
    assert shop.rows("select depends_on from exposures") == [([net, rate],)]
    assert ("through", "model.shop.m") in shop.rows(
        "select kind, node_id from support_on('metric.shop.rate', '2025-01-01')"
    )
