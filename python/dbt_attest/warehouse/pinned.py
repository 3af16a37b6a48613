"""A warehouse as it was when it had learned of nothing later: for answers that are asked again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from dbt_attest.errors import WarehouseError
from dbt_attest.warehouse.contract import evidence_tables, quoted
from dbt_attest.warehouse.files import connect

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@contextmanager
def pinned(
    path: Path, schema: str, environment: str, ingested_at: datetime | str | None
) -> Iterator[DuckDBPyConnection]:
    """A copy in memory of one environment's evidence and the resolvers, without what came after `ingested_at`.

    `schema` is the quoted name of the schema that holds both. The file is only read. Raises WarehouseError
    where it cannot be.
    """
    # waits where a writer holds the file, and says who it is
    connect(path, read_only=True).close()
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("set timezone = 'UTC'")
        try:
            connection.execute(f"attach {_text(str(path))} as original (read_only)")
            connection.execute("copy from database original to memory (schema)")
        except duckdb.Error as error:
            raise WarehouseError(
                f"{path}: expected a warehouse that can be copied, found one that cannot "
                f"({str(error).splitlines()[0]}); verify against a stand-alone warehouse."
            ) from error
        values = {"ingested_at": ingested_at, "environment": environment}
        for table, columns in evidence_tables().items():
            conditions = [
                condition
                for column, condition in (
                    ("ingested_at", "ingested_at <= cast($ingested_at as timestamptz)"),
                    ("environment", "environment = $environment"),
                )
                if column in columns
            ]
            name = f"{schema}.{quoted(table)}"
            where = f" where {' and '.join(conditions)}" if conditions else ""
            connection.execute(
                f"insert into {name} by name from original.{name}{where}",
                {key: value for key, value in values.items() if f"${key}" in where} or None,
            )
        connection.execute("detach original")
        yield connection
    finally:
        connection.close()


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
