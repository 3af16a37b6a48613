"""`attest build --redact`: a text that should never have been recorded is taken out of the warehouse and the archive.

Both are made again from the archive without it, beside the old ones, and put in their places by renaming: so no byte
of it is left in a free block of the file. Everything else of the definition stays: its id, days, status and links.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import duckdb

from dbt_attest.annotations import read_project_file
from dbt_attest.errors import InputError, WarehouseError
from dbt_attest.warehouse.archive import InArchive, is_archive, read_archive
from dbt_attest.warehouse.building import archive_dir, find_destination
from dbt_attest.warehouse.contract import check_version, evidence_tables, quoted
from dbt_attest.warehouse.files import PATIENCE, connect
from dbt_attest.warehouse.place import Place
from dbt_attest.warehouse.redactions import (
    Redaction,
    hash_of,
    in_archive,
    in_warehouse,
    keep_in_archive,
    keep_in_warehouse,
    left_of,
)
from dbt_attest.warehouse.replay import Replay, replay
from dbt_attest.warehouse.writing import Destination, folder_for_copies, only_builder

#: A shorter text can stand inside of others by chance.
SHORTEST = 8


@dataclass(frozen=True)
class Redacted:
    """What was taken out: of which definition, the hash of each text, and the file and archive made again."""

    evidence_id: str
    text_hashes: tuple[str, ...]
    warehouse: Path
    archive: Path


@dataclass(frozen=True)
class _Without:
    """An archived collection whose files are read without what is redacted."""

    past: InArchive
    texts: tuple[Redaction, ...]

    @property
    def name(self) -> str:
        return self.past.name

    @contextmanager
    def open(self) -> Iterator[Place]:
        with self.past.open() as place:
            yield replace(place, redactions=self.texts)


def redact(
    project_dir: Path,
    evidence_id: str,
    why: str,
    *,
    content_hash: str | None = None,
    warehouse: Path | None = None,
    patience: float = PATIENCE,
) -> Redacted:
    """Take the texts of a definition out; of one version of it where the start of its `content_hash` is given.

    Raises InputError where there is no such text, or not every collection is in the archive; WarehouseError
    where the file is busy or cannot be written. Warehouse and archive are as they were then.
    """
    project_file = read_project_file(project_dir / "attest.yml")
    archive = archive_dir(project_dir, project_file)
    destination = find_destination(project_dir, project_file, warehouse)
    path = destination.path.resolve()
    if archive is None or not is_archive(archive):
        raise InputError(
            f"{project_dir / 'attest.yml'}: expected an archive to make the warehouse again from, found none; without "
            "one, remove the text from the project, delete the warehouse, and run `attest build`."
        )
    texts, recorded = _recorded(path, destination.schema, evidence_id, content_hash, patience)
    now = datetime.now(timezone.utc)
    new = [
        Redaction(hash_of(text), evidence_id, now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), why) for text in texts
    ]
    if any(" ".join(text.split()) in " ".join(why.split()) for text in texts):
        raise InputError("--why: expected a reason, found the text itself, which would stay.")
    everything = tuple(dict.fromkeys([*in_archive(archive), *in_warehouse(path, patience), *new]))
    found, broken = read_archive(archive)
    if broken:
        raise InputError(broken[0][1])
    missing = recorded - {one.collection.collection_id for one in found}
    if missing:
        raise InputError(
            f"{archive}: expected every collection of the warehouse, found {len(missing)} of {len(recorded)} missing; "
            "record it from the archive alone (`attest build --archive` into a new file), then redact that."
        )
    with only_builder(path, patience), folder_for_copies(path) as folder:
        fresh_archive = archive.parent / f".{archive.name}-redacting"
        shutil.rmtree(fresh_archive, ignore_errors=True)
        done = Replay()
        # only its rows are taken: what else is in the file, resolvers included, is copied from it
        rebuilt = Destination(folder / path.name, destination.schema, True, destination.default_environment)
        replay([_Without(one, everything) for one in found], rebuilt, fresh_archive, 0, done)
        if done.skipped:
            raise InputError(f"{done.skipped[0].name}: {done.skipped[0].reason}")
        keep_in_archive(fresh_archive, everything)
        connection = connect(rebuilt.path, read_only=False)
        try:
            keep_in_warehouse(connection, destination.schema, everything, now)
        finally:
            connection.close()
        fresh = _with_other_evidence(path, rebuilt.path, destination.schema, folder, patience)
        # the archive first: with it, the warehouse can be made again
        _swap(archive, fresh_archive)
        fresh.replace(path)
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
    return Redacted(evidence_id, tuple(one.text_hash for one in new), path, archive)


def _recorded(
    path: Path, schema: str, evidence_id: str, content_hash: str | None, patience: float
) -> tuple[list[str], set[str]]:
    """The texts to take out, and the ids of all collections."""
    connection = connect(path, read_only=True, patience=patience)
    try:
        check_version(connection, path, schema)
        rows = connection.execute(
            f"select distinct definition from {quoted(schema)}.assertions where evidence_id = $evidence_id "
            "and definition is not null and ($hash is null or starts_with(content_hash, $hash))",
            {"evidence_id": evidence_id, "hash": content_hash},
        ).fetchall()
        collections = connection.execute(
            f"select distinct collection_id from {quoted(schema)}.collections"
        ).fetchall()
    finally:
        connection.close()
    texts = sorted(text for (text,) in rows if text != "redacted" and not _is_left(text))
    named = evidence_id if content_hash is None else f"{evidence_id}@{content_hash}"
    if not texts:
        found = "one that is redacted already" if rows else "none"
        raise InputError(
            f"--redact {named}: expected a definition with a text, found {found}; `attest timeline NAME --history` "
            "lists evidence ids, and `resolve --format json` the content_hash of a version."
        )
    if short := [text for text in texts if len("".join(text.split())) < SHORTEST]:
        raise InputError(
            f"--redact {named}: expected texts of at least {SHORTEST} characters, found one of {len(short[0])}, which "
            "stands in other texts, too; name another version with @HASH."
        )
    return texts, {one for (one,) in collections}


def _is_left(text: str) -> bool:
    return len(text) == len(left_of("")) and text.startswith("redacted ")


def _with_other_evidence(path: Path, rebuilt: Path, schema: str, folder: Path, patience: float) -> Path:
    """A copy of a file with the evidence of the rebuilt one: no block of the old file is copied."""
    fresh = folder / "fresh" / path.name
    fresh.parent.mkdir()
    connection = connect(path, read_only=False, patience=patience)
    try:
        own = connection.execute("select current_database()").fetchall()[0][0]
        for name, file in (("fresh", fresh), ("rebuilt", rebuilt)):
            connection.execute(f"attach '{str(file).replace(chr(39), chr(39) * 2)}' as {name}")
        connection.execute(f"copy from database {quoted(own)} to fresh (schema)")
        tables = connection.execute(
            "select schema_name, table_name from duckdb_tables() where database_name = 'fresh'"
        ).fetchall()
        evidence = evidence_tables()
        for in_schema, table in tables:
            source = "rebuilt" if in_schema == schema and table in evidence else quoted(own)
            name = f"{quoted(in_schema)}.{quoted(table)}"
            connection.execute(f"insert into fresh.{name} by name from {source}.{name}")
    except duckdb.Error as error:
        raise WarehouseError(
            f"{path}: expected a file that can be copied table by table, found one that cannot "
            f"({str(error).splitlines()[0]}); nothing was changed."
        ) from error
    finally:
        connection.close()
    return fresh


def _swap(archive: Path, fresh: Path) -> None:
    old = archive.with_name(f".{archive.name}-with-redacted-text")
    shutil.rmtree(old, ignore_errors=True)
    archive.replace(old)
    fresh.replace(archive)
    shutil.rmtree(old)
