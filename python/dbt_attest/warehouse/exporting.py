"""A new warehouse with what some groups may see and nothing else, so that it can be handed to them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from dbt_attest.errors import InputError, WarehouseError
from dbt_attest.warehouse.contract import dbt_package_dir, evidence_tables, quoted
from dbt_attest.warehouse.files import connect
from dbt_attest.warehouse.rendering import macro_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What tells that a file was exported, and may be replaced by another export: the comment on contract_versions.
_MARK = "dbt-attest export"


@dataclass(frozen=True)
class Exported:
    """How many entities and definitions the groups may see there, and how many masks stand for the rest."""

    entities: int
    definitions: int
    masks: int


def export_for_groups(
    path: Path, schema: str, environment: str, groups: Iterable[str], out: Path, *, as_folder: bool = False
) -> Exported:
    """Write to `out` a warehouse of one environment with what a requester in `groups` may see, and the resolvers.

    Asked for these groups it answers as the one at `path` does. What they may not see is there only as masks:
    entity, scope, days and recorded time of what decides, without id, text, place or group. `as_folder` writes a
    folder with a Parquet file for each evidence table instead, without resolvers. An existing `out` is replaced
    only where it is such an export.

    Raises InputError where `out` is something else, WarehouseError where the warehouse cannot be read or copied.
    """
    if out.exists() and not (_is_folder_export(out) if as_folder else _is_export(out)):
        kind = "a folder" if as_folder else "a file"
        raise InputError(
            f"{out}: expected no such file, or {kind} that `attest export --for-groups` wrote before, found "
            "something else; remove it or name another."
        )
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: expected an existing folder around it; create the folder first.")
    statements = macro_sql("export_sql", schema, environment)
    with _beside(out) as partial, _resolvers_only(path, schema) as connection:
        # through variables, so that no text of it becomes Jinja or SQL
        connection.execute(
            "set variable attest_groups = cast($groups as varchar[])", {"groups": list(groups)}
        )
        connection.execute("set variable attest_environment = $here", {"here": environment})
        # of a text with several, DuckDB 1.5 keeps the names of windows from one to the next
        for statement in filter(str.strip, statements.split(";\n")):
            connection.execute(statement)
        for table in evidence_tables():
            _fill(connection, schema, table)
        connection.execute(f"comment on table memory.{quoted(schema)}.contract_versions is {_text(_MARK)}")
        counted = connection.execute(
            "select (select count(distinct entity_id) from export_seen), "
            "(select count(distinct (entity_id, evidence_id)) from export_seen), "
            "(select count(distinct evidence_id) from export_mask_assertions)"
        ).fetchall()[0]
        if as_folder:
            _write_folder(connection, schema, partial)
        else:
            connection.execute(f"attach {_text(str(partial))} as exported")
            connection.execute("copy from database memory to exported")
            connection.execute("detach exported")
        _put_in_place(partial, out)
    return Exported(*counted)


@contextmanager
def _resolvers_only(path: Path, schema: str) -> Iterator[DuckDBPyConnection]:
    """In memory, the empty evidence tables and the resolvers of `schema`; the file at `path` answers by default."""
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
                f"({str(error).splitlines()[0]}); export from a stand-alone warehouse."
            ) from error
        _drop_all_else(connection, schema)
        connection.execute("use original.main")
        yield connection
    finally:
        connection.close()


def _drop_all_else(connection: DuckDBPyConnection, schema: str) -> None:
    """What a project's own file has besides evidence and resolvers is nobody's business."""
    resolvers = [
        dbt_package_dir().glob(f"{folder}/*.sql") for folder in ("models/resolution", "macros/functions")
    ]
    ours = {*evidence_tables(), *(resolver.stem for found in resolvers for resolver in found)}
    for kind, listed, name in (
        ("view", "duckdb_views()", "view_name"),
        ("macro table", "duckdb_functions()", "function_name"),
        ("macro", "duckdb_functions()", "function_name"),
        ("table", "duckdb_tables()", "table_name"),
        ("sequence", "duckdb_sequences()", "sequence_name"),
        ("type", "duckdb_types()", "type_name"),
    ):
        which = {"macro table": "and function_type = 'table_macro'", "macro": "and function_type = 'macro'"}
        found = connection.execute(
            f"select distinct schema_name, {name} from {listed} "
            f"where database_name = 'memory' and not internal {which.get(kind, '')}"
            if kind != "sequence"
            else f"select schema_name, {name} from {listed} where database_name = 'memory'"
        ).fetchall()
        for holder, thing in found:
            if (holder, thing in ours) != (schema, True):
                connection.execute(f"drop {kind} memory.{quoted(holder)}.{quoted(thing)}")
    for (holder,) in connection.execute(
        "select schema_name from duckdb_schemas() where database_name = 'memory' and not internal"
    ).fetchall():
        if holder not in (schema, "main"):
            connection.execute(f"drop schema memory.{quoted(holder)}")


def _fill(connection: DuckDBPyConnection, schema: str, table: str) -> None:
    """Put what the package's macro made for an evidence table into it; nothing where it made nothing."""
    made = connection.execute(
        "select exists (from duckdb_tables() where temporary and table_name = $name)",
        {"name": f"export_{table}"},
    ).fetchall()[0][0]
    if made:
        connection.execute(
            f"insert into memory.{quoted(schema)}.{quoted(table)} by name from temp.{quoted(f'export_{table}')}"
        )


def _write_folder(connection: DuckDBPyConnection, schema: str, folder: Path) -> None:
    folder.mkdir()
    for table in evidence_tables():
        connection.execute(
            f"copy memory.{quoted(schema)}.{quoted(table)} to {_text(str(folder / f'{table}.parquet'))} "
            f"(format parquet, kv_metadata {{made_by: {_text(_MARK)}}})"
        )


def _is_export(out: Path) -> bool:
    try:
        with duckdb.connect(str(out), read_only=True) as connection:
            found = connection.execute(
                "select bool_or(comment = $mark) from duckdb_tables() "
                "where table_name = 'contract_versions' and database_name = current_database()",
                {"mark": _MARK},
            ).fetchall()
    except (duckdb.Error, OSError):
        return False
    return found == [(True,)]


def _is_folder_export(out: Path) -> bool:
    if not out.is_dir() or {one.name for one in out.iterdir()} - {
        f"{name}.parquet" for name in evidence_tables()
    }:
        return False
    try:
        found = duckdb.execute(
            "select decode(value) from parquet_kv_metadata($file) where decode(key) = 'made_by'",
            {"file": str(out / "contract_versions.parquet")},
        ).fetchall()
    except (duckdb.Error, OSError):
        return False
    return found == [(_MARK,)]


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A place for the unfinished export, in the folder of the finished one; nothing of it stays."""
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.absolute().parent) as folder:
        yield Path(folder) / out.name


def _put_in_place(partial: Path, out: Path) -> None:
    if out.is_dir():
        replaced = partial.with_name("replaced")
        out.rename(replaced)
        partial.rename(out)
        shutil.rmtree(replaced)
    else:
        partial.replace(out)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
