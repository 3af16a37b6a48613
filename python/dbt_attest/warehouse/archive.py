"""The archive: the files of every collection, kept so that the warehouse can be made again from them.

    <archive>/files/ab/abcdef….gz     a file that was read, compressed, by the SHA-256 of its content
    <archive>/collections/….json      which files one collection read, where, with which instants

Nothing but a redaction ever changes it: a file is written under another name and renamed, and only where there is none.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

import msgspec

from dbt_attest.errors import InputError
from dbt_attest.warehouse.collection import Artifact, Collection
from dbt_attest.warehouse.place import Place, set_changed

_VERSION = 1


class ArchivedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file of a collection: what it is, where it was below the project, its hash and its instant."""

    kind: str
    path: str
    artifact_id: str
    generated_at: datetime


class ArchivedCollection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One collection as it was recorded; `files` starts with its manifest. Instants are UTC."""

    archive_version: int
    collection_id: str
    project_name: str
    environment: str
    generated_at: datetime
    ingested_at: datetime
    git_commit: str | None = None
    authored_at: datetime | None = None
    removals_allowed: bool = False
    files: tuple[ArchivedFile, ...]


@dataclass(frozen=True)
class InArchive:
    """An archived collection that can be read again; `archive` is the folder with its files."""

    archive: Path
    collection: ArchivedCollection

    @property
    def name(self) -> str:
        """How a person finds it: its project, environment and instant."""
        said = self.collection
        return f"{said.project_name} ({said.environment}) of {said.generated_at:%Y-%m-%dT%H:%M:%SZ}"

    @contextmanager
    def open(self) -> Iterator[Place]:
        """Its files at their places in a temporary folder, changed when they were changed.

        Raises InputError where a file is missing or is not what it was.
        """
        with tempfile.TemporaryDirectory(prefix="attest-archive-") as folder:
            for file in self.collection.files:
                path = place_in(Path(folder), file.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_content(self.archive, file))
                set_changed(path, file.generated_at)
            manifest = self.collection.files[0]
            yield Place(
                project_dir=Path(folder),
                target_dir=place_in(Path(folder), manifest.path).parent,
                environment=self.collection.environment,
                ingested_at=self.collection.ingested_at,
                git_commit=self.collection.git_commit or "",
                authored_at=self.collection.authored_at,
                removals_allowed=self.collection.removals_allowed,
            )


def is_archive(folder: Path) -> bool:
    """Whether a folder is an archive."""
    return (folder / "collections").is_dir() and (folder / "files").is_dir()


def keep_files(archive: Path, artifacts: Iterable[Artifact], place: Place) -> None:
    """Keep the files that were read, each once.

    Raises InputError where one was changed since it was read, or the archive cannot be written.
    """
    for artifact in artifacts:
        kept = _file(archive, artifact.artifact_id)
        if kept.exists():
            continue
        content = read_again(artifact, place)
        # without a time of its own, the same content gives the same file
        _put(kept, gzip.compress(content, compresslevel=6, mtime=0))


def keep_collection(archive: Path, collection: ArchivedCollection) -> None:
    """Keep what a collection is made of, once its files are kept and it is recorded; InputError as there."""
    stamp = f"{collection.ingested_at:%Y%m%dT%H%M%S}"
    path = archive / "collections" / f"{stamp}-{collection.collection_id[:16]}.json"
    if not path.exists():
        _put(path, msgspec.json.format(msgspec.json.encode(collection)) + b"\n")


def is_kept(archive: Path, collection_id: str) -> bool:
    """Whether a collection is in the archive."""
    return any((archive / "collections").glob(f"*-{collection_id[:16]}.json"))


def archived(collection: Collection, collection_id: str, ingested_at: datetime) -> ArchivedCollection:
    """The archive's entry of a recorded collection."""
    manifest = collection.manifest
    return ArchivedCollection(
        archive_version=_VERSION,
        collection_id=collection_id,
        project_name=collection.project_name,
        environment=collection.environment,
        generated_at=manifest.generated_at,
        ingested_at=ingested_at,
        git_commit=manifest.git_commit,
        authored_at=manifest.authored_at,
        removals_allowed=collection.removals_allowed,
        files=tuple(
            ArchivedFile(
                kind=one.kind, path=one.path, artifact_id=one.artifact_id, generated_at=one.generated_at
            )
            for one in collection.artifacts
        ),
    )


def read_archive(archive: Path) -> tuple[list[InArchive], list[tuple[str, str]]]:
    """The collections in the order of their recording, and those that are broken: name and reason."""
    found, broken = [], []
    for path in sorted((archive / "collections").glob("*.json")):
        try:
            collection = msgspec.json.decode(path.read_bytes(), type=ArchivedCollection)
            if collection.archive_version > _VERSION:
                raise InputError(
                    f"{path}: expected archive version {_VERSION}, found {collection.archive_version}; "
                    "install a newer dbt-attest."
                )
            if not collection.files or collection.files[0].kind != "manifest":
                raise InputError(f"{path}: expected a manifest as the first file, found none.")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            broken.append((str(path), f"{path}: expected a collection of an archive, found {error}."))
        except OSError as error:
            broken.append((str(path), f"{path}: expected a readable file, found {error.strerror}."))
        except InputError as error:
            broken.append((str(path), str(error)))
        else:
            found.append(InArchive(archive, collection))
    found.sort(key=lambda one: (one.collection.ingested_at, one.collection.collection_id))
    return found, broken


def _file(archive: Path, artifact_id: str) -> Path:
    return archive / "files" / artifact_id[:2] / f"{artifact_id}.gz"


def _content(archive: Path, file: ArchivedFile) -> bytes:
    path = _file(archive, file.artifact_id)
    expected = f"{path}: expected {file.path} as it was read"
    try:
        content = gzip.decompress(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{expected}, found no such file.") from None
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{expected}, found a file that cannot be unpacked ({error}).") from None
    except Exception as error:  # zlib.error is no subclass of anything narrower
        raise InputError(f"{expected}, found a damaged file ({error}).") from None
    if hashlib.sha256(content).hexdigest() != file.artifact_id:
        raise InputError(f"{expected}, found other content.")
    return content


def read_again(artifact: Artifact, place: Place) -> bytes:
    """The content of a file that was read at a place; raises InputError where it is another one by now."""
    for path in _candidates(artifact.path, place):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if hashlib.sha256(content).hexdigest() == artifact.artifact_id:
            return content
    raise InputError(
        f"{artifact.path}: expected the file as it was read a moment ago, to archive it, found it changed or "
        "gone; run `attest build` again."
    )


def _candidates(path: str, place: Place) -> Iterator[Path]:
    yield place.project_dir / path
    # a target folder outside of the project: of its files only the names are recorded
    yield place.target_dir / PurePosixPath(path).name
    # the names that are recorded are composed; on the disk they need not be
    yield place.project_dir / unicodedata.normalize("NFD", path)


def place_in(folder: Path, path: str) -> Path:
    """A path of an archive, which somebody else may have written, inside the folder."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise InputError(f"{path!r}: expected a path inside the project, found one that leads out of it.")
    return folder.joinpath(*parts)


def _put(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=".part-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(part).chmod(0o644)
            Path(part).replace(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(
            f"{path.parent}: expected a folder to archive to, found one that cannot be written "
            f"({error.strerror}); make room, or name another `archive` in attest.yml."
        ) from None
