"""What one `attest build` read, ready to be recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class Artifact:
    """One file that was read. `generated_at` is UTC: dbt's own, or the time of the file's last change.

    `kind` is manifest, run_results, sources, freshness, catalog, semantic_manifest, attest_yml or document;
    `path` is relative to the dbt project, or the file's name where it is outside. Its fields are columns of
    the evidence table `artifacts`.
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
    git_commit: str | None = None
    authored_at: datetime | None = None


@dataclass(frozen=True)
class Collection:
    """Everything that was read of one project in one environment.

    `assertions`, `edges`, `policies` and `findings` are rows of the evidence tables, without the columns that
    recording fills (environment, project_name, collection_id, ingested_at, generated_at, stated), and so are
    `claims`, `columns`, `exposures`, `groups`, `executions`, `freshness` and `gap_rules`. `side_files` are
    the artifacts that were read beside the manifest. `disabled` is what the collection is silent about: unique_ids that
    are neither stated nor absent, and `catalog` where none was read. More than the share `max_removed` of the
    project's definitions are taken away only where `removals_allowed`.
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
    max_removed: float = 0.2
    removals_allowed: bool = False
    side_files: tuple[Artifact, ...] = ()
    project_file_content: str | None = None
    claims: Iterable[dict[str, Any]] = ()
    columns: Iterable[dict[str, Any]] = ()
    exposures: Iterable[dict[str, Any]] = ()
    groups: Iterable[dict[str, Any]] = ()
    executions: Iterable[dict[str, Any]] = ()
    freshness: Iterable[dict[str, Any]] = ()
    gap_rules: Iterable[dict[str, Any]] = ()

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """Every file read, the manifest first."""
        project_file = (self.project_file,) if self.project_file else ()
        return (self.manifest, *self.side_files, *project_file, *self.documents)

    @property
    def files_id(self) -> str:
        """What tells this collection from one of other files, or of the same in other places."""
        return files_id(
            {
                artifact.path
                if artifact.kind == "document"
                else artifact.path.rpartition("/")[2]: artifact.artifact_id
                for artifact in self.artifacts
            }
        )


def files_id(files: Mapping[str, str]) -> str:
    """SHA-256 over files: of each, where it lies, and the SHA-256 of its content.

    Documents lie at their path in the project, which says what they are about and which rules hold for them;
    the other files have a name of their own.
    """
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


@dataclass(frozen=True)
class Recorded:
    """What a recording added.

    `collection_id` is None where the same files were recorded before and nothing was added; `changed` counts
    definitions new or changed, `no_longer_stated` those that the artifacts no longer contain. `held` counts
    those that the artifacts would take away and that are kept until a person allows it.
    """

    collection_id: str | None
    changed: int = 0
    no_longer_stated: int = 0
    held: int = 0
