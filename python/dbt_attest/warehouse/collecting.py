"""Reading a target folder, `attest.yml` and documents into a collection."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from dbt_attest import __version__
from dbt_attest.annotations import Document, Extraction, ProjectFile, extract, read_documents
from dbt_attest.annotations.strict_yaml import load_yaml
from dbt_attest.artifacts import Finding, Manifest, sorted_findings
from dbt_attest.errors import InputError
from dbt_attest.warehouse.collection import Artifact, Collection
from dbt_attest.warehouse.commit import commit_of
from dbt_attest.warehouse.fact_rows import (
    column_rows,
    execution_rows,
    exposure_rows,
    freshness_rows,
    group_rows,
    phantom_findings,
    phantoms,
)
from dbt_attest.warehouse.facts import CATALOG
from dbt_attest.warehouse.rows import Rows, StructRows
from dbt_attest.warehouse.side_files import SIDE_KINDS, read_side_files
from dbt_attest.warehouse.stated_rows import assertion_rows, claim_rows, edge_rows


def collect(
    project_dir: Path,
    manifest: Manifest,
    project_file: ProjectFile,
    environment: str,
    *,
    target_dir: Path | None = None,
    git_commit: str | None = None,
    authored_at: datetime | None = None,
) -> tuple[Collection, Extraction]:
    """A collection of the project in `environment`, and what was extracted for it.

    The other artifacts are read from `target_dir`, by default the manifest's folder. `git_commit` is the
    commit it is of; None asks the environment. Raises AnnotationErrors with every problem of manifest,
    project file and documents, and InputError where the project cannot be told.
    """
    if manifest.project_name is None:
        raise InputError(
            f"{manifest.path}: expected a manifest that names its project, found neither a project name nor "
            "a node; run `dbt parse` in the project."
        )
    documents = read_documents(project_dir, project_file.documents)
    extraction = extract(manifest, project_file, documents)
    folder = manifest.path.parent if target_dir is None else target_dir
    side = read_side_files(folder, manifest, lambda path: _relative(path, project_dir))
    missing = phantoms(manifest, side.catalog)
    findings = [
        *extraction.findings,
        *side.findings,
        *phantom_findings(missing, side.catalog, _relative(folder / "catalog.json", project_dir)),
        *_another_project(manifest, project_dir),
    ]
    extraction = msgspec.structs.replace(extraction, findings=sorted_findings(findings))
    commit = commit_of(project_dir) if git_commit is None else git_commit

    def committed(artifact: Artifact) -> Artifact:
        return replace(artifact, git_commit=commit or None, authored_at=authored_at)

    attest_yml = _project_file_artifact(project_file)
    collection = Collection(
        project_name=manifest.project_name,
        environment=environment,
        manifest=committed(_manifest_artifact(manifest, project_dir)),
        project_file=None if attest_yml is None else committed(attest_yml),
        documents=tuple(committed(_document_artifact(document)) for document in documents),
        side_files=tuple(committed(artifact) for artifact in side.artifacts),
        project_file_content=None if attest_yml is None else project_file.content,
        assertions=StructRows(assertion_rows, extraction, manifest, project_file, documents),
        edges=StructRows(edge_rows, extraction, manifest, documents),
        claims=StructRows(claim_rows, extraction.claims, manifest, documents),
        columns=Rows(column_rows, manifest, side.catalog, missing),
        exposures=Rows(exposure_rows, manifest),
        groups=Rows(group_rows, manifest),
        executions=Rows(execution_rows, side.run_results, manifest, side.manifest_id),
        freshness=Rows(freshness_rows, side.freshness, manifest),
        policies=[
            {"policy": name, "groups": policy.groups, "existence": policy.existence}
            for name, policy in project_file.policies.items()
        ],
        gap_rules=[msgspec.structs.asdict(rule) for rule in project_file.gap_rules],
        findings=[msgspec.structs.asdict(finding) for finding in extraction.findings],
        disabled=manifest.disabled | (frozenset() if side.catalog else {CATALOG}),
        max_age=project_file.collection.max_age,
        max_unverified=project_file.collection.max_unverified,
        max_removed=project_file.collection.max_removed,
        attest_version=__version__,
    )
    return collection, extraction


def files_here(
    project_dir: Path, project_file: ProjectFile, target_dir: Path | None = None
) -> dict[str, str]:
    """Of every file that `collect` would read, where it lies and its SHA-256, without decoding one.

    For `recording.recorded_as`: where it finds them, reading them would add nothing. Raises InputError where
    the manifest cannot be read, AnnotationErrors where a document cannot.
    """
    folder = project_dir / "target" if target_dir is None else target_dir
    names = ["manifest.json", *(f"{kind}.json" for kind in SIDE_KINDS)]
    documents = read_documents(project_dir, project_file.documents)
    found = {document.path: document.artifact_id for document in documents}
    if project_file.artifact_id is not None:
        found[project_file.path.name] = project_file.artifact_id
    for path in (path for name in names if (path := folder / name).is_file()):
        try:
            with path.open("rb") as file:
                found[path.name] = _sha256(file)
        except OSError as error:
            raise InputError(
                f"{path}: expected a dbt {path.name}, found a file that cannot be read ({error.strerror}); "
                "make it readable."
            ) from None
    return found


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def _another_project(manifest: Manifest, project_dir: Path) -> list[Finding]:
    """A finding where the manifest in a shared target folder is of another project (lightdash#25922)."""
    try:
        said = load_yaml((project_dir / "dbt_project.yml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    name = said.get("name") if isinstance(said, dict) else None
    if not isinstance(name, str) or "{" in name or name == manifest.project_name:
        return []
    return [
        Finding(
            artifact_id=manifest.artifact_id,
            file=_relative(manifest.path, project_dir),
            json_path="metadata.project_name",
            expected=f"{name}, the project of dbt_project.yml",
            found=f"{manifest.project_name}; recorded as that project's",
        )
    ]


def _manifest_artifact(manifest: Manifest, project_dir: Path) -> Artifact:
    return Artifact(
        artifact_id=manifest.artifact_id,
        kind="manifest",
        path=_relative(manifest.path, project_dir),
        generated_at=manifest.generated_at,
        size_bytes=manifest.size_bytes,
        schema_version=manifest.schema_version,
        dbt_version=manifest.dbt_version,
        project_name=manifest.project_name,
        adapter_type=manifest.adapter_type,
        invocation_id=manifest.invocation_id,
    )


def _project_file_artifact(project_file: ProjectFile) -> Artifact | None:
    if project_file.artifact_id is None or project_file.generated_at is None:
        return None
    return Artifact(
        artifact_id=project_file.artifact_id,
        kind="attest_yml",
        path=project_file.path.name,
        generated_at=project_file.generated_at,
        size_bytes=project_file.size_bytes,
    )


def _document_artifact(document: Document) -> Artifact:
    return Artifact(
        artifact_id=document.artifact_id,
        kind="document",
        path=document.path,
        generated_at=document.generated_at,
        size_bytes=document.size_bytes,
    )


def _relative(path: Path, project_dir: Path) -> str:
    path, project_dir = path.resolve(), project_dir.resolve()
    return path.relative_to(project_dir).as_posix() if path.is_relative_to(project_dir) else path.name
