"""Where the files of one collection lie, and what is known of it beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_attest.annotations import Extraction, ProjectFile, read_project_file
from dbt_attest.artifacts import Manifest, read_manifest
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.collection import Collection

if TYPE_CHECKING:
    from dbt_attest.warehouse.redactions import Redaction

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Place:
    """One target folder with its project: `attest.yml` and documents are read from `project_dir`.

    `environment` is what it is a collection of; None is as attest.yml says. `ingested_at` is when a
    warehouse learned of it first, None is now; `git_commit` and `authored_at` say which commit it is of: None
    asks the environment, empty text is none.
    `removals_allowed` lets it take away more than attest.yml allows, and `redactions` are of texts that it is to be
    read without, beside those that warehouse and archive know.
    """

    project_dir: Path
    target_dir: Path
    environment: str | None = None
    ingested_at: datetime | None = None
    git_commit: str | None = None
    authored_at: datetime | None = None
    removals_allowed: bool = False
    redactions: tuple[Redaction, ...] = ()

    @property
    def name(self) -> str:
        """The target folder."""
        return str(self.target_dir)

    @contextmanager
    def open(self) -> Iterator[Place]:
        """Itself; other kinds of places have to be made first."""
        yield self


def set_changed(path: Path, instant: datetime) -> None:
    """Make the instant the time of a file's last change, to the microsecond."""
    nanoseconds = (instant - _EPOCH) // timedelta(microseconds=1) * 1000
    os.utime(path, ns=(nanoseconds, nanoseconds))


@dataclass(frozen=True)
class Read:
    """What was read at a place."""

    manifest: Manifest
    project_file: ProjectFile
    collection: Collection
    extraction: Extraction


def read_place(place: Place) -> Read:
    """Read everything at a place; raises InputError and AnnotationErrors as reading does."""
    project_file = read_project_file(place.project_dir / "attest.yml")
    manifest = read_manifest(place.target_dir / "manifest.json")
    collection, extraction = collect(
        place.project_dir,
        manifest,
        project_file,
        place.environment or project_file.environment,
        git_commit=place.git_commit,
        authored_at=place.authored_at,
    )
    if place.removals_allowed:
        collection = replace(collection, removals_allowed=True)
    return Read(manifest, project_file, collection, extraction)
