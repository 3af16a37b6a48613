"""The artifacts beside a manifest: read where they are there, and told apart from those of something else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt_attest.artifacts import (
    Catalog,
    Finding,
    FreshnessResults,
    Manifest,
    RunResults,
    SemanticManifest,
    read_catalog,
    read_freshness,
    read_run_results,
    read_semantic_manifest,
)
from dbt_attest.artifacts.header import Header
from dbt_attest.errors import InputError
from dbt_attest.warehouse.collection import Artifact

_READERS: tuple[tuple[str, Callable[[Path], Any]], ...] = (
    ("run_results", read_run_results),
    ("sources", read_freshness),
    ("freshness", read_freshness),
    ("catalog", read_catalog),
    ("semantic_manifest", read_semantic_manifest),
)
#: The kinds of the artifacts that are read beside a manifest; `<kind>.json` is the file.
SIDE_KINDS = tuple(kind for kind, _ in _READERS)


@dataclass
class SideFiles:
    """What was read beside a manifest, as far as it is of the same project.

    `artifacts` are the files, `manifest_id` the manifest where the run results are of its own invocation.
    `findings` say what was left out, and why.
    """

    run_results: RunResults | None = None
    freshness: list[FreshnessResults] = field(default_factory=list)
    catalog: Catalog | None = None
    artifacts: list[Artifact] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    manifest_id: str | None = None


def read_side_files(target_dir: Path, manifest: Manifest, named: Callable[[Path], str]) -> SideFiles:
    """Read the artifacts of a target folder; `named` is how a path is recorded.

    A file that cannot be read, or that is of another project, is a finding and not recorded: a pipeline's
    build should not fail over a broken catalog.
    """
    side = SideFiles()
    for kind, read in _READERS:
        path = target_dir / f"{kind}.json"
        if not path.exists():
            continue
        try:
            one = read(path)
        except InputError as error:
            side.findings.append(_broken(path, kind, named(path), error, manifest))
            continue
        strangers = _strangers(one, manifest)
        if strangers is not None:
            expected = f"a {path.name} of the project {manifest.project_name}"
            side.findings.append(_finding(one, named(path), "", expected, f"{strangers}; not recorded"))
            continue
        side.artifacts.append(_artifact(one, kind, named(path), manifest))
        side.findings += one.findings
        if isinstance(one, RunResults):
            side.run_results = one
            _pair(side, one, manifest, named(path))
        elif isinstance(one, FreshnessResults):
            side.freshness.append(one)
        elif isinstance(one, Catalog):
            side.catalog = one
            _tell_older(side, one, manifest, named(path))
    return side


def _pair(side: SideFiles, results: RunResults, manifest: Manifest, file: str) -> None:
    """Results are joined to the nodes of a manifest only where one invocation wrote both."""
    if results.invocation_id is not None and results.invocation_id == manifest.invocation_id:
        side.manifest_id = manifest.artifact_id
        return
    expected = f"the invocation of the manifest beside it, {manifest.invocation_id or 'which names none'}"
    found = f"{results.invocation_id or 'none'}; recorded for itself"
    side.findings.append(_finding(results, file, "metadata.invocation_id", expected, found))


def _tell_older(side: SideFiles, catalog: Catalog, manifest: Manifest, file: str) -> None:
    same = catalog.invocation_id is not None and catalog.invocation_id == manifest.invocation_id
    if not same and catalog.generated_at < manifest.generated_at:
        expected = f"a catalog not older than the manifest ({manifest.generated_at.isoformat()})"
        found = f"{catalog.generated_at.isoformat()}; its phantoms may be columns that came since"
        side.findings.append(_finding(catalog, file, "metadata.generated_at", expected, found))


def _strangers(one: Any, manifest: Manifest) -> str | None:
    """What a file is about where that is nothing of the manifest's; None where it is of the same project."""
    if isinstance(one, SemanticManifest):
        known = {node.name for node in (*manifest.metrics.values(), *manifest.semantic_models.values())}
        names = {*one.metrics, *one.semantic_models}
        return "metrics that the manifest has not" if names and known and not names & known else None
    if isinstance(one, RunResults):
        ids = [execution.node_id for execution in one.executions]
    elif isinstance(one, FreshnessResults):
        ids = [observation.node_id for observation in one.observations]
    else:
        ids = list(one.relations)
    packages = {unique_id.split(".")[1] for unique_id in ids if unique_id and unique_id.count(".") > 1}
    own = {node.package_name for node in (*manifest.nodes.values(), *manifest.sources.values())}
    if not packages or packages & (own | {manifest.project_name}):
        return None
    return f"one of {', '.join(sorted(packages))}"


def _broken(path: Path, kind: str, file: str, error: InputError, manifest: Manifest) -> Finding:
    try:
        artifact_id = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        artifact_id = manifest.artifact_id
    # `<path>: expected A, found B; next step.`
    found = str(error).split(", found ", 1)[-1].rstrip(".")
    return Finding(
        artifact_id=artifact_id,
        file=file,
        json_path="",
        expected=f"a dbt {kind}.json",
        found=f"{found}; not recorded",
    )


def _finding(one: Header, file: str, place: str, expected: str, found: str) -> Finding:
    return Finding(artifact_id=one.artifact_id, file=file, json_path=place, expected=expected, found=found)


def _artifact(one: Header, kind: str, file: str, manifest: Manifest) -> Artifact:
    return Artifact(
        artifact_id=one.artifact_id,
        kind=kind,
        path=file,
        generated_at=one.generated_at,
        size_bytes=one.size_bytes,
        schema_version=one.schema_version,
        dbt_version=one.dbt_version,
        project_name=manifest.project_name,
        adapter_type=manifest.adapter_type,
        invocation_id=one.invocation_id,
    )
