"""Rows of Python values into evidence tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dbt_attest.warehouse.contract import evidence_tables, quoted

if TYPE_CHECKING:
    import duckdb


def append(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, rows: Iterable[dict[str, Any]]
) -> None:
    """Append rows to an evidence table, by the names of its columns; a missing key is null."""
    load(connection, "incoming", table, rows)
    connection.execute(f"insert into {quoted(schema)}.{quoted(table)} by name from incoming")


def load(
    connection: duckdb.DuckDBPyConnection, name: str, table: str, rows: Iterable[dict[str, Any]]
) -> None:
    """Make the temporary table `name` of rows, with the columns of an evidence table; a missing key is null.

    Through a file of JSON lines: a thousand times faster than one statement a row (1.6 ms each in DuckDB
    2.0).
    """
    columns = evidence_tables()[table]
    typed = ", ".join(f"{quoted(column)} {data_type}" for column, data_type in columns.items())
    connection.execute(f"create or replace temp table {name} ({typed})")
    encode = msgspec.json.Encoder().encode
    with tempfile.TemporaryDirectory(prefix="attest-") as folder:
        path = Path(folder) / "rows.json"
        with path.open("wb") as lines:
            for row in rows:
                said = {key: row[key] for key in columns if row.get(key) is not None}
                lines.write(encode(said) + b"\n")
        if path.stat().st_size == 0:
            return
        described = ", ".join(f"{quoted(column)}: '{data_type}'" for column, data_type in columns.items())
        connection.execute(
            f"insert into {name} by name from read_json($path, format = 'newline_delimited', "
            f"columns = {{{described}}}, maximum_object_size = 268435456)",
            {"path": str(path)},
        )
