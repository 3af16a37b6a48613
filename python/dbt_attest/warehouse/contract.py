"""The evidence contract, read from the dbt package's `models/evidence.yml`, where it is written once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_attest.errors import WarehouseError

if TYPE_CHECKING:
    import duckdb

#: Version of the evidence contract that this release reads and writes; the dbt package says the same.
CONTRACT_VERSION = 1

#: What brings evidence of a version to the next one: statements for the tables in `{schema}`, which lose
#: nothing. Tables that the next version adds need none, they are created where they are missing.
MIGRATIONS: dict[int, tuple[str, ...]] = {}


def dbt_package_dir() -> Path:
    """The dbt package that belongs to this release: inside an installed wheel, else the checkout."""
    here = Path(__file__).resolve().parent.parent
    bundled = here / "dbt_package"
    return bundled if bundled.is_dir() else here.parent.parent


@cache
def evidence_tables() -> dict[str, dict[str, str]]:
    """Of each evidence table, in order, its columns with their DuckDB types."""
    import yaml

    # libyaml is ten times faster; PyYAML can be installed without it
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (dbt_package_dir() / "models" / "evidence.yml").read_text(encoding="utf-8")
    contract = yaml.load(text, Loader=loader)
    return {
        table["name"]: {column["name"]: column["data_type"] for column in table["columns"]}
        for table in contract["sources"][0]["tables"]
    }


def quoted(identifier: str) -> str:
    """An identifier as SQL text."""
    return '"' + identifier.replace('"', '""') + '"'


def unquoted(sql: str) -> str:
    """The identifier that `quoted` gave as SQL text."""
    return sql[1:-1].replace('""', '"')


def create_tables(connection: duckdb.DuckDBPyConnection, schema: str) -> None:
    """Create the evidence tables that are missing."""
    connection.execute(f"create schema if not exists {quoted(schema)}")
    for table, columns in evidence_tables().items():
        described = ", ".join(f"{quoted(name)} {data_type}" for name, data_type in columns.items())
        connection.execute(f"create table if not exists {quoted(schema)}.{quoted(table)} ({described})")
    connection.execute(
        f"insert into {quoted(schema)}.contract_versions (version, applied_at) "
        f"select $version, now() where not exists (from {quoted(schema)}.contract_versions)",
        {"version": CONTRACT_VERSION},
    )


def bring_up_to_date(connection: duckdb.DuckDBPyConnection, path: Path, schema: str) -> None:
    """Make the evidence in `schema` follow this release's contract: all tables, of its version; or nothing.

    Raises WarehouseError where a newer release wrote it, or no step leads from its version to this one.
    """
    connection.execute("begin")
    try:
        found = _version(connection, schema)
        if found is not None and found > CONTRACT_VERSION:
            raise _unfit(path, schema, found)
        for version in range(found or CONTRACT_VERSION, CONTRACT_VERSION):
            if version not in MIGRATIONS:
                raise _unfit(path, schema, version)
            for statement in MIGRATIONS[version]:
                connection.execute(statement.format(schema=quoted(schema)))
            connection.execute(
                f"insert into {quoted(schema)}.contract_versions (version, applied_at) values ($next, now())",
                {"next": version + 1},
            )
        create_tables(connection, schema)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def check_version(connection: duckdb.DuckDBPyConnection, path: Path, schema: str) -> None:
    """Raise WarehouseError unless the evidence in `schema` of the file follows this release's contract."""
    found = _version(connection, schema)
    if found is not None and found != CONTRACT_VERSION:
        raise _unfit(path, schema, found)


def _version(connection: duckdb.DuckDBPyConnection, schema: str) -> int | None:
    """The contract version of the evidence in `schema`; None where there is none yet."""
    exists = connection.execute(
        "select exists (from duckdb_tables() where schema_name = $schema "
        "and table_name = 'contract_versions' and database_name = current_database())",
        {"schema": schema},
    ).fetchone()
    if exists != (True,):
        return None
    row = connection.execute(f"select max(version) from {quoted(schema)}.contract_versions").fetchone()
    return row[0] if row else None


def _unfit(path: Path, schema: str, found: int) -> WarehouseError:
    if found > CONTRACT_VERSION:
        advice = "install a newer dbt-attest"
    elif found in MIGRATIONS:
        advice = "run `attest build` once: it brings the warehouse to this release"
    else:
        advice = "make it again from the archive with `attest build --archive`"
    return WarehouseError(
        f"{path}: expected evidence of contract version {CONTRACT_VERSION} in schema {schema}, "
        f"found version {found}; {advice}."
    )
