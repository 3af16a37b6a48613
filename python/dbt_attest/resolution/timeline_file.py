"""The timeline of every entity as a file: the answers of all days, for engines on which the resolvers do not run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from dbt_attest.resolution.asking import trouble_told
from dbt_attest.resolution.audit import audited
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.warehouse import Warehouse
from dbt_attest.warehouse.rendering import macro_sql

#: Formats of the file, each with what DuckDB is told; null is an empty field in CSV.
FORMATS = {
    "csv": "format csv, header true",
    "parquet": "format parquet",
    "json": "format json, array true",
}


@dataclass(frozen=True)
class Written:
    """How many rows were written, of how many entities."""

    rows: int
    entities: int


@audited("export")
def write_timeline(
    warehouse: Warehouse,
    path: Path,
    file_format: str,
    *,
    known_at: datetime | date | str | None = None,
    requester: Requester,
    scope: Mapping[str, str] | None = None,
) -> Written:
    """Write what every entity's answer is, for all days, to the file at `path`; an existing one is replaced.

    One row is a stretch of days [valid_from, valid_to) of one entity (entity_id) with one outcome, reason,
    evidence_id, version and content_hash; null bounds are without end. The rows of an entity follow one another
    over all time. It is resolved for the requester: of what is hidden from it there is no row.

    Raises InputError where `known_at` is no instant or lies in the future, WarehouseError where the warehouse
    cannot be asked.
    """
    sql = timeline_sql(warehouse.asked_place(), known_at=known_at, requester=requester, scope=scope)
    partial = path.with_name(f"{path.name}.partial")
    try:
        with warehouse.connection() as (connection, _), trouble_told():
            connection.execute(f"create temp table exported as {sql}")
            target = str(partial).replace("'", "''")
            connection.execute(
                f"copy (from exported order by entity_id, valid_from nulls first) to '{target}' "
                f"({FORMATS[file_format]})"
            )
            ((rows, entities),) = connection.execute(
                "select count(*), count(distinct entity_id) from exported"
            ).fetchall()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return Written(rows, entities)


def timeline_sql(
    place: tuple[str, str],
    *,
    known_at: datetime | date | str | None,
    requester: Requester,
    scope: Mapping[str, str] | None,
) -> str:
    """The SQL of the rows that `write_timeline` writes; `place` is schema and environment."""
    instant = None if known_at is None else str(known_at)
    return macro_sql("timeline_sql", *place, instant, list(requester.groups), dict(scope or {}))
