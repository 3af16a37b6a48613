"""`attest build`: read a target folder and record it in an evidence warehouse."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dbt_attest.annotations import Extraction, read_project_file
from dbt_attest.artifacts import Manifest, read_manifest
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.collection import Collection, Recorded
from dbt_attest.warehouse.files import PATIENCE
from dbt_attest.warehouse.writing import STAND_ALONE_SCHEMA, record_in_project, record_stand_alone


@dataclass(frozen=True)
class Built:
    """What one build did.

    `definitions` counts those read; `annotated`, `governed` (authoritative, approved and dated) and
    `unclassified` are parts of them. `resolvers_missing` is true where the project's own `dbt run` still has
    to create them.
    """

    warehouse: Path
    schema: str
    project_name: str
    environment: str
    recorded: Recorded
    entities: int
    definitions: int
    annotated: int
    governed: int
    unclassified: int
    edges: int
    findings: list[str]
    resolvers_missing: bool


def build(
    project_dir: Path,
    *,
    target_dir: Path | None = None,
    warehouse: Path | None = None,
    environment: str | None = None,
    patience: float = PATIENCE,
) -> Built:
    """Read the target folder of a dbt project and record it; options win over `attest.yml`.

    Raises InputError and AnnotationErrors where something cannot be read, WarehouseError where the file is
    busy or broken; nothing is recorded then.
    """
    project_file = read_project_file(project_dir / "attest.yml")
    manifest = read_manifest((target_dir or project_dir / "target") / "manifest.json")
    collection, extraction = collect(
        project_dir, manifest, project_file, environment or project_file.environment
    )
    path = warehouse or project_dir / (project_file.warehouse or "evidence.duckdb")
    schema = _own_schema(manifest, path)
    if schema is not None:
        recorded, resolvers = record_in_project(path, schema, collection, patience)
    else:
        schema, resolvers = STAND_ALONE_SCHEMA, True
        recorded = record_stand_alone(path, collection, project_file.environment, patience)
    return _summary(path, schema, collection, extraction, recorded, not resolvers)


def _own_schema(manifest: Manifest, path: Path) -> str | None:
    """The evidence schema that the manifest names, where `path` is the project's own DuckDB file."""
    source = manifest.sources.get("source.attest.attest_evidence.assertions")
    if source is None or source.database != path.stem:
        return None
    return source.schema


def _summary(
    path: Path, schema: str, collection: Collection, extraction: Extraction, recorded: Recorded, missing: bool
) -> Built:
    definitions = extraction.definitions
    return Built(
        warehouse=path,
        schema=schema,
        project_name=collection.project_name,
        environment=collection.environment,
        recorded=recorded,
        entities=len({definition.entity_id for definition in definitions}),
        definitions=len(definitions),
        annotated=sum(definition.annotated for definition in definitions),
        governed=sum(
            definition.authority == "authoritative"
            and definition.status not in ("draft", "void")
            and definition.effective_from is not None
            for definition in definitions
        ),
        unclassified=Counter(definition.authority for definition in definitions)[None],
        edges=len(extraction.edges),
        findings=[
            f"{finding.file}{f' ({finding.node_id})' if finding.node_id else ''}: `{finding.json_path}`: "
            f"expected {finding.expected}, found {finding.found}"
            for finding in extraction.findings
        ],
        resolvers_missing=missing,
    )
