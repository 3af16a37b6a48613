"""What one `attest build` read, ready to be recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class Artifact:
    """One file that was read. `generated_at` is UTC: dbt's own, or the time of the file's last change.

    Its fields are columns of the evidence table `artifacts`.
    """

    artifact_id: str
    kind: str
    path: str
    generated_at: datetime
    size_bytes: int
    schema_version: str | None = None
    dbt_version: str | None = None
    project_name: str | None = None
    adapter_type: str | None = None
    invocation_id: str | None = None


@dataclass(frozen=True)
class Collection:
    """Everything that was read of one project in one environment.

    `assertions`, `edges`, `policies` and `findings` are rows of the evidence tables, without the columns that
    recording fills (environment, project_name, collection_id, ingested_at, generated_at, stated).
    `disabled` are the unique_ids that are neither stated nor absent.
    """

    project_name: str
    environment: str
    manifest: Artifact
    project_file: Artifact | None
    documents: tuple[Artifact, ...]
    assertions: Iterable[dict[str, Any]]
    edges: Iterable[dict[str, Any]]
    policies: Iterable[dict[str, Any]]
    findings: Iterable[dict[str, Any]]
    disabled: frozenset[str]
    max_age: timedelta | None
    max_unverified: timedelta | None
    attest_version: str

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """Every file read, the manifest first."""
        return (self.manifest, *([self.project_file] if self.project_file else []), *self.documents)


@dataclass(frozen=True)
class Recorded:
    """What a recording added.

    `collection_id` is None where the same files were recorded before and nothing was added; `changed` counts
    definitions new or changed, `no_longer_stated` those that the artifacts no longer contain.
    """

    collection_id: str | None
    changed: int = 0
    no_longer_stated: int = 0
