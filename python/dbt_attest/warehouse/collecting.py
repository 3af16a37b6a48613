"""Reading a target folder, `attest.yml` and documents into a collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest import __version__
from dbt_attest.annotations import Definition, Document, Extraction, ProjectFile, extract, read_documents
from dbt_attest.artifacts import Manifest
from dbt_attest.errors import InputError
from dbt_attest.warehouse.collection import Artifact, Collection

_NO_COLUMNS = {"annotated", "rules_taken"}


def collect(
    project_dir: Path, manifest: Manifest, project_file: ProjectFile, environment: str
) -> tuple[Collection, Extraction]:
    """A collection of the project in `environment`, and what was extracted for it.

    Raises AnnotationErrors with every problem of manifest, project file and documents, and InputError where
    the project cannot be told.
    """
    if manifest.project_name is None:
        raise InputError(
            f"{manifest.path}: expected a manifest that names its project, found neither a project name nor "
            "a node; run `dbt parse` in the project."
        )
    documents = read_documents(project_dir, project_file.documents)
    extraction = extract(manifest, project_file, documents)
    collection = Collection(
        project_name=manifest.project_name,
        environment=environment,
        manifest=_manifest_artifact(manifest, project_dir),
        project_file=_project_file_artifact(project_file),
        documents=tuple(_document_artifact(document) for document in documents),
        assertions=_assertions(extraction, manifest, project_file, documents),
        edges=(
            msgspec.structs.asdict(edge)
            | {"asserted_at": manifest.generated_at, "artifact_id": manifest.artifact_id}
            for edge in extraction.edges
        ),
        policies=[
            {"policy": name, "groups": policy.groups, "existence": policy.existence}
            for name, policy in project_file.policies.items()
        ],
        findings=[msgspec.structs.asdict(finding) for finding in extraction.findings],
        disabled=manifest.disabled,
        max_age=project_file.collection.max_age,
        max_unverified=project_file.collection.max_unverified,
        attest_version=__version__,
    )
    return collection, extraction


def _assertions(
    extraction: Extraction, manifest: Manifest, project_file: ProjectFile, documents: list[Document]
) -> Iterator[dict[str, Any]]:
    by_path = {document.path: document for document in documents}
    for definition in extraction.definitions:
        document = by_path.get(definition.file) if definition.node_id is None else None
        asserted_at = manifest.generated_at
        if document is not None:
            asserted_at = max(asserted_at, document.generated_at)
        if definition.rules_taken and project_file.generated_at is not None:
            asserted_at = max(asserted_at, project_file.generated_at)
        row = {key: value for key, value in _as_row(definition).items() if key not in _NO_COLUMNS}
        if document is not None:
            row["package_name"] = manifest.project_name
        yield row | {
            "asserted_at": asserted_at,
            "artifact_id": document.artifact_id if document else manifest.artifact_id,
        }


def _as_row(definition: Definition) -> dict[str, Any]:
    return msgspec.structs.asdict(definition)


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
