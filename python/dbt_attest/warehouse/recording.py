"""Recording a collection: one transaction, rows only appended, and only where something changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from dbt_attest.warehouse.changes import ASSERTIONS, EDGES
from dbt_attest.warehouse.collection import Collection, Recorded
from dbt_attest.warehouse.contract import quoted
from dbt_attest.warehouse.facts import (
    CLAIMS,
    COLUMNS,
    EXPOSURES,
    GROUPS,
    append_history,
    append_points,
    digests_before,
)
from dbt_attest.warehouse.held import Guard, held_by
from dbt_attest.warehouse.loading import append

if TYPE_CHECKING:
    import duckdb


def record(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    collection: Collection,
    ingested_at: datetime | None = None,
) -> Recorded:
    """Append a collection to the evidence tables in `schema`, all of it or nothing.

    `ingested_at` is when a warehouse learned of it first, where it comes from an archive; None is now.
    """
    connection.execute("begin")
    try:
        recorded = _record(connection, schema, collection, ingested_at)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
    return recorded


def recorded_as(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    environment: str,
    manifest_id: str,
    files: str,
    ingested_at: datetime | None = None,
) -> tuple[str, str] | None:
    """Project and collection_id of the last recording of a manifest, if it read exactly these files.

    `files` is their `files_id`; nothing has to be decoded to ask. With `ingested_at` it is the recording of
    that instant.
    """
    row = connection.execute(
        f"select files_id, project_name, collection_id from {quoted(schema)}.collections "
        "where environment = $environment and manifest_id = $manifest_id "
        "and ($ingested_at is null or ingested_at = cast($ingested_at as timestamptz)) "
        "order by ingested_at desc limit 1",
        {"environment": environment, "manifest_id": manifest_id, "ingested_at": ingested_at},
    ).fetchone()
    return (row[1], row[2]) if row is not None and row[0] == files else None


def _record(
    connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection, ingested_at: datetime | None
) -> Recorded:
    artifact_ids = sorted({artifact.artifact_id for artifact in collection.artifacts})
    manifest_id, environment = collection.manifest.artifact_id, collection.environment
    if recorded_as(connection, schema, environment, manifest_id, collection.files_id, ingested_at):
        held = held_by(connection, schema, collection)
        if not (held and collection.removals_allowed):
            return Recorded(None, held=held)

    ingested_at = ingested_at or datetime.now(timezone.utc)
    collection_id = _digest(collection.project_name, environment, *artifact_ids, ingested_at.isoformat())
    arrival = {"collection_id": collection_id, "ingested_at": ingested_at}
    shared = arrival | {
        "environment": environment,
        "project_name": collection.project_name,
        "generated_at": collection.manifest.generated_at,
        "manifest_id": manifest_id,
        "disabled": sorted(collection.disabled),
    }
    # an artifact has an instant of its own
    artifacts = _new_artifacts(connection, schema, collection)
    append(connection, schema, "artifacts", [arrival | artifact for artifact in artifacts])
    for table, rows in (("policies", collection.policies), ("gap_rules", collection.gap_rules)):
        append(
            connection,
            schema,
            table,
            _new_of_project_file(connection, schema, collection, table, rows, arrival),
        )
    append(connection, schema, "project_files", _new_project_files(connection, schema, collection, arrival))
    said_before = digests_before(connection, schema, shared)
    guard = Guard(collection.max_removed, collection.removals_allowed)
    definitions = append_history(
        connection, schema, ASSERTIONS, collection.assertions, shared, said_before, guard
    )
    digests = {ASSERTIONS.table: definitions.digest}
    for history, rows in (
        (EDGES, collection.edges),
        (CLAIMS, collection.claims),
        (COLUMNS, collection.columns),
        (EXPOSURES, collection.exposures),
        (GROUPS, collection.groups),
    ):
        digests[history.table] = append_history(connection, schema, history, rows, shared, said_before).digest
    of_here = arrival | {name: shared[name] for name in ("environment", "project_name")}
    append_points(connection, schema, "executions", (of_here | row for row in collection.executions))
    append_points(
        connection, schema, "freshness_observations", (of_here | row for row in collection.freshness)
    )
    if definitions.changed or definitions.no_longer_stated:
        _append_names(connection, schema, environment, collection_id)
    append(connection, schema, "reader_findings", [arrival | finding for finding in collection.findings])
    generated_at = collection.manifest.generated_at
    row = {
        "project_file_id": collection.project_file.artifact_id if collection.project_file else None,
        "artifact_ids": artifact_ids,
        "files_id": collection.files_id,
        "known_until": max(
            definitions.known_until or generated_at,
            generated_at,
            *(artifact.generated_at for artifact in collection.side_files),
        ),
        "observed_at": max(artifact.generated_at for artifact in collection.artifacts),
        "max_age": _seconds(collection.max_age),
        "max_unverified": _seconds(collection.max_unverified),
        "removals_allowed": collection.removals_allowed,
        "digests": digests,
        "attest_version": collection.attest_version,
    }
    append(connection, schema, "collections", [shared | row])
    held = held_by(connection, schema, collection)
    return Recorded(collection_id, definitions.changed, definitions.no_longer_stated, held)


def _new_artifacts(
    connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection
) -> list[dict[str, Any]]:
    by_content = {artifact.artifact_id: artifact for artifact in collection.artifacts}
    known = connection.execute(
        f"select artifact_id from {quoted(schema)}.artifacts where list_contains($ids, artifact_id)",
        {"ids": list(by_content)},
    ).fetchall()
    return [vars(artifact) for key, artifact in by_content.items() if (key,) not in known]


def _new_of_project_file(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    collection: Collection,
    table: str,
    rows: Iterable[dict[str, Any]],
    arrival: dict[str, Any],
) -> list[dict[str, Any]]:
    """What a version of attest.yml says for a table, once."""
    if collection.project_file is None:
        return []
    project_file_id = collection.project_file.artifact_id
    known = connection.execute(
        f"select 1 from {quoted(schema)}.{table} where project_file_id = $id limit 1",
        {"id": project_file_id},
    ).fetchone()
    return [] if known else [arrival | row | {"project_file_id": project_file_id} for row in rows]


def _new_project_files(
    connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection, arrival: dict[str, Any]
) -> list[dict[str, Any]]:
    if collection.project_file is None or collection.project_file_content is None:
        return []
    row = {
        "project_file_id": collection.project_file.artifact_id,
        "content": collection.project_file_content.replace("\x00", "\ufffd"),
    }
    known = connection.execute(
        f"select 1 from {quoted(schema)}.project_files where project_file_id = $id limit 1",
        {"id": row["project_file_id"]},
    ).fetchone()
    return [] if known else [arrival | row]


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
