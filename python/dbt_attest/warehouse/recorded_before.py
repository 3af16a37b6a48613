"""Whether a target folder was recorded before, found out without decoding any of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_attest.annotations import ProjectFile
from dbt_attest.errors import WarehouseError
from dbt_attest.warehouse.archive import is_kept
from dbt_attest.warehouse.collecting import files_here
from dbt_attest.warehouse.collection import files_id
from dbt_attest.warehouse.contract import check_version, quoted
from dbt_attest.warehouse.files import connect, damage_told, evidence_schemas
from dbt_attest.warehouse.place import Place
from dbt_attest.warehouse.recording import recorded_as
from dbt_attest.warehouse.resolvers import are_built, resolvers_present
from dbt_attest.warehouse.writing import STAND_ALONE_SCHEMA

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Before:
    """The recording of the same files; `resolvers` is whether the warehouse has them."""

    schema: str
    project_name: str
    environment: str
    resolvers: bool


def recorded_before(
    place: Place, project_file: ProjectFile, path: Path, archive: Path | None
) -> Before | None:
    """The recording of exactly the files at a place, where they were the last and nothing is left to do.

    None where anything is otherwise, or cannot be told now: then the ordinary way finds out, and says so.
    """
    manifest = place.target_dir / "manifest.json"
    if not path.is_file() or not manifest.is_file():
        return None
    environment = place.environment or project_file.environment
    try:
        connection = connect(path, read_only=True, patience=0)
    except WarehouseError:
        return None
    try:
        with damage_told(path):
            schemas = evidence_schemas(connection)
            if len(schemas) != 1:
                return None
            check_version(connection, path, schemas[0])
            if not _of_this_size(connection, schemas[0], manifest):
                return None
            files = files_here(place.project_dir, project_file, place.target_dir)
            return _found(connection, schemas[0], environment, files, project_file.environment, archive)
    except WarehouseError:
        return None
    finally:
        connection.close()


def _of_this_size(connection: duckdb.DuckDBPyConnection, schema: str, manifest: Path) -> bool:
    """Whether any manifest of as many bytes was recorded: only then is reading it through worth the time."""
    found = connection.execute(
        f"select exists (from {quoted(schema)}.artifacts where kind = 'manifest' and size_bytes = $size)",
        {"size": manifest.stat().st_size},
    ).fetchone()
    return found == (True,)


def _found(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    environment: str,
    files: dict[str, str],
    default_environment: str,
    archive: Path | None,
) -> Before | None:
    recorded = recorded_as(connection, schema, environment, files["manifest.json"], files_id(files))
    if recorded is None:
        return None
    # what is held has to be counted anew
    if connection.execute(f"from {quoted(schema)}.held_removals limit 1").fetchall():
        return None
    if schema == STAND_ALONE_SCHEMA and not are_built(connection, schema, default_environment):
        return None
    project_name, collection_id = recorded
    if archive is not None and not is_kept(archive, collection_id):
        return None
    return Before(schema, project_name, environment, resolvers_present(connection, schema))
