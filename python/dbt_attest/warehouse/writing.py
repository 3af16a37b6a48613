"""The two ways a collection gets into a file: into a project's own one, and into a stand-alone one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from dbt_attest.errors import WarehouseError
from dbt_attest.warehouse.collection import Collection, Recorded
from dbt_attest.warehouse.contract import check_version, create_tables
from dbt_attest.warehouse.files import connect, evidence_schemas
from dbt_attest.warehouse.recording import record
from dbt_attest.warehouse.resolvers import are_built, build_resolvers, mark_built, resolvers_present

#: Schema of the evidence tables in a stand-alone warehouse.
STAND_ALONE_SCHEMA = "attest"


def record_in_project(
    path: Path, schema: str, collection: Collection, patience: float
) -> tuple[Recorded, bool]:
    """Record in a project's own file; also whether the resolvers are there, which its `dbt build` creates.

    Raises WarehouseError where another process holds the file for longer than `patience` seconds.
    """
    connection = connect(path, read_only=False, patience=patience)
    try:
        recorded = _record(connection, path, schema, collection)
        return recorded, resolvers_present(connection, schema)
    finally:
        connection.close()


def record_stand_alone(
    path: Path, collection: Collection, default_environment: str, patience: float
) -> Recorded:
    """Record in a copy and put it in the place of the file: readers never wait and never see half.

    Raises WarehouseError where another build writes the file for longer than `patience` seconds.
    """
    path = path.resolve()  # what a symbolic link leads to is replaced, not the link
    path.parent.mkdir(parents=True, exist_ok=True)
    with _only_builder(path, patience), _folder_for_copies(path) as folder:
        # the same base name, since DuckDB names the catalog by it
        copy = folder / path.name
        if path.exists():
            _copy(path, copy, patience)
        try:
            connection = connect(copy, read_only=False, patience=0)
        except WarehouseError as error:
            raise WarehouseError(str(error).replace(str(copy), str(path))) from error
        try:
            if path.exists() and STAND_ALONE_SCHEMA not in evidence_schemas(connection):
                raise WarehouseError(
                    f"{path}: expected an evidence warehouse or no file, found another DuckDB file; "
                    "name a file of its own, or add the dbt package attest to the project that builds it."
                )
            recorded = _record(connection, path, STAND_ALONE_SCHEMA, collection)
            built = are_built(connection, STAND_ALONE_SCHEMA, default_environment)
        finally:
            connection.close()
        if built and recorded.collection_id is None:
            return recorded
        if not built:
            build_resolvers(copy, STAND_ALONE_SCHEMA, default_environment)
            connection = connect(copy, read_only=False, patience=0)
            try:
                mark_built(connection, STAND_ALONE_SCHEMA, default_environment)
            finally:
                connection.close()
        copy.replace(path)
    return recorded


def _record(
    connection: duckdb.DuckDBPyConnection, path: Path, schema: str, collection: Collection
) -> Recorded:
    if schema in evidence_schemas(connection):
        check_version(connection, path, schema)
    try:
        create_tables(connection, schema)
        return record(connection, schema, collection)
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise WarehouseError(
            f"{path}: expected a file that can be written, found that it cannot be "
            f"({str(error).splitlines()[0]}); nothing was recorded."
        ) from error


def _copy(path: Path, copy: Path, patience: float) -> None:
    if path.with_name(f"{path.name}.wal").exists():
        # somebody wrote into it and did not come to the end: opening it writes that into the file itself
        connect(path, read_only=False, patience=patience).close()
    try:
        shutil.copy(path, copy)
    except IsADirectoryError:
        raise WarehouseError(
            f"{path}: expected an evidence warehouse, found a folder; name a file."
        ) from None
    except OSError as error:
        raise WarehouseError(
            f"{path}: expected a file that can be copied, found that it cannot be ({error.strerror})."
        ) from error


@contextmanager
def _folder_for_copies(path: Path) -> Iterator[Path]:
    """A folder beside the file; what a killed build left there goes, since only one builds at a time."""
    prefix = f".{path.name}-"
    for left in path.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=path.parent) as folder:
        yield Path(folder)


@contextmanager
def _only_builder(path: Path, patience: float) -> Iterator[None]:
    """Hold the lock that builders of a stand-alone warehouse take turns with; it falls with the process."""
    import fcntl

    lock = path.with_name(f".{path.name}.lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise WarehouseError(
            f"{path.parent}: expected a folder to write the warehouse to, found one that cannot be written "
            f"({error.strerror})."
        ) from error
    give_up = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= give_up:
                    raise WarehouseError(
                        f"{path}: waited {patience:.0f} s while another `attest build` writes it; "
                        "try again later, or wait longer with --wait."
                    ) from None
                time.sleep(0.1)
        yield
    finally:
        os.close(handle)
