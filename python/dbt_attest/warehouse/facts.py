"""Facts beside the definitions: claims, columns, exposures and groups, which have a history, and executions
and freshness observations, which are points in time and recorded once.

The histories follow the one rule of `changes.py`, as definitions and edges do. Where a collection says for a
table exactly what the collection before it said, it adds nothing by that rule, and nothing is compared:
`collections.digests` says so without reading the table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from dbt_attest.warehouse.changes import History, append_changes
from dbt_attest.warehouse.contract import evidence_tables, quoted
from dbt_attest.warehouse.held import Guard, held_removals
from dbt_attest.warehouse.loading import load
from dbt_attest.warehouse.rows import values_of

if TYPE_CHECKING:
    import duckdb

_BATCH = 1000

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


@dataclass(frozen=True)
class Changes:
    """What one collection says for a table, and what of that was new.

    `digest` is the same where another collection says the same in the same order; `known_until` is the latest
    instant of anything it states, None where that is nothing. `changed` counts things new or changed,
    `no_longer_stated` those that it lacks.
    """

    digest: str
    known_until: datetime | None
    changed: int = 0
    no_longer_stated: int = 0


def append_history(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    history: History,
    rows: Iterable[dict[str, Any]],
    values: dict[str, Any],
    said_before: Mapping[str, str],
    guard: Guard | None = None,
) -> Changes:
    """Append what changed, unless the collection before this one said the same.

    `rows` can be gone through twice, in an order that follows from what they say; `values` and `guard` are as
    for `append_changes`, `said_before` is of `digests_before`.
    """
    said = _said(rows, history, values)
    if said_before.get(history.table) == said.digest:
        return said
    if said.known_until is None and not _has_history(connection, schema, history.table, values):
        return said
    changed, no_longer_stated = append_changes(connection, schema, history, rows, values, guard)
    return replace(said, changed=changed, no_longer_stated=no_longer_stated)


def _has_history(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, values: Mapping[str, Any]
) -> bool:
    found = connection.execute(
        f"select exists (from {quoted(schema)}.{quoted(table)} "
        "where environment = $environment and project_name = $project_name)",
        {name: values[name] for name in ("environment", "project_name")},
    ).fetchone()
    return found == (True,)


def _said(rows: Iterable[dict[str, Any]], history: History, values: Mapping[str, Any]) -> Changes:
    """The digest: of the rows in their order, and what the collection is silent about."""
    encode, instant = msgspec.json.Encoder().encode, values["generated_at"]
    known_until: datetime | None = None
    digest = hashlib.sha256(encode(values["disabled"]))
    remaining = values_of(rows, (*history.key, *history.state))
    while batch := list(islice(remaining, _BATCH)):
        latest = max(asserted_at for asserted_at, _ in batch)
        known_until = latest if known_until is None else max(known_until, latest)
        # only by its own instant does another collection not differ
        said = [one if asserted_at == instant else (*one, asserted_at) for asserted_at, one in batch]
        digest.update(encode(said))
    return Changes(digest.hexdigest(), known_until)


def digests_before(
    connection: duckdb.DuckDBPyConnection, schema: str, values: Mapping[str, Any]
) -> dict[str, str]:
    """The digests of the collection that comes before this one in the order of artifacts.

    None while removals are held, or where that one's were: what hangs on them has to follow once they are
    allowed.
    """
    row = connection.execute(
        f"select digests from {quoted(schema)}.collections "
        "where project_name = $project_name and environment = $environment "
        "and (generated_at, manifest_id) < (cast($generated_at as timestamptz), $manifest_id) "
        f"and not exists (from ({held_removals(quoted(schema))}) as held "
        "where held.project_name = $project_name and held.environment = $environment) "
        f"and not exists (from {quoted(schema)}.held_removals as of_it "
        "where of_it.held and of_it.environment = $environment and of_it.manifest_id = collections.manifest_id) "
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
