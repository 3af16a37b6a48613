"""`attest build`: read a target folder and record it in an evidence warehouse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dbt_attest.annotations import Extraction, ProjectFile, read_project_file
from dbt_attest.artifacts import Manifest, read_manifest
from dbt_attest.errors import InputError
from dbt_attest.warehouse.archive import archived, keep_collection, keep_files
from dbt_attest.warehouse.collection import Collection, Recorded
from dbt_attest.warehouse.files import PATIENCE, connect, evidence_schemas
from dbt_attest.warehouse.garbage import without_collector
from dbt_attest.warehouse.place import Place
from dbt_attest.warehouse.recorded_before import recorded_before
from dbt_attest.warehouse.redactions import in_archive, in_warehouse, reading
from dbt_attest.warehouse.replay import Past, Progress, Replay, find, replay
from dbt_attest.warehouse.writing import STAND_ALONE_SCHEMA, Destination, writing


@dataclass(frozen=True)
class Built:
    """What one build did.

    `definitions` counts those read; `annotated`, `governed` (authoritative, approved and dated) and
    `unclassified` are parts of them. All counts are None where exactly these files were recorded before: then
    nothing of them is decoded. `resolvers_missing` is true where the project's own `dbt run` still has to
    create them.
    """

    warehouse: Path
    schema: str
    project_name: str
    environment: str
    recorded: Recorded
    resolvers_missing: bool
    entities: int | None = None
    definitions: int | None = None
    annotated: int | None = None
    governed: int | None = None
    unclassified: int | None = None
    edges: int | None = None
    findings: list[str] = field(default_factory=list)


@without_collector()
def build(
    project_dir: Path,
    *,
    target_dir: Path | None = None,
    warehouse: Path | None = None,
    environment: str | None = None,
    removals_allowed: bool = False,
    patience: float = PATIENCE,
) -> Built:
    """Read the target folder of a dbt project and record it; options win over `attest.yml`.

    With `removals_allowed`, it may take away more than attest.yml allows.

    Raises InputError and AnnotationErrors where something cannot be read, WarehouseError where the file is
    busy or broken; nothing is recorded then.
    """
    place = Place(
        project_dir, target_dir or project_dir / "target", environment, removals_allowed=removals_allowed
    )
    project_file = read_project_file(project_dir / "attest.yml")
    path = warehouse or project_dir / (project_file.warehouse or "evidence.duckdb")
    archive = archive_dir(project_dir, project_file)
    if not removals_allowed:
        before = recorded_before(place, project_file, path, archive)
        if before is not None:
            return Built(
                warehouse=path,
                schema=before.schema,
                project_name=before.project_name,
                environment=before.environment,
                recorded=Recorded(None),
                resolvers_missing=not before.resolvers,
            )
    redactions = in_warehouse(path, patience) + in_archive(archive)
    with reading(place, redactions) as (clean, read):
        collection = read.collection
        destination = _destination(path, _own_schema(read.manifest, path), project_file.environment)
        if archive is not None:
            keep_files(archive, collection.artifacts, clean)
        with writing(destination, patience) as writer:
            written = writer.record(collection)
            writer.keep(redactions)
    if archive is not None:
        keep_collection(archive, archived(collection, written.collection_id, written.ingested_at))
    return _summary(destination, collection, read.extraction, written.recorded, not writer.resolvers)


def build_past(
    project_dir: Path,
    folders: Iterable[Path],
    *,
    warehouse: Path | None = None,
    environment: str | None = None,
    removals_allowed: bool = False,
    patience: float = PATIENCE,
    progress: Progress[Past] = iter,
) -> tuple[Destination, Replay]:
    """Record everything in archives and copied target folders, in one write of the warehouse.

    Without any folder it is the archive of attest.yml.

    Archived collections bring their own environment, attest.yml, documents and instants; of plain target
    folders `environment` and the project's present files hold. Broken ones are skipped and named.

    Raises InputError where a folder has nothing to read, WarehouseError as `build` does.
    """
    project_file = read_project_file(project_dir / "attest.yml")
    archive = archive_dir(project_dir, project_file)
    folders = list(folders)
    if not folders and archive is None:
        raise InputError(
            f"{project_dir / 'attest.yml'}: expected the key `archive` or folders to read, found none; name "
            "archives or target folders."
        )
    pasts, skipped = find(
        folders or [project_dir / (project_file.archive or "")],
        # of which commit a copied folder is, the present checkout does not tell
        Place(project_dir, project_dir, environment, git_commit="", removals_allowed=removals_allowed),
    )
    destination = find_destination(project_dir, project_file, warehouse)
    done = Replay(skipped=skipped)
    replay(progress(pasts), destination, archive, patience, done)
    return destination, done


def archive_dir(project_dir: Path, project_file: ProjectFile) -> Path | None:
    """The folder that attest.yml names for the archive, None where it names none."""
    return None if project_file.archive is None else project_dir / project_file.archive


def find_destination(project_dir: Path, project_file: ProjectFile, warehouse: Path | None) -> Destination:
    """The warehouse to write where no target folder of the present is read.

    The present manifest says which schema of the project's own file has the evidence; without one, the file
    that is there does.
    """
    path = warehouse or project_dir / (project_file.warehouse or "evidence.duckdb")
    schema = None
    try:
        schema = _own_schema(read_manifest(project_dir / "target" / "manifest.json"), path)
    except InputError:
        if path.is_file():
            connection = connect(path, read_only=True)
            try:
                schemas = set(evidence_schemas(connection)) - {STAND_ALONE_SCHEMA}
            finally:
                connection.close()
            schema = schemas.pop() if len(schemas) == 1 else None
    return _destination(path, schema, project_file.environment)


def _destination(path: Path, schema: str | None, default_environment: str) -> Destination:
    own = schema is not None
    return Destination(path, schema or STAND_ALONE_SCHEMA, own, default_environment)


def _own_schema(manifest: Manifest, path: Path) -> str | None:
    """The evidence schema that the manifest names, where `path` is the project's own DuckDB file."""
    source = manifest.sources.get("source.attest.attest_evidence.assertions")
    if source is None or source.database != path.stem:
        return None
    return source.schema


def _summary(
    destination: Destination,
    collection: Collection,
    extraction: Extraction,
    recorded: Recorded,
    missing: bool,
) -> Built:
    definitions = extraction.definitions
    return Built(
        warehouse=destination.path,
        schema=destination.schema,
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
