"""Recording several collections in one go, and finding those that lie in archives and target folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

from dbt_attest.errors import InputError
from dbt_attest.warehouse.archive import (
    ArchivedCollection,
    InArchive,
    archived,
    is_archive,
    keep_collection,
    keep_files,
    read_archive,
)
from dbt_attest.warehouse.garbage import without_collector
from dbt_attest.warehouse.place import Place
from dbt_attest.warehouse.redactions import in_archive, in_warehouse, keep_in_archive, reading
from dbt_attest.warehouse.writing import Destination, Written, writing

_One = TypeVar("_One")
#: Wraps what is gone through, so that a terminal can show how far it is.
Progress = Callable[[Sequence[_One]], Iterable[_One]]


class Past(Protocol):
    """A collection of the past that can be made to lie at a place for a while."""

    @property
    def name(self) -> str:
        """How a person finds it."""

    def open(self) -> AbstractContextManager[Place]:
        """Make its files lie somewhere; raises InputError where they are broken."""


@dataclass(frozen=True)
class Skipped:
    """Something that was not recorded, and the sentences saying why."""

    name: str
    reason: str


@dataclass
class Replay:
    """What a replay did, counted as it goes: `recorded` collections are new, `unchanged` ones were there.

    `changed` and `no_longer_stated` count definitions over all of them, `held` those whose removal the last
    one of them held.
    """

    recorded: int = 0
    unchanged: int = 0
    changed: int = 0
    no_longer_stated: int = 0
    held: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    resolvers_missing: bool = False

    def count(self, written: Written) -> None:
        """Count one recorded collection."""
        self.held = written.recorded.held
        if written.recorded.collection_id is None:
            self.unchanged += 1
            return
        self.recorded += 1
        self.changed += written.recorded.changed
        self.no_longer_stated += written.recorded.no_longer_stated


def replay(
    pasts: Iterable[Past], destination: Destination, archive: Path | None, patience: float, done: Replay
) -> None:
    """Record collections in one write of the warehouse, and keep their files where there is an archive.

    One is in memory at a time. What cannot be read is skipped and named in `done`, the rest is recorded.
    """
    kept: list[ArchivedCollection] = []
    known = dict.fromkeys(in_warehouse(destination.path, patience) + in_archive(archive))
    archives: set[Path] = set()
    with writing(destination, patience) as writer:
        for past in pasts:
            try:
                with without_collector(), past.open() as place:
                    known |= dict.fromkeys(place.redactions)
                    if isinstance(past, InArchive) and past.archive not in archives:
                        archives.add(past.archive)
                        known |= dict.fromkeys(in_archive(past.archive))
                    with reading(place, known) as (clean, read):
                        collection = read.collection
                        if archive is not None:
                            keep_files(archive, collection.artifacts, clean)
                        written = writer.record(collection, place.ingested_at)
            except InputError as error:
                done.skipped.append(Skipped(past.name, str(error)))
                continue
            done.count(written)
            if archive is None:
                continue
            entry = archived(collection, written.collection_id, written.ingested_at)
            if destination.own:  # it is in the warehouse now, whatever comes
                keep_collection(archive, entry)
            else:
                kept.append(entry)
        writer.keep(known)
    if archive is not None:
        keep_in_archive(archive, known)
        for entry in kept:
            keep_collection(archive, entry)
    done.resolvers_missing = not writer.resolvers


def find(folders: Iterable[Path], present: Place) -> tuple[list[Past], list[Skipped]]:
    """The collections in the folders: archives, target folders, and trees with any of these.

    Of target folders, everything but the folder is as in `present`.

    Archived ones come in the order in which they were recorded, target folders after them by path. Raises
    InputError where a folder is missing or has nothing in it.
    """
    archives: dict[Path, None] = {}
    targets: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder}: expected an archive or a target folder, found no folder.")
        inside = list(_walk(folder.resolve()))
        for one in inside:
            (archives if is_archive(one) else targets)[one] = None
        if not inside:
            raise InputError(
                f"{folder}: expected an archive or target folders, found no manifest.json in it; name a "
                "folder that `attest build` archived to, or one that dbt wrote."
            )
    collections, skipped = [], []
    for archive in archives:
        found, broken = read_archive(archive)
        collections += found
        skipped += [Skipped(name, reason) for name, reason in broken]
    collections.sort(key=lambda one: (one.collection.ingested_at, one.collection.collection_id))
    places = [replace(present, target_dir=target) for target in sorted(targets)]
    return [*collections, *places], skipped


def _walk(folder: Path) -> Iterator[Path]:
    for inside, folders, files in os.walk(folder):
        if is_archive(Path(inside)):
            folders.clear()
            yield Path(inside)
        elif "manifest.json" in files:
            yield Path(inside)
        folders[:] = sorted(one for one in folders if one not in (".git", "dbt_packages", "node_modules"))
