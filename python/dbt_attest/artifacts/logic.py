"""The logic behind a node as one hash: of its SQL or of a metric's parameters, whatever dbt version wrote it.

What changes in a hash is what somebody would call a change of logic: not the layout of the SQL, not comments,
and not the three times that dbt changed how a metric is written (`type`/`sql`, `calculation_method`/
`expression`, `type_params`; and since 1.12 the aggregation stands in the metric and no longer in a measure).
"""

from __future__ import annotations

import hashlib
import re
from itertools import zip_longest
from typing import Any

import msgspec

from dbt_attest.artifacts.manifest import Manifest
from dbt_attest.artifacts.nodes import Measure, Metric, Node, SemanticModel

# One alternative is text that stays as it is, the other is space: blanks, line ends, comments of SQL and
# Jinja. A single blank between two words is not matched, so that most of a text is passed over quickly.
_SQL = re.compile(
    r"""('(?:[^']|'')*'|"[^"]*"|`[^`]*`)"""
    r"|(?:[^\S ]|--[^\n]*|/\*.*?\*/|\{\#.*?\#\}| (?=\s|--|/\*|\{\#))(?:\s|--[^\n]*|/\*.*?\*/|\{\#.*?\#\})*",
    re.DOTALL,
)
_LINE_END = re.compile(r"[ \t\f\v]*\r?\n|\r")
# What dbt writes for nothing, in one version or another.
_NOTHING: tuple[Any, ...] = (None, False, "", [], {})
_DERIVED_KEYS = frozenset({"input_measures", "input_metrics", "is_private"})


class LogicHashes:
    """The logic hashes of one manifest's nodes and metrics."""

    def __init__(self, manifest: Manifest) -> None:
        self._metrics = {metric.name: metric for metric in manifest.metrics.values()}
        self._models = {model.name: model for model in manifest.semantic_models.values()}
        self._measures: dict[str, list[tuple[SemanticModel, Measure]]] = {}
        for model in manifest.semantic_models.values():
            for measure in model.measures or ():
                self._measures.setdefault(measure.name, []).append((model, measure))

    def of(self, node: Node) -> str | None:
        """SHA-256 of the node's logic; None where it has none: a source, an exposure, a seed (data)."""
        if isinstance(node, Metric):
            said = self.parameters(node)
            return _sha256(msgspec.json.encode(said, order="deterministic")) if said else None
        code = node.raw_code or node.raw_sql
        if code:
            return _sha256(normalised(code, node.language).encode("utf-8", "surrogatepass"))
        return None

    def parameters(self, metric: Metric) -> dict[str, Any]:
        """What a metric computes, in one form for all dbt versions; what says nothing is left out."""
        cleaned: dict[str, Any] = _cleaned(self._parameters(metric))
        return cleaned

    def _parameters(self, metric: Metric) -> dict[str, Any]:
        if metric.type_params is None:
            return {
                "type": {"expression": "derived"}.get(metric.type or "", metric.type)
                or metric.calculation_method,
                "expr": _text(metric.sql if metric.calculation_method is None else metric.expression),
                "timestamp": metric.timestamp,
                "model": _text(metric.model),
                "window": metric.window,
                "filters": metric.filters,
            }
        params = metric.type_params
        if metric.type == "simple":
            found = self._simple(metric, params)
            return found | {"filter": [*found.get("filter", ()), *_filters(metric.filter)]}
        cumulative = _mapping(params.get("cumulative_type_params"))
        conversion = _mapping(params.get("conversion_type_params"))
        found = {
            "type": metric.type,
            "filter": _filters(metric.filter),
            "time_granularity": metric.time_granularity,
            "expr": _text(params.get("expr")),
            "metrics": [self._input(one) for one in _list(params.get("metrics"))],
            "numerator": self._input(params.get("numerator")),
            "denominator": self._input(params.get("denominator")),
            "of": self._expanded(params.get("measure"), cumulative.get("metric")),
            "window": cumulative.get("window") or params.get("window"),
            "grain_to_date": cumulative.get("grain_to_date") or params.get("grain_to_date"),
            "period_agg": None if cumulative.get("period_agg") == "first" else cumulative.get("period_agg"),
        }
        if conversion:
            known = {"base_measure", "conversion_measure", "base_metric", "conversion_metric"}
            found["conversion"] = {key: value for key, value in conversion.items() if key not in known} | {
                "base": self._expanded(conversion.get("base_measure"), conversion.get("base_metric")),
                "converted": self._expanded(
                    conversion.get("conversion_measure"), conversion.get("conversion_metric")
                ),
            }
        return found

    def _simple(self, metric: Metric, params: dict[str, Any]) -> dict[str, Any]:
        measure = params.get("measure")
        if measure:
            return self._measured(_reference(measure), metric)
        aggregation = _mapping(params.get("metric_aggregation_params"))
        model = self._models.get(str(aggregation.get("semantic_model")))
        return _aggregated(
            aggregation.get("semantic_model") if model is None else model,
            aggregation.get("agg"),
            params.get("expr") or aggregation.get("expr") or metric.name,
            aggregation,
            params,
        )

    def _measured(self, reference: dict[str, Any], metric: Metric | None) -> dict[str, Any]:
        """What a measure computes, as the metric would say it itself since 1.12."""
        candidates = self._measures.get(str(reference.get("name")), [])
        parents = (metric.depends_on.nodes if metric and metric.depends_on else None) or []
        own = [found for found in candidates if found[0].unique_id in parents] or candidates
        if len(own) != 1:
            return {"type": "simple", "measure": reference}
        model, measure = own[0]
        said = {
            "agg_params": measure.agg_params,
            "agg_time_dimension": measure.agg_time_dimension,
            "non_additive_dimension": measure.non_additive_dimension,
        }
        found = _aggregated(model, measure.agg, measure.expr or measure.name, said, reference)
        return found | {"filter": _filters(reference.get("filter"))}

    def _expanded(self, measure: Any, metric: Any) -> Any:
        if measure:
            return self._measured(_reference(measure), None)
        if not metric:
            return None
        reference = _reference(metric)
        found = self._metrics.get(str(reference.get("name")))
        only_named = not _said({key: value for key, value in reference.items() if key != "name"})
        if found is not None and found.type == "simple" and found.type_params is not None and only_named:
            return self._parameters(found)
        return self._input(reference)

    def _input(self, metric: Any) -> Any:
        if not metric:
            return None
        reference = _reference(metric)
        return reference | {"filter": _filters(reference.get("filter"))}


def normalised(code: str, language: str | None = None) -> str:
    """SQL without layout and comments, text in quotes as it is; of other languages only line ends change."""
    if language not in (None, "sql"):
        return _LINE_END.sub("\n", code).strip()
    # Like sub(r"\1 ", code), which is Python before 3.12: texts, and between two of them a quoted one or None.
    texts = _SQL.split(code)
    return " ".join([text + (kept or "") for text, kept in zip_longest(texts[::2], texts[1::2])]).strip()


def _aggregated(
    model: SemanticModel | Any, agg: Any, expr: Any, aggregation: dict[str, Any], params: dict[str, Any]
) -> dict[str, Any]:
    on: Any = model
    default_time: Any = None
    if isinstance(model, SemanticModel):
        # Since 1.12 a semantic model has the name of its model, before a name of its own.
        parents = (model.depends_on.nodes if model.depends_on else None) or []
        on = parents[0] if len(parents) == 1 else model.name
        default_time = (model.defaults or {}).get("agg_time_dimension")
    return {
        "type": "simple",
        "on": on,
        "agg": agg,
        "expr": _text(expr),
        "agg_params": aggregation.get("agg_params"),
        "agg_time_dimension": aggregation.get("agg_time_dimension") or default_time,
        "non_additive_dimension": aggregation.get("non_additive_dimension"),
        "fill_nulls_with": params.get("fill_nulls_with"),
        "join_to_timespine": params.get("join_to_timespine"),
    }


def _reference(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"name": value}


def _filters(value: Any) -> list[str]:
    """The conditions of a filter: one template in v10, a list of them since v11."""
    if isinstance(value, dict):
        value = value.get("where_filters") or [value]
    if isinstance(value, str):
        value = [{"where_sql_template": value}]
    texts = [_text(one.get("where_sql_template") if isinstance(one, dict) else one) for one in _list(value)]
    return [text for text in texts if text]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> Any:
    return normalised(value) if isinstance(value, str) else value


def _cleaned(value: Any) -> Any:
    """A value without what says nothing, at any depth."""
    if isinstance(value, dict):
        cleaned = {key: _cleaned(one) for key, one in value.items() if key not in _DERIVED_KEYS}
        return _said(cleaned)
    return [_cleaned(one) for one in value] if isinstance(value, list) else value


def _said(values: dict[str, Any]) -> dict[str, Any]:
    # 0 equals False in Python, and `fill_nulls_with: 0` says something.
    return {
        key: value
        for key, value in values.items()
        if not any(
            value is nothing or (value == nothing and not isinstance(value, (int, float)))
            for nothing in _NOTHING
        )
    }


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
