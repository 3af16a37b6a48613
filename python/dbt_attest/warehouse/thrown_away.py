"""A warehouse in memory for one look at a target folder: what is recorded in it is gone when the look is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import msgspec

from dbt_attest.annotations import ProjectFile
from dbt_attest.artifacts import read_manifest
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.contract import check_version, create_tables, evidence_tables, quoted
from dbt_attest.warehouse.files import connect, damage_told, find_schema
from dbt_attest.warehouse.recording import record

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SCHEMA = "attest"
# What no gap is found in: of some of it a warehouse has more than of all the rest.
_NOT_NEEDED = {"executions", "columns", "reader_findings", "contract_versions"}
_A_MOMENT = timedelta(microseconds=1)


@contextmanager
def in_memory() -> Iterator[DuckDBPyConnection]:
    """An empty warehouse, its evidence in SCHEMA, in UTC."""
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("set timezone = 'UTC'")
        create_tables(connection, SCHEMA)
        yield connection
    finally:
        connection.close()


def record_manifest(
    connection: DuckDBPyConnection,
    project_dir: Path,
    manifest_path: Path,
    project_file: ProjectFile,
    environment: str,
) -> str:
    """Record what a manifest says, as the latest that anybody said; returns the name of its project.

    Whenever dbt wrote it: of two branches, the one that is compared with may have been parsed last. Raises
    InputError and AnnotationErrors as `attest build` does.
    """
    manifest = read_manifest(manifest_path)
    latest = _latest(connection, environment)
    if latest is not None and latest >= manifest.generated_at:
        manifest = msgspec.structs.replace(manifest, generated_at=latest + _A_MOMENT)
    collection, _ = collect(project_dir, manifest, project_file, environment, git_commit="")
    needed = replace(collection, columns=(), executions=(), findings=(), removals_allowed=True)
    record(connection, SCHEMA, needed)
    return collection.project_name


def copy_evidence(connection: DuckDBPyConnection, path: Path, schema: str | None, environment: str) -> None:
    """Record what a warehouse knows of an environment; the file is only read.

    Raises WarehouseError where it cannot be.
    """
    opened = connect(path, read_only=True)
    try:
        with damage_told(path):
            schema = find_schema(opened, path, schema)
            check_version(opened, path, schema)
            there = {
                name
                for (name,) in opened.execute(
                    "select table_name from duckdb_tables() where schema_name = $schema", {"schema": schema}
                ).fetchall()
            }
    finally:
        opened.close()
    literal = "'" + str(path).replace("'", "''") + "'"
    with damage_told(path):
        connection.execute(f"attach {literal} as original (read_only)")
        for table, columns in evidence_tables().items():
            if table in _NOT_NEEDED or table not in there:
                continue
            of_here = " where environment = $environment" if "environment" in columns else ""
            connection.execute(
                f"insert into {SCHEMA}.{quoted(table)} by name "
                f"from original.{quoted(schema)}.{quoted(table)}{of_here}",
                {"environment": environment} if of_here else None,
            )
        connection.execute("detach original")


def _latest(connection: DuckDBPyConnection, environment: str) -> datetime | None:
    row = connection.execute(
        f"select max(known_until) from {SCHEMA}.collections where environment = $environment",
        {"environment": environment},
    ).fetchone()
    return row[0] if row else None
