"""Texts that should never have been recorded, known by their hash alone, and reading without them.

A redaction stands in the table `redactions` and in the archive's `redactions.jsonl`. What is read is searched for
definitions and claims whose text has such a hash; where one is found, the files are read again from copies in
which `redacted` and the start of the hash stand instead. So a file that still has the text gives the same rows,
and the same archived file, as one that never had it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from dbt_attest.errors import InputError, WarehouseError
from dbt_attest.warehouse.archive import place_in, read_again
from dbt_attest.warehouse.contract import quoted
from dbt_attest.warehouse.files import connect, evidence_schemas
from dbt_attest.warehouse.place import Place, Read, read_place, set_changed

if TYPE_CHECKING:
    from dbt_attest.warehouse.collection import Artifact

_FILE = "redactions.jsonl"


@dataclass(frozen=True)
class Redaction:
    """One text that was taken out: its hash (`hash_of`), of which definition it was, when (UTC) and why."""

    text_hash: str
    evidence_id: str
    redacted_at: str
    why: str


def hash_of(text: str) -> str:
    """SHA-256 of a text, whatever white space is between its words."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def left_of(text: str) -> str:
    """What stands in place of a text: one word, and the start of its hash."""
    return f"redacted {hash_of(text)[:12]}"


def in_archive(archive: Path | None) -> list[Redaction]:
    """The redactions that an archive knows, if there is one; raises InputError where it cannot tell them."""
    if archive is None:
        return []
    path = archive / _FILE
    try:
        return [Redaction(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{path}: expected the redactions of an archive, found a file that cannot be read ({error}); restore it."
        ) from None


def in_warehouse(path: Path, patience: float) -> list[Redaction]:
    """The redactions that the warehouse in a file knows; none where there is no warehouse yet."""
    if not path.is_file():
        return []
    connection = connect(path, read_only=True, patience=patience)
    try:
        return [
            Redaction(*row)
            for schema in evidence_schemas(connection)
            if connection.execute(
                "select exists (from duckdb_tables() where schema_name = $schema and table_name = 'redactions')",
                {"schema": schema},
            ).fetchone()
            == (True,)
            for row in connection.execute(
                "select text_hash, evidence_id, strftime(redacted_at, '%Y-%m-%dT%H:%M:%S.%fZ'), why "
                f"from {quoted(schema)}.redactions"
            ).fetchall()
        ]
    except duckdb.Error as error:
        raise WarehouseError(
            f"{path}: expected redactions that can be read, found that they cannot be ({error})."
        ) from error
    finally:
        connection.close()


def keep_in_archive(archive: Path, redactions: Iterable[Redaction]) -> None:
    """Add those that the archive does not know."""
    known = in_archive(archive) if archive.is_dir() else []
    new = [one for one in redactions if one not in known]
    if new:
        archive.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in (*known, *new)]
        part = archive / f".{_FILE}.part"
        part.write_text("".join(lines), encoding="utf-8")
        part.replace(archive / _FILE)


def keep_in_warehouse(
    connection: duckdb.DuckDBPyConnection, schema: str, redactions: Iterable[Redaction], now: datetime
) -> int:
    """Add those that the warehouse does not know; returns how many."""
    added = 0
    for one in redactions:
        added += connection.execute(
            f"""
            insert into {quoted(schema)}.redactions by name
            select $text_hash as text_hash, $evidence_id as evidence_id,
              cast($redacted_at as timestamptz) as redacted_at, $why as why, cast($now as timestamptz) as ingested_at
            where not exists (from {quoted(schema)}.redactions as known where known.text_hash = $text_hash
              and known.evidence_id = $evidence_id and known.redacted_at = cast($redacted_at as timestamptz))
            """,
            asdict(one) | {"now": now},
        ).fetchall()[0][0]
    return added


@contextmanager
def reading(place: Place, redactions: Iterable[Redaction]) -> Iterator[tuple[Place, Read]]:
    """What is read at a place, and a place with the files that were read: without what is redacted.

    Raises InputError and AnnotationErrors as reading does, and InputError where a text cannot be taken out.
    """
    hashes = {one.text_hash for one in redactions}
    read = read_place(place)
    texts = _found(read, hashes)
    if not texts:
        yield place, read
        return
    with tempfile.TemporaryDirectory(prefix="attest-redacted-") as folder:
        clean = _copy(place, read, texts, Path(folder))
        again = read_place(clean)
        if left := _found(again, hashes):
            raise InputError(
                f"{place.target_dir}: expected a text with the hash {hash_of(left.pop())[:12]}, which is redacted, to "
                "be taken out, found it in a spelling that is not understood; write it on one line, or remove it."
            )
        yield clean, again


def _found(read: Read, hashes: set[str]) -> set[str]:
    if not hashes:
        return set()
    said = {definition.definition for definition in read.extraction.definitions}
    said |= {claim.value for claim in read.extraction.claims}
    return {text for text in said if text and hash_of(text) in hashes}


def _copy(place: Place, read: Read, texts: set[str], folder: Path) -> Place:
    """The files that were read, at their places in a folder, without the texts."""
    patterns = [(_spellings(text), left_of(text).encode()) for text in sorted(texts, key=len, reverse=True)]

    def write(artifact: Artifact) -> Path:
        content = read_again(artifact, place)
        for pattern, instead in patterns:
            content = pattern.sub(instead, content)
        path = place_in(folder, artifact.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        set_changed(path, artifact.generated_at)
        return path

    manifest = write(read.collection.manifest)
    for artifact in read.collection.artifacts[1:]:
        write(artifact)
    named = place.project_dir / "dbt_project.yml"
    if named.is_file():
        (folder / "dbt_project.yml").write_bytes(named.read_bytes())
    return replace(
        place,
        project_dir=folder,
        target_dir=manifest.parent,
        environment=read.collection.environment,
        git_commit=read.collection.manifest.git_commit or "",
        authored_at=read.collection.manifest.authored_at,
    )


def _spellings(text: str) -> re.Pattern[bytes]:
    """A text as it can stand in JSON, YAML and Markdown: escaped, quoted, or over several lines."""
    words = []
    for word in text.split():
        spelled = {
            word,
            json.dumps(word)[1:-1],
            json.dumps(word, ensure_ascii=False)[1:-1],
            word.replace("'", "''"),
        }
        words.append(b"(?:" + b"|".join(re.escape(one.encode()) for one in sorted(spelled)) + b")")
    return re.compile(rb"(?:\s|\\[nrt])+".join(words))
