"""Recording a collection: one transaction, rows only appended, and only where something changed."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from dbt_attest.warehouse.changes import ASSERTIONS, EDGES, append_changes
from dbt_attest.warehouse.collection import Collection, Recorded
from dbt_attest.warehouse.contract import quoted
from dbt_attest.warehouse.loading import append

if TYPE_CHECKING:
    import duckdb


def record(connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection) -> Recorded:
    """Append a collection to the evidence tables in `schema`, all of it or nothing."""
    connection.execute("begin")
    try:
        recorded = _record(connection, schema, collection)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
    return recorded


def _record(connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection) -> Recorded:
    artifact_ids = sorted({artifact.artifact_id for artifact in collection.artifacts})
    if _last_read(connection, schema, collection) == artifact_ids:
        return Recorded(None)

    ingested_at = datetime.now(timezone.utc)
    collection_id = _digest(
        collection.project_name, collection.environment, *artifact_ids, ingested_at.isoformat()
    )
    arrival = {"collection_id": collection_id, "ingested_at": ingested_at}
    shared = arrival | {
        "environment": collection.environment,
        "project_name": collection.project_name,
        "generated_at": collection.manifest.generated_at,
        "manifest_id": collection.manifest.artifact_id,
        "disabled": sorted(collection.disabled),
    }
    # an artifact has an instant of its own
    artifacts = _new_artifacts(connection, schema, collection)
    append(connection, schema, "artifacts", [arrival | artifact for artifact in artifacts])
    append(connection, schema, "policies", _new_policies(connection, schema, collection))
    definitions = append_changes(connection, schema, ASSERTIONS, collection.assertions, shared)
    append_changes(connection, schema, EDGES, collection.edges, shared)
    _append_names(connection, schema, collection.environment, collection_id)
    append(connection, schema, "reader_findings", [arrival | finding for finding in collection.findings])
    generated_at = collection.manifest.generated_at
    row = {
        "project_file_id": collection.project_file.artifact_id if collection.project_file else None,
        "artifact_ids": artifact_ids,
        "known_until": max(definitions.known_until or generated_at, generated_at),
        "max_age": _seconds(collection.max_age),
        "max_unverified": _seconds(collection.max_unverified),
        "attest_version": collection.attest_version,
    }
    append(connection, schema, "collections", [shared | row])
    return Recorded(collection_id, definitions.changed, definitions.no_longer_stated)


def _last_read(
    connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection
) -> list[str] | None:
    """The files of the last recording of this manifest."""
    row = connection.execute(
        f"select artifact_ids from {quoted(schema)}.collections "
        "where project_name = $project and environment = $environment and manifest_id = $manifest "
        "order by ingested_at desc limit 1",
        {
            "project": collection.project_name,
            "environment": collection.environment,
            "manifest": collection.manifest.artifact_id,
        },
    ).fetchone()
    return row[0] if row else None


def _new_artifacts(
    connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection
) -> list[dict[str, Any]]:
    by_content = {artifact.artifact_id: artifact for artifact in collection.artifacts}
    known = connection.execute(
        f"select artifact_id from {quoted(schema)}.artifacts where list_contains($ids, artifact_id)",
        {"ids": list(by_content)},
    ).fetchall()
    return [vars(artifact) for key, artifact in by_content.items() if (key,) not in known]


def _new_policies(
    connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection
) -> list[dict[str, Any]]:
    if collection.project_file is None:
        return []
    project_file_id = collection.project_file.artifact_id
    known = connection.execute(
        f"select 1 from {quoted(schema)}.policies where project_file_id = $id limit 1",
        {"id": project_file_id},
    ).fetchone()
    return [] if known else [policy | {"project_file_id": project_file_id} for policy in collection.policies]


def _append_names(
    connection: duckdb.DuckDBPyConnection, schema: str, environment: str, collection_id: str
) -> None:
    connection.execute(
        f"""
        insert into {quoted(schema)}.names by name
        select distinct $environment as environment, given.name, given.entity_id
        from (
          select entity_id, unnest(list_concat(coalesce(names, []),
            list_transform(coalesce(aliases, []), lambda alias: alias.alias))) as name
          from {quoted(schema)}.assertions
          where collection_id = $collection_id and stated
        ) as given
        where not exists (
          from {quoted(schema)}.names as known
          where known.environment = $environment
            and known.name = given.name and known.entity_id = given.entity_id)
        """,
        {"environment": environment, "collection_id": collection_id},
    )


def _seconds(duration: timedelta | None) -> str | None:
    return None if duration is None else f"{int(duration.total_seconds())} seconds"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
