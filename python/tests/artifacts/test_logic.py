"""The logic hash: the same through every dbt version, another when the logic is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.artifacts import LogicHashes, read_manifest
from dbt_attest.artifacts.logic import normalised

REAL = Path(__file__).parents[4] / "shared" / "artifacts"
PARSER = "dbt-artifacts-parser/manifest/v12/jaffle_shop/manifest_1.{}.json"
SAME_METRICS = [
    (PARSER.format(10), PARSER.format(11), 19),
    (PARSER.format(11), PARSER.format(12), 19),
    ("dbt-bouncer/dbt_112/manifest.json", "dbt-bouncer/dbt_20/manifest.json", 1),
    *(
        (f"dbt-core/state/v{n}/manifest.json", f"dbt-core/state/v{n + 1}/manifest.json", 1)
        for n in range(4, 9)
    ),
    ("dbt-core/state/v10/manifest.json", "dbt-core/state/v11/manifest.json", 4),
    ("dbt-core/state/v11/manifest.json", "dbt-core/state/v12/manifest.json", 4),
]


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/artifacts is not here")
@pytest.mark.parametrize(("before", "after", "count"), SAME_METRICS)
def test_real_logic_is_the_same_in_the_next_version(before: str, after: str, count: int) -> None:
    one, two = read_manifest(REAL / before), read_manifest(REAL / after)
    first, second = LogicHashes(one), LogicHashes(two)
    both = one.metrics.keys() & two.metrics.keys()
    assert len(both) == count
    assert [key for key in both if first.of(one.metrics[key]) != second.of(two.metrics[key])] == []
    nodes = [key for key in one.nodes.keys() & two.nodes.keys() if not key.startswith("seed.")]
    differing = [key for key in nodes if first.of(one.nodes[key]) != second.of(two.nodes[key])]
    # its SQL was really rewritten between the two
    assert differing in ([], ["model.jaffle_shop.metricflow_time_spine"])
    assert all(first.of(one.nodes[key]) for key in nodes)


def simple(**params: Any) -> dict[str, Any]:
    return {"resource_type": "metric", "name": "revenue", "package_name": "p", "type": "simple",
            "type_params": params}  # fmt: skip


MODEL = {
    "unique_id": "semantic_model.p.orders",
    "name": "orders",
    "package_name": "p",
    "depends_on": {"nodes": ["model.p.orders"]},
    "defaults": {"agg_time_dimension": "ordered_at"},
    "measures": [{"name": "revenue", "agg": "sum", "expr": "amount"}],
}


@pytest.fixture
def logic(write: Callable[..., Path]) -> Callable[..., str | None]:
    def of(metric: dict[str, Any], model: dict[str, Any] = MODEL) -> str | None:
        path = write(metrics={"metric.p.revenue": metric}, semantic_models={"semantic_model.p.orders": model})
        manifest = read_manifest(path)
        return LogicHashes(manifest).of(manifest.metrics["metric.p.revenue"])

    return of


def aggregated(**changes: Any) -> dict[str, Any]:
    """A metric as dbt 1.12 writes it."""
    aggregation = {"semantic_model": "orders", "agg": "sum", "agg_params": {"percentile": None}}
    expr = changes.pop("expr", "amount")
    aggregation |= {"agg_time_dimension": "ordered_at"} | changes
    return simple(measure=None, expr=expr, metric_aggregation_params=aggregation)


def test_a_measure_and_an_aggregation_are_one_logic(logic: Callable[..., str | None]) -> None:
    with_measure = logic(simple(measure={"name": "revenue", "filter": None}, input_measures=[{"name": "x"}]))
    assert with_measure == logic(aggregated())


@pytest.mark.parametrize(
    "change", [{"agg": "max"}, {"expr": "net"}, {"agg_time_dimension": "paid_at"},
               {"non_additive_dimension": {"name": "d"}}],
)  # fmt: skip
def test_another_aggregation_is_another_logic(
    logic: Callable[..., str | None], change: dict[str, Any]
) -> None:
    assert logic(aggregated(**change)) != logic(aggregated())


def test_the_measure_behind_a_metric_is_part_of_its_logic(logic: Callable[..., str | None]) -> None:
    metric = simple(measure={"name": "revenue"})
    changed = MODEL | {"measures": [{"name": "revenue", "agg": "sum", "expr": "amount - refunds"}]}
    assert logic(metric) != logic(metric, changed)


def test_zero_for_nothing_and_filters_are_logic(logic: Callable[..., str | None]) -> None:
    plain = {"name": "revenue"}
    hashes = {
        logic(simple(measure=plain)),
        logic(simple(measure=plain | {"fill_nulls_with": 0})),
        logic(simple(measure=plain | {"join_to_timespine": True})),
        logic(simple(measure=plain) | {"filter": {"where_sql_template": "{{ Dimension('a__b') }} = 1"}}),
    }
    assert len(hashes) == 4
    one = {"where_sql_template": "a  = 1\n"}
    assert logic(simple(measure=plain) | {"filter": one}) == logic(
        simple(measure=plain) | {"filter": {"where_filters": [{"where_sql_template": "a = 1"}]}}
    )


def test_a_template_in_a_filter_is_text(logic: Callable[..., str | None]) -> None:
    assert logic(simple(measure={"name": "revenue"}) | {"filter": "{{ undefined() }} {% raw %}"})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("select 1\r\nfrom t  \r\n", "select 1\nfrom t"),
        ("select  a,\n\t b", "select a, b"),
        ("select a -- why\nfrom t", "select a\nfrom t"),
        ("select /* it's */ a {# no #} from t", "select a from t"),
    ],
)
def test_layout_and_comments_are_no_logic(one: str, two: str) -> None:
    assert normalised(one) == normalised(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("select 'a  b'", "select 'a b'"),
        ("select 'a -- b'", "select 'a'"),
        ("select 1 -- ,2\n,3", "select 1 -- ,2 ,3"),
        ('select "a  b"', 'select "a b"'),
        ("select a", "select b"),
        ("select 'it''s  1'", "select 'it''s 1'"),
    ],
)
def test_what_is_in_quotes_or_comments_out_code_is_logic(one: str, two: str) -> None:
    assert normalised(one) != normalised(two)


def test_the_layout_of_python_is_logic() -> None:
    assert normalised("if a:\n  b\nc", "python") != normalised("if a:\n  b\n  c", "python")
    assert normalised("a \r\nb", "python") == normalised("a\nb\n", "python")


def test_raw_sql_is_raw_code_and_a_source_has_no_logic(write: Callable[..., Path]) -> None:
    node = {"resource_type": "model", "name": "m", "package_name": "p"}
    nodes = {"model.p.a": {**node, "raw_sql": "select 1"}, "model.p.b": {**node, "raw_code": "select  1"},
             "model.p.c": node}  # fmt: skip
    manifest = read_manifest(write(nodes=nodes))
    hashes = [LogicHashes(manifest).of(one) for one in manifest.nodes.values()]
    assert hashes[0] == hashes[1] is not None
    assert hashes[2] is None


INPUT = {"name": "b", "filter": None, "alias": None, "offset_window": None}


@pytest.mark.parametrize(
    ("kind", "params", "other"),
    [
        ("derived", {"expr": "a - b", "metrics": [{"name": "a"}, INPUT]}, {"expr": "a + b"}),
        ("derived", {"expr": "a - b", "metrics": [{"name": "a"}, INPUT]}, {"metrics": [{"name": "a"}]}),
        ("ratio", {"numerator": {"name": "a"}, "denominator": INPUT}, {"denominator": {"name": "c"}}),
        ("cumulative", {"cumulative_type_params": {"metric": INPUT, "window": {"count": 7}}},
         {"cumulative_type_params": {"metric": INPUT, "window": {"count": 8}}}),
        ("conversion", {"conversion_type_params": {"base_metric": INPUT, "conversion_metric": INPUT}},
         {"conversion_type_params": {"base_metric": INPUT, "conversion_metric": {"name": "c"}}}),
    ],
)  # fmt: skip
def test_metrics_on_metrics_have_a_logic_with_and_without_the_null_measure_of_newer_versions(
    logic: Callable[..., str | None], kind: str, params: dict[str, Any], other: dict[str, Any]
) -> None:
    nulls = {
        "measure": None,
        "input_measures": [],
        "metric_aggregation_params": None,
        "join_to_timespine": False,
    }
    older, newer = simple(**params), simple(**nulls, **params)
    assert logic(older | {"type": kind}) == logic(newer | {"type": kind}) is not None
    assert logic(older | {"type": kind}) != logic(simple(**{**params, **other}) | {"type": kind})


def test_a_chain_of_metrics_of_any_depth_has_its_logic(write: Callable[..., Path]) -> None:
    metrics = {
        f"metric.p.m{n}": simple(metrics=[{"name": f"m{n - 1}"}]) | {"name": f"m{n}", "type": "derived"}
        for n in range(3000)
    }
    manifest = read_manifest(write(metrics=metrics))
    assert len({LogicHashes(manifest).of(metric) for metric in manifest.metrics.values()}) == 3000


@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [None]])
@pytest.mark.parametrize("key", ["measure", "metrics", "numerator", "metric_aggregation_params",
                                 "cumulative_type_params", "conversion_type_params"])  # fmt: skip
@pytest.mark.parametrize("kind", ["simple", "derived", "ratio", "cumulative", "conversion", "new"])
def test_parameters_of_no_known_form_do_not_stop_a_build(
    logic: Callable[..., str | None], kind: str, key: str, value: Any
) -> None:
    assert logic(simple(**{key: value}) | {"type": kind, "filter": value}) is not None
