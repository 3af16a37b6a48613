"""Rows of the fact tables, made of what was read; recording adds the columns that all rows share."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec

from dbt_attest.annotations.schema import shown
from dbt_attest.annotations.statements import OUR_PACKAGE
from dbt_attest.artifacts import (
    Catalog,
    Exposure,
    Finding,
    FreshnessResults,
    Group,
    Manifest,
    Node,
    RunResults,
)
from dbt_attest.artifacts.freshness import age


def phantoms(manifest: Manifest, catalog: Catalog | None) -> dict[str, list[str]]:
    """Of each node, the columns that YAML describes and its relation does not have, in any case of letters.

    Of a node whose relation is not in the catalog nothing is known.
    """
    found: dict[str, list[str]] = {}
    for node in _with_columns(manifest) if catalog is not None else ():
        relation = catalog.relations.get(node.unique_id) if catalog is not None else None
        if relation is not None:
            real = {(column.name or key).lower() for key, column in (relation.columns or {}).items()}
            described = [column.name or key for key, column in node.all_columns.items()]
            missing = [name for name in described if name.lower() not in real]
            if missing:
                found[node.unique_id] = missing
    return found


def phantom_findings(found: dict[str, list[str]], catalog: Catalog | None, file: str) -> list[Finding]:
    """One finding for each node with phantoms; `file` is how the catalog is recorded."""
    return [
        Finding(
            artifact_id=catalog.artifact_id,
            file=file,
            node_id=node_id,
            json_path=f"nodes['{node_id}'].columns",
            expected="the columns that YAML describes",
            found=f"none named {shown(', '.join(names))}",
        )
        for node_id, names in found.items()
        if catalog is not None
    ]


def column_rows(
    manifest: Manifest, catalog: Catalog | None, missing: dict[str, list[str]]
) -> Iterator[dict[str, Any]]:
    """The columns that YAML describes, those that the relations have, and the phantoms of `missing`."""
    of_yaml = {"asserted_at": manifest.generated_at, "artifact_id": manifest.artifact_id, "source": "yaml"}
    for node in _with_columns(manifest):
        for key, column in node.all_columns.items():
            yield {
                "node_id": node.unique_id,
                "column_name": column.name or key,
                "data_type": None if column.data_type is None else str(column.data_type),
                "description": _clean(column.description),
                **of_yaml,
            }
        relation = None if catalog is None else catalog.relations.get(node.unique_id)
        if catalog is None or relation is None:
            continue
        of_catalog = {
            "asserted_at": max(catalog.generated_at, manifest.generated_at),
            "artifact_id": catalog.artifact_id,
            "source": "catalog",
            "node_id": node.unique_id,
        }
        for key, real in (relation.columns or {}).items():
            yield of_catalog | {
                "column_name": real.name or key,
                "phantom": False,
                "data_type": real.type,
                "description": _clean(real.comment),
                "position": real.index,
            }
        for name in missing.get(node.unique_id, ()):
            yield of_catalog | {"column_name": name, "phantom": True}


def _with_columns(manifest: Manifest) -> Iterator[Node]:
    for node in (*manifest.nodes.values(), *manifest.sources.values()):
        if node.package_name != OUR_PACKAGE:
            yield node


def exposure_rows(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """The exposures of a manifest."""
    for exposure in manifest.exposures.values():
        if exposure.package_name == OUR_PACKAGE:
            continue
        yield _owned(exposure, manifest) | {
            "label": exposure.label,
            "type": exposure.type,
            "maturity": exposure.maturity,
            "url": exposure.url,
            "description": _clean(exposure.description),
            "depends_on": sorted((exposure.depends_on.nodes if exposure.depends_on else None) or ()),
        }


def group_rows(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """The groups of a manifest."""
    for unique_id, group in manifest.groups.items():
        yield _owned(group, manifest) | {"node_id": unique_id}


def execution_rows(
    results: RunResults | None, manifest: Manifest, manifest_id: str | None
) -> Iterator[dict[str, Any]]:
    """The executions of an invocation; what its tests are about only from a manifest of the same one."""
    if results is None:
        return
    shared = {
        "artifact_id": results.artifact_id,
        "invocation_id": results.invocation_id,
        "manifest_id": manifest_id,
        "command": results.command,
        "generated_at": results.generated_at,
    }
    for execution in results.executions:
        row = msgspec.structs.asdict(execution)
        row["class"] = row.pop("evidence")
        row["message"] = _clean(execution.message)
        if manifest_id is not None and execution.node_id is not None:
            row["tested_node"] = manifest.tests.get(execution.node_id)
        yield shared | row


def freshness_rows(files: list[FreshnessResults], manifest: Manifest) -> Iterator[dict[str, Any]]:
    """The observations, and an unknown one for each source that is to be observed and has no row.

    A source can be left out of the file because it warns (dbt-core#12812).
    """
    for file in files:
        shared = {
            "artifact_id": file.artifact_id,
            "invocation_id": file.invocation_id,
            "generated_at": file.generated_at,
        }
        for observation in file.observations:
            row = msgspec.structs.asdict(observation)
            row["message"] = _clean(observation.message)
            row["warn_after"] = _seconds(observation.warn_after)
            row["error_after"] = _seconds(observation.error_after)
            yield shared | row
        observed = {observation.node_id for observation in file.observations}
        for unique_id, source in manifest.sources.items():
            limits = source.freshness
            if unique_id not in observed and limits is not None and limits.is_expected:
                yield shared | {
                    "node_id": unique_id,
                    "outcome": "unknown",
                    "warn_after": _seconds(age(limits.warn_after)),
                    "error_after": _seconds(age(limits.error_after)),
                    "message": "the file has no row for it",
                }


def _owned(one: Exposure | Group, manifest: Manifest) -> dict[str, Any]:
    owner = one.owner if isinstance(one.owner, dict) else {"name": one.owner}
    return {
        "node_id": getattr(one, "unique_id", None),
        "name": one.name,
        "owner_name": _joined(owner.get("name")),
        "owner_email": _joined(owner.get("email")),
        "package_name": one.package_name,
        "asserted_at": manifest.generated_at,
        "artifact_id": manifest.artifact_id,
    }


def _joined(value: Any) -> str | None:
    """dbt 1.10 allows several e-mail addresses."""
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or None
    return None if value is None else _clean(str(value))


def _clean(text: str | None) -> str | None:
    """Text without blanks around it; blank is None."""
    return None if text is None else text.strip() or None


def _seconds(duration: timedelta | None) -> str | None:
    return None if duration is None else f"{int(duration.total_seconds())} seconds"
