"""The two ways a collection gets into a file: into a project's own one, and into a stand-alone one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import duckdb

from dbt_attest.errors import WarehouseError
from dbt_attest.warehouse.collection import Collection, Recorded
from dbt_attest.warehouse.contract import bring_up_to_date, quoted
from dbt_attest.warehouse.files import connect, evidence_schemas
from dbt_attest.warehouse.loading import limit_memory
from dbt_attest.warehouse.recording import record
from dbt_attest.warehouse.redactions import Redaction, keep_in_warehouse
from dbt_attest.warehouse.resolvers import are_built, build_resolvers, mark_built, resolvers_present

#: Schema of the evidence tables in a stand-alone warehouse.
STAND_ALONE_SCHEMA = "attest"


@dataclass(frozen=True)
class Destination:
    """A warehouse file and the schema of its evidence: a project's own file where `own`, else stand-alone.

    `default_environment` is what the resolvers of a stand-alone one answer for where none is named.
    """

    path: Path
    schema: str
    own: bool
    default_environment: str


@dataclass(frozen=True)
class Written:
    """A recorded collection: what was added, its id and when the warehouse learned of it.

    Where nothing was added (`recorded.collection_id` is None) the two are of the same files recorded before.
    """

    recorded: Recorded
    collection_id: str
    ingested_at: datetime


class Writer:
    """Records collections into an open warehouse, each in a transaction; `resolvers` is known at the end."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, destination: Destination) -> None:
        self.destination = destination
        self.resolvers = False
        self.added = False
        self._connection = connection
        self._prepared = False

    def record(self, collection: Collection, ingested_at: datetime | None = None) -> Written:
        """Record a collection, all of it or nothing; `ingested_at` where it comes from an archive."""
        path, schema = self.destination.path, self.destination.schema
        try:
            if not self._prepared:
                bring_up_to_date(self._connection, path, schema)
                self._prepared = True
            limit_memory(self._connection, collection.manifest.size_bytes)
            recorded = record(self._connection, schema, collection, ingested_at)
            self.added = self.added or recorded.collection_id is not None
            row = self._connection.execute(
                f"select collection_id, ingested_at from {quoted(schema)}.collections "
                "where project_name = $project and environment = $environment and manifest_id = $manifest "
                "and ($ingested_at is null or ingested_at = cast($ingested_at as timestamptz)) "
                "order by ingested_at desc limit 1",
                {
                    "project": collection.project_name,
                    "environment": collection.environment,
                    "manifest": collection.manifest.artifact_id,
                    "ingested_at": ingested_at,
                },
            ).fetchall()[0]
        except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
            raise WarehouseError(
                f"{path}: expected a file that can be written, found that it cannot be "
                f"({str(error).splitlines()[0]}); nothing was recorded."
            ) from error
        return Written(recorded, *row)

    def keep(self, redactions: Iterable[Redaction]) -> None:
        """Add the redactions that the warehouse does not know; after `record`."""
        if self._prepared:
            now = datetime.now(timezone.utc)
            added = keep_in_warehouse(self._connection, self.destination.schema, redactions, now)
            self.added = self.added or added > 0


@contextmanager
def writing(destination: Destination, patience: float) -> Iterator[Writer]:
    """A warehouse to record into; what is recorded is there for others once this ends without an error.

    In a project's own file each collection is there at once, and the resolvers come from its `dbt build`. A
    stand-alone one is written in a copy, which is put in the place of the file: readers never wait and never
    see half. Raises WarehouseError where another process holds the file for longer than `patience` seconds.
    """
    if destination.own:
        connection = connect(destination.path, read_only=False, patience=patience)
        try:
            writer = Writer(connection, destination)
            yield writer
            writer.resolvers = resolvers_present(connection, destination.schema)
        finally:
            connection.close()
        return
    # what a symbolic link leads to is replaced, not the link
    path = destination.path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with only_builder(path, patience), folder_for_copies(path) as folder:
        # the same base name, since DuckDB names the catalog by it
        copy = folder / path.name
        if path.exists():
            _copy(path, copy, patience)
        try:
            connection = connect(copy, read_only=False, patience=0)
        except WarehouseError as error:
            raise WarehouseError(str(error).replace(str(copy), str(path))) from error
        try:
            if path.exists() and destination.schema not in evidence_schemas(connection):
                raise WarehouseError(
                    f"{path}: expected an evidence warehouse or no file, found another DuckDB file; "
                    "name a file of its own, or add the dbt package attest to the project that builds it."
                )
            writer = Writer(connection, destination)
            yield writer
            built = are_built(connection, destination.schema, destination.default_environment)
        finally:
            connection.close()
        writer.resolvers = True
        if built and not writer.added:
            return
        if not built:
            build_resolvers(copy, destination.schema, destination.default_environment)
            connection = connect(copy, read_only=False, patience=0)
            try:
                mark_built(connection, destination.schema, destination.default_environment)
            finally:
                connection.close()
        copy.replace(path)


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
def folder_for_copies(path: Path) -> Iterator[Path]:
    """A folder beside the file; what a killed build left there goes, since only one builds at a time."""
    prefix = f".{path.name}-"
    for left in path.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=path.parent) as folder:
        yield Path(folder)


@contextmanager
def only_builder(path: Path, patience: float) -> Iterator[None]:
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
