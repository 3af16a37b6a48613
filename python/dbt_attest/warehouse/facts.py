"""Facts beside the definitions: claims, columns, exposures and groups, which have a history, and executions
and freshness observations, which are points in time and recorded once.

The histories follow the one rule of `changes.py`. Where a collection says for a table exactly what the
collection before it said, it adds nothing by that rule, and nothing is compared: `collections.digests` says
so without reading the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dbt_attest.warehouse.changes import History, append_changes
from dbt_attest.warehouse.contract import evidence_tables, quoted
from dbt_attest.warehouse.held import held_removals
from dbt_attest.warehouse.loading import load

if TYPE_CHECKING:
    import duckdb

#: What a collection without a catalog is silent about.
CATALOG = "catalog"

CLAIMS = History(
    table="claims",
    key=("evidence_id", "attribute", "source", "place"),
    state=("value", "effective_from", "effective_to", "certified"),
    kept=("node_id", "package_name"),
    node="coalesce({row}.node_id, '')",
    owned="{row}.package_name = $project_name",
    file_id="if({row}.node_id is null, {row}.artifact_id, null)",
    held="held.reason = 'removed' and held.evidence_id = {row}.evidence_id",
)
COLUMNS = History(
    table="columns",
    key=("node_id", "column_name", "source"),
    state=("phantom", "data_type", "description", "position"),
    kept=(),
    node="if({row}.source = 'catalog', 'catalog', {row}.node_id)",
    owned="true",
    file_id="if({row}.source = 'catalog', {row}.artifact_id, null)",
    held="held.reason = 'removed' and held.node_id = {row}.node_id and {row}.source = 'yaml'",
)
EXPOSURES = History(
    table="exposures",
    key=("node_id",),
    state=(
        "name",
        "label",
        "type",
        "maturity",
        "url",
        "owner_name",
        "owner_email",
        "description",
        "depends_on",
    ),
    kept=("package_name",),
    node="{row}.node_id",
    owned="{row}.package_name = $project_name",
    file_id="null",
    held="held.reason = 'removed' and held.node_id = {row}.node_id",
)
GROUPS = History(
    table="groups",
    key=("node_id",),
    state=("name", "owner_name", "owner_email"),
    kept=("package_name",),
    node="{row}.node_id",
    owned="{row}.package_name = $project_name",
    file_id="null",
)

# What says the same in another collection does not differ by these.
_OF_ONE_COLLECTION = frozenset({"artifact_id", "collector", "source_version"})


def append_history(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    history: History,
    rows: Iterable[dict[str, Any]],
    values: dict[str, Any],
    said_before: Mapping[str, str],
) -> str:
    """Append what changed, unless the collection before this one said the same; returns the digest.

    `rows` can be gone through twice; `values` are as for `append_changes`, `said_before` is of
    `digests_before`.
    """
    digest, count = _digest(rows, values)
    if said_before.get(history.table) != digest and (
        count or _has_history(connection, schema, history.table, values)
    ):
        append_changes(connection, schema, history, rows, values)
    return digest


def _has_history(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, values: Mapping[str, Any]
) -> bool:
    found = connection.execute(
        f"select exists (from {quoted(schema)}.{quoted(table)} "
        "where environment = $environment and project_name = $project_name)",
        {name: values[name] for name in ("environment", "project_name")},
    ).fetchone()
    return found == (True,)


def _digest(rows: Iterable[dict[str, Any]], values: Mapping[str, Any]) -> tuple[str, int]:
    """Of rows in any order (the sum of their hashes) and what the collection is silent about; their count."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    instant = values["generated_at"]
    total = count = 0
    for row in rows:
        said = {key: value for key, value in row.items() if key not in _OF_ONE_COLLECTION}
        if said.get("asserted_at") == instant:
            del said["asserted_at"]
        count += 1
        total += int.from_bytes(hashlib.sha256(encode(said)).digest(), "big")
    return hashlib.sha256(encode([values["disabled"], f"{total:x}"])).hexdigest(), count


def digests_before(
    connection: duckdb.DuckDBPyConnection, schema: str, values: Mapping[str, Any]
) -> dict[str, str]:
    """The digests of the collection that comes before this one in the order of artifacts.

    None while removals are held: what hangs on them has to follow once they are allowed.
    """
    row = connection.execute(
        f"select digests from {quoted(schema)}.collections "
        "where project_name = $project_name and environment = $environment "
        "and (generated_at, manifest_id) < (cast($generated_at as timestamptz), $manifest_id) "
        f"and not exists (from ({held_removals(quoted(schema))}) as held "
        "where held.project_name = $project_name and held.environment = $environment) "
        "order by generated_at desc, manifest_id desc, ingested_at desc limit 1",
        {name: values[name] for name in ("project_name", "environment", "generated_at", "manifest_id")},
    ).fetchone()
    return {} if row is None or row[0] is None else dict(row[0])


def append_points(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, rows: Iterable[dict[str, Any]]
) -> None:
    """Append the rows of artifacts that are not there yet: each row of an artifact once an environment."""
    listed = list(rows)
    if not listed:
        return
    load(connection, "incoming", table, listed)
    key = [
        name
        for name in ("environment", "project_name", "artifact_id", "position", "node_id")
        if name in evidence_tables()[table]
    ]
    same = " and ".join(f"known.{name} is not distinct from incoming.{name}" for name in key)
    connection.execute(
        f"insert into {quoted(schema)}.{quoted(table)} by name from incoming "
        f"where not exists (from {quoted(schema)}.{quoted(table)} as known where {same})"
    )
