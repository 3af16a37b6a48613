"""A warehouse that is asked several things in one state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt_attest.resolution.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb


class Held(Warehouse):
    """A warehouse on an open connection, which stays as it is; `schema` is quoted already."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: str, of: Warehouse) -> None:
        super().__init__(of.path, schema=of._wanted_schema, environment=of.environment)
        self._open, self._schema = connection, schema

    @contextmanager
    def connection(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """The open connection and the quoted schema."""
        yield self._open, self._schema
