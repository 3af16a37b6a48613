"""What a project states, with the file that states each: definitions, claims and lineage edges.

Recording adds the columns that all rows of a collection share.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from dbt_attest.annotations import Claim, Document, Extraction, ProjectFile
from dbt_attest.artifacts import Edge, Manifest
from dbt_attest.warehouse.rows import Stated


def assertion_rows(
    extraction: Extraction, manifest: Manifest, project_file: ProjectFile, documents: list[Document]
) -> Iterator[Stated]:
    """The definitions; one that takes something from `attest.yml` is asserted when the younger of its files is."""
    by_path = {document.path: document for document in documents}
    of_manifest = {"asserted_at": manifest.generated_at, "artifact_id": manifest.artifact_id}
    of_rules = _with_rules(of_manifest, project_file)
    for definition in extraction.definitions:
        document = by_path.get(definition.file) if definition.node_id is None else None
        if document is None:
            yield definition, of_rules if definition.rules_taken else of_manifest
        else:
            said_by = _of_document(document, manifest)
            yield definition, _with_rules(said_by, project_file) if definition.rules_taken else said_by


def claim_rows(claims: list[Claim], manifest: Manifest, documents: list[Document]) -> Iterator[Stated]:
    """The claims."""
    by_path = {document.path: document for document in documents}
    of_dbt = {
        "asserted_at": manifest.generated_at,
        "artifact_id": manifest.artifact_id,
        "collector": "dbt",
        "source_version": manifest.dbt_version,
    }
    for claim in claims:
        document = by_path.get(claim.file) if claim.node_id is None else None
        yield claim, of_dbt if document is None else _of_document(document, manifest)


def edge_rows(extraction: Extraction, manifest: Manifest, documents: list[Document]) -> Iterator[Stated]:
    """The edges that dbt states, and those that definitions declare with `models` and `sources`.

    A definition's end is its node, a document's is its evidence_id: it has no node.
    """
    of_dbt = {
        "asserted_at": manifest.generated_at,
        "artifact_id": manifest.artifact_id,
        "collector": "dbt",
    }
    for edge in extraction.edges:
        yield edge, of_dbt
    by_path = {document.path: document for document in documents}
    present = manifest.unique_ids
    declared: set[tuple[str, str]] = set()
    for definition in extraction.definitions:
        to_node = definition.node_id or definition.evidence_id
        for from_node in (*(definition.models or ()), *(definition.sources or ())):
            if from_node == to_node or (from_node, to_node) in declared:
                continue
            declared.add((from_node, to_node))
            document = by_path.get(definition.file) if definition.node_id is None else None
            said_by = of_dbt if document is None else _of_document(document, manifest)
            yield Edge(from_node, to_node, "declared", "declared", from_node not in present), said_by


def _with_rules(said_by: dict[str, Any], project_file: ProjectFile) -> dict[str, Any]:
    written: datetime | None = project_file.generated_at
    return said_by if written is None else said_by | {"asserted_at": max(said_by["asserted_at"], written)}


def _of_document(document: Document, manifest: Manifest) -> dict[str, Any]:
    return {
        "asserted_at": max(manifest.generated_at, document.generated_at),
        "artifact_id": document.artifact_id,
        "collector": "attest",
        "source_version": document.artifact_id,
        "package_name": manifest.project_name,
    }
