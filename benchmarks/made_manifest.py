"""A made manifest.json of a big project, as dbt 1.11 writes it, the same on every machine.

20,000 models, 30,000 tests, 2,000 sources and 1,000 metrics, every model, source and metric annotated: about
130 MB. Nodes have the keys of real ones, SQL and columns, and meta in `config` and beside it.

    python benchmarks/made_manifest.py FILE [--scale 1.0] [--changed 0.01] [--at 2026-01-01T00:00:00Z]
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 20_260_101
MODELS, TESTS, SOURCES, METRICS = 20_000, 30_000, 2_000, 1_000
PROJECT = "made"
_WORDS = [
    "order",
    "customer",
    "revenue",
    "margin",
    "invoice",
    "refund",
    "ledger",
    "region",
    "channel",
    "product",
    "session",
    "campaign",
    "payment",
    "tax",
    "shipment",
    "return",
    "discount",
    "net",
    "gross",
    "daily",
    "monthly",
    "adjusted",
    "booked",
    "recognised",
    "deferred",
    "allocated",
]


def write_manifest(path: Path, *, at: str, scale: float = 1.0, changed: float = 0.0) -> None:
    """Write the manifest; `changed` is the share of definitions whose text differs from the first one's."""
    parts = [
        ("metadata", _metadata(at)),
        ("nodes", {**_models(scale, changed), **_tests(scale)}),
        ("sources", _sources(scale, changed)),
        ("macros", {}),
        ("docs", {}),
        ("exposures", {}),
        ("metrics", _metrics(scale, changed)),
        ("groups", {}),
        ("selectors", {}),
        ("disabled", {}),
    ]
    sections = dict(parts)
    resources: dict[str, Any] = {**sections["nodes"], **sections["sources"], **sections["metrics"]}
    parents = {key: one.get("depends_on", {}).get("nodes", []) for key, one in resources.items()}
    children: dict[str, list[str]] = {key: [] for key in resources}
    for key, nodes in parents.items():
        for node in nodes:
            children[node].append(key)
    sections |= {"parent_map": parents, "child_map": children, "group_map": {}}
    sections |= {"saved_queries": {}, "semantic_models": {}, "unit_tests": {}, "functions": {}}
    with path.open("w", encoding="utf-8") as file:
        json.dump(sections, file)


def _metadata(at: str) -> dict[str, Any]:
    return {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "dbt_version": "1.11.2",
        "generated_at": at,
        "invocation_id": f"invocation {at}",
        "invocation_started_at": at,
        "env": {},
        "project_name": PROJECT,
        "project_id": "c9f0f895fb98ab9159f51fd0297e236d",
        "user_id": None,
        "send_anonymous_usage_stats": False,
        "adapter_type": "snowflake",
        "quoting": {"database": True, "schema": True, "identifier": True, "column": None},
        "run_started_at": at,
    }


def _models(scale: float, changed: float) -> dict[str, Any]:
    chance = random.Random(SEED)
    made: dict[str, Any] = {}
    ids: list[str] = []
    for number in range(round(MODELS * scale)):
        name = f"{chance.choice(('stg', 'int', 'fct', 'dim'))}_{_name(chance)}_{number}"
        folder = f"models/{_WORDS[number % 7]}/{_WORDS[number % 11]}"
        columns = [f"{chance.choice(_WORDS)}_{column}" for column in range(chance.randint(0, 1))]
        parents = [ids[-1 - chance.randrange(min(50, number))] for _ in range(2)] if number else []
        body = ",\n    ".join(f"sum(input.{column}) as {column}" for column in columns or ["id"])
        meta = {"attest": _annotation(chance, number, changed)}
        config = {
            "enabled": True, "alias": None, "schema": "marts", "database": None, "tags": ["nightly"],
            "meta": meta, "group": None, "materialized": "table", "incremental_strategy": None,
            "persist_docs": {}, "post-hook": [], "pre-hook": [], "quoting": {}, "column_types": {},
            "full_refresh": None, "unique_key": None, "on_schema_change": "ignore", "grants": {},
            "contract": {"enforced": False, "alias_types": True}, "access": "protected",
        }  # fmt: skip
        unique_id = f"model.{PROJECT}.{name}"
        ids.append(unique_id)
        made[unique_id] = _node("model", unique_id, name, f"{folder}/{name}.sql", config, parents, chance) | {
            "columns": {column: _column(column, chance) for column in columns},
            "patch_path": f"{PROJECT}://{folder}/schema.yml",
            "unrendered_config": {"materialized": "table"},
            "relation_name": f'"analytics"."marts"."{name}"',
            "raw_code": "select\n    "
            + body
            + "\nfrom "
            + " join ".join(f"{{{{ ref('{parent.rpartition('.')[2]}') }}}}" for parent in parents),
            "compiled_code": "select\n    "
            + body
            + "\nfrom "
            + " join ".join(f'"analytics"."marts"."{parent.rpartition(".")[2]}"' for parent in parents),
            "access": "protected", "constraints": [], "version": None, "latest_version": None,
            "deprecation_date": None, "primary_key": [], "time_spine": None,
        }  # fmt: skip
    return made


def _tests(scale: float) -> dict[str, Any]:
    chance = random.Random(SEED)
    models = _models_named(scale)
    made: dict[str, Any] = {}
    for number in range(round(TESTS * scale)):
        model = models[number % len(models)]
        column = chance.choice(_WORDS)
        name = f"{chance.choice(('not_null', 'unique'))}_{model.rpartition('.')[2]}_{column}"
        unique_id = f"test.{PROJECT}.{name}.{number:010x}"
        config = {
            "enabled": True, "alias": None, "schema": "dbt_test__audit", "database": None, "tags": [],
            "meta": {}, "materialized": "test", "severity": "ERROR", "store_failures": None,
            "where": None, "limit": None, "fail_calc": "count(*)", "warn_if": "!= 0", "error_if": "!= 0",
        }  # fmt: skip
        made[unique_id] = _node("test", unique_id, name, "models/schema.yml", config, [model], chance) | {
            "raw_code": "{{ test_not_null(**_dbt_generic_test_kwargs) }}",
            "column_name": column, "attached_node": model, "file_key_name": "models.name",
            "test_metadata": {"name": "not_null", "kwargs": {"column_name": column}, "namespace": None},
        }  # fmt: skip
    return made


_named: dict[float, list[str]] = {}


def _models_named(scale: float) -> list[str]:
    if scale not in _named:
        _named[scale] = list(_models(scale, 0.0))
    return _named[scale]


def _sources(scale: float, changed: float) -> dict[str, Any]:
    chance = random.Random(SEED + 1)
    made: dict[str, Any] = {}
    for number in range(round(SOURCES * scale)):
        name = f"{_name(chance)}_{number}"
        unique_id = f"source.{PROJECT}.raw.{name}"
        meta = {"attest": _annotation(chance, number, changed)}
        made[unique_id] = {
            "database": "raw", "schema": "raw", "name": name, "resource_type": "source",
            "package_name": PROJECT, "path": "models/sources.yml",
            "original_file_path": "models/sources.yml", "unique_id": unique_id,
            "fqn": [PROJECT, "raw", name], "source_name": "raw", "source_description": "What is loaded.",
            "loader": "loader", "identifier": name,
            "quoting": {"database": None, "schema": None, "identifier": None, "column": None},
            "loaded_at_field": "loaded_at", "loaded_at_query": None,
            "freshness": {"warn_after": {"count": 12, "period": "hour"},
                          "error_after": {"count": 24, "period": "hour"}, "filter": None},
            "external": None, "description": _sentence(chance), "columns": {}, "meta": meta,
            "source_meta": {}, "tags": [],
            "config": {"enabled": True, "event_time": None, "freshness": None, "loaded_at_field": None,
                       "loaded_at_query": None, "meta": meta, "tags": []},
            "patch_path": None, "unrendered_config": {}, "relation_name": f'"raw"."raw"."{name}"',
            "created_at": 1767225600.5, "unrendered_database": None, "unrendered_schema": None,
            "doc_blocks": [],
        }  # fmt: skip
    return made


def _metrics(scale: float, changed: float) -> dict[str, Any]:
    chance = random.Random(SEED + 2)
    models = _models_named(scale)
    made: dict[str, Any] = {}
    for number in range(round(METRICS * scale)):
        name = f"{_name(chance)}_{number}"
        unique_id = f"metric.{PROJECT}.{name}"
        meta = {"attest": _annotation(chance, number, changed)}
        made[unique_id] = {
            "name": name, "resource_type": "metric", "package_name": PROJECT, "path": "metrics.yml",
            "original_file_path": "models/metrics.yml", "unique_id": unique_id, "fqn": [PROJECT, name],
            "description": _sentence(chance), "label": name.replace("_", " "), "type": "simple",
            "type_params": {"measure": {"name": name, "filter": None, "alias": None,
                                        "join_to_timespine": False, "fill_nulls_with": None},
                            "input_measures": [], "numerator": None, "denominator": None, "expr": None,
                            "window": None, "grain_to_date": None, "metrics": [],
                            "conversion_type_params": None, "cumulative_type_params": None},
            "filter": None, "metadata": None, "time_granularity": None, "meta": meta, "tags": [],
            "config": {"enabled": True, "group": None, "meta": meta},
            "unrendered_config": {}, "sources": [],
            "depends_on": {"macros": [], "nodes": [models[number % len(models)]]}, "refs": [],
            "metrics": [], "created_at": 1767225600.5, "group": None,
        }  # fmt: skip
    return made


def _node(
    kind: str, unique_id: str, name: str, path: str, config: dict[str, Any], parents: list[str],
    chance: random.Random,
) -> dict[str, Any]:  # fmt: skip
    return {
        "database": "analytics", "schema": "marts", "name": name, "resource_type": kind,
        "package_name": PROJECT, "path": path.removeprefix("models/"), "original_file_path": path,
        "unique_id": unique_id, "fqn": [PROJECT, *path.split("/")[1:-1], name], "alias": name,
        "checksum": {"name": "sha256", "checksum": f"{chance.getrandbits(256):064x}"}, "config": config,
        "tags": config["tags"], "description": _sentence(chance) if kind == "model" else "", "columns": {},
        "meta": config["meta"], "group": None, "docs": {"show": True, "node_color": None},
        "patch_path": None, "build_path": None, "unrendered_config": {}, "created_at": 1767225600.5,
        "relation_name": None, "doc_blocks": [], "language": "sql",
        "refs": [{"name": parent.rpartition(".")[2], "package": None, "version": None} for parent in parents],
        "sources": [], "metrics": [],
        "depends_on": {"macros": ["macro.dbt.statement"], "nodes": parents},
        "compiled_path": None, "compiled": True, "compiled_code": "", "extra_ctes_injected": True,
        "extra_ctes": [],
        "contract": {"enforced": False, "alias_types": True, "checksum": None},
    }  # fmt: skip


def _annotation(chance: random.Random, number: int, changed: float) -> dict[str, Any]:
    # the same chance is used up whether or not the definition is a changed one
    said = {
        "authority": chance.choice(("authoritative", "authoritative", "non_authoritative")),
        "approved_by": "Data council",
        "approved_at": f"2025-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        "effective_from": f"2025-{chance.randint(1, 12):02}-01",
        "owner": f"{chance.choice(_WORDS)} team",
        "permissions": [chance.choice(("everyone", "finance", "analytics_readers"))],
        "grain": f"one row a {chance.choice(_WORDS)}",
        "definition": _sentence(chance),
    }
    if changed and number % round(1 / changed) == 0:
        said["definition"] += " As agreed since."
    return said


def _column(name: str, chance: random.Random) -> dict[str, Any]:
    return {
        "name": name, "description": _sentence(chance), "meta": {}, "data_type": "numeric",
        "constraints": [], "quote": None, "config": {"meta": {}, "tags": []}, "tags": [],
        "granularity": None, "doc_blocks": [],
    }  # fmt: skip


def _name(chance: random.Random) -> str:
    return f"{chance.choice(_WORDS)}_{chance.choice(_WORDS)}"


def _sentence(chance: random.Random) -> str:
    return f"The {' '.join(chance.choices(_WORDS, k=8))} after returns."


def _counted(path: Path) -> Iterator[str]:
    manifest = json.loads(path.read_bytes())
    kinds = [node["resource_type"] for node in manifest["nodes"].values()]
    yield f"{kinds.count('model')} models, {kinds.count('test')} tests"
    yield f"{len(manifest['sources'])} sources, {len(manifest['metrics'])} metrics"
    yield f"{path.stat().st_size / 1e6:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--at", default="2026-01-01T00:00:00Z", help="generated_at of the manifest")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of nodes (default: 1)")
    parser.add_argument("--changed", type=float, default=0.0, help="share of changed definitions")
    options = parser.parse_args()
    write_manifest(options.file, at=options.at, scale=options.scale, changed=options.changed)
    print(", ".join(_counted(options.file)))


if __name__ == "__main__":
    main()
