"""Opening a warehouse file: patiently where it is held, and with a sentence where it is none."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from dbt_attest.errors import WarehouseError
from dbt_attest.warehouse.contract import quoted

#: Seconds to wait for another process to let go of a file.
PATIENCE = 30.0


def connect(path: Path, *, read_only: bool, patience: float = PATIENCE) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file, waiting up to `patience` seconds while another process holds it.

    Sessions run in UTC. Raises WarehouseError where the file is missing (read-only), busy or no DuckDB file.
    """
    if read_only and not path.exists():
        raise WarehouseError(
            f"{path}: expected an evidence warehouse, found no file; run `attest build` first."
        )
    if path.is_dir():
        raise WarehouseError(f"{path}: expected an evidence warehouse, found a folder; name a file.")
    if not path.resolve().parent.is_dir():
        raise WarehouseError(f"{path}: expected an existing folder around it; create the folder first.")
    give_up = time.monotonic() + patience
    pause = 0.05
    while True:
        try:
            connection = duckdb.connect(str(path), read_only=read_only)
        except duckdb.Error as error:
            if not _is_locked(error):
                raise WarehouseError(
                    f"{path}: expected a DuckDB file, found one that cannot be opened "
                    f"({str(error).splitlines()[0]}); restore it or name another file."
                ) from error
            if time.monotonic() >= give_up:
                raise WarehouseError(
                    f"{path}: waited {patience:.0f} s while {_holder(error)} holds the file; "
                    "end that process or try again later."
                ) from error
            time.sleep(pause)
            pause = min(pause * 2, 1.0)
        else:
            connection.execute("set timezone = 'UTC'")
            return connection


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """What DuckDB says where a file that could be opened turns out not to be whole, as WarehouseError."""
    try:
        yield
    except (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException) as error:
        raise WarehouseError(
            f"{path}: expected a whole DuckDB file, found a damaged one ({str(error).splitlines()[0]}); "
            "restore it, or make it again from the archive with `attest build --archive`."
        ) from error


def evidence_schemas(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The schemas of the file that hold evidence tables, sorted."""
    found = connection.execute(
        "select schema_name from duckdb_tables() where table_name = 'contract_versions' "
        "and database_name = current_database() order by schema_name"
    )
    return [row[0] for row in found.fetchall()]


def find_schema(connection: duckdb.DuckDBPyConnection, path: Path, wanted: str | None = None) -> str:
    """The schema of the file that holds evidence tables; `wanted` where several do.

    Raises WarehouseError where there is none, or several and none is wanted.
    """
    schemas = evidence_schemas(connection)
    if wanted is not None:
        if wanted not in schemas:
            raise WarehouseError(
                f"{path}: expected evidence tables in schema {wanted}, found them in {_listed(schemas)}; "
                "name one of these."
            )
        return wanted
    if not schemas:
        raise WarehouseError(
            f"{path}: expected an evidence warehouse, found a DuckDB file without evidence tables; "
            "run `attest build` for this file first."
        )
    if len(schemas) == 1:
        return schemas[0]
    filled = [
        schema
        for schema in schemas
        if connection.execute(f"select exists (from {quoted(schema)}.collections)").fetchall()[0][0]
    ]
    if len(filled) != 1:
        raise WarehouseError(
            f"{path}: expected one evidence schema, found {_listed(schemas)}; name one with --schema."
        )
    return filled[0]


def _is_locked(error: duckdb.Error) -> bool:
    return "Could not set lock" in str(error) or "already open in" in str(error)


def _holder(error: duckdb.Error) -> str:
    found = re.search(r"Conflicting lock is held in (.+?) \(PID (\d+)\)", str(error))
    return f"{Path(found[1]).name} (process {found[2]})" if found else "another process"


def _listed(schemas: list[str]) -> str:
    return ", ".join(schemas) or "none"
