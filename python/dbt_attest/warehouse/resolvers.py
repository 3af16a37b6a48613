"""The resolvers in a stand-alone warehouse: made from the bundled dbt package, and known by its hash."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_attest.warehouse.contract import create_tables, dbt_package_dir, quoted
from dbt_attest.warehouse.files import connect
from dbt_attest.warehouse.rendering import resolver_statements

if TYPE_CHECKING:
    import duckdb

_MARKED = "definition_timeline"


@cache
def _package_hash() -> str:
    package = dbt_package_dir()
    digest = hashlib.sha256()
    for path in sorted(
        [package / "dbt_project.yml", *package.glob("macros/**/*.sql"), *package.glob("models/**/*")]
    ):
        if path.is_file():
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _mark(environment: str) -> str:
    return f"dbt-attest resolvers {_package_hash()} for {environment}"


def resolvers_present(connection: duckdb.DuckDBPyConnection, schema: str) -> bool:
    """Whether there are resolvers in `schema`, of whatever release."""
    found = connection.execute(
        "select exists (from duckdb_views() where schema_name = $schema and view_name = $view) "
        "and exists (from duckdb_functions() "
        "where schema_name = $schema and function_name = 'definition_between')",
        {"schema": schema, "view": _MARKED},
    ).fetchone()
    return found == (True,)


def are_built(connection: duckdb.DuckDBPyConnection, schema: str, environment: str) -> bool:
    """Whether the resolvers in `schema` are those of this release, with this default environment."""
    row = connection.execute(
        "select comment from duckdb_views() where schema_name = $schema and view_name = $view",
        {"schema": schema, "view": _MARKED},
    ).fetchone()
    return row is not None and row[0] == _mark(environment)


def mark_built(connection: duckdb.DuckDBPyConnection, schema: str, environment: str) -> None:
    """Remember in the file which resolvers it has."""
    mark = _mark(environment).replace("'", "''")
    connection.execute(f"comment on view {quoted(schema)}.{_MARKED} is '{mark}'")


def build_resolvers(path: Path, schema: str, environment: str) -> None:
    """Make the resolvers and the views of gaps in the warehouse file at `path`, as `dbt run` of the package would.

    All of them or none. Raises WarehouseError where nobody but us may open the file.
    """
    connection = connect(path, read_only=False)
    try:
        connection.execute("begin")
        create_tables(connection, schema)
        for statement in resolver_statements(schema, environment):
            connection.execute(statement)
        connection.execute("commit")
    finally:
        connection.close()
