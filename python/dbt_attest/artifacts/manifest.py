"""dbt's `manifest.json`, any schema version: what was read, when dbt wrote it, and the resources in it.

Read by the fields that are present and never by the schema URL, which stays the same while keys change
(dbt-core#12900) and has named versions that were never published (dbt-fusion#462).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.instants import parse_instant
from dbt_attest.artifacts.json_file import read_bytes, read_sections, refusal
from dbt_attest.artifacts.nodes import Exposure, Group, Node, SemanticModel, Source
from dbt_attest.artifacts.sections import Reading, decode_disabled, decode_section

_EXPECTED = "a dbt manifest.json"
_NEXT_STEP = "run `dbt parse` to write one and name the folder it writes to (usually target)"
_NODE_TYPES = frozenset({"model", "seed", "snapshot"})
# The keys that no other artifact has; one is enough, since early and hand-made manifests lack some of them.
_MANIFEST_ONLY = frozenset(
    {"macros", "docs", "exposures", "disabled", "parent_map", "child_map", "selectors"}
)
_KNOWN_VERSIONS = frozenset({*range(4, 13), 20})
_URL = re.compile(r"/dbt/([a-z-]+)/v([0-9]+)")


class Manifest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One manifest, as far as it is read.

    `artifact_id` is the SHA-256 of the file's bytes; `generated_at` is UTC; `schema_version` and
    `dbt_version` are as written; `project_name` is, where the file does not say it (before v9), the package
    whose name has the hash `project_id`, else the package that most nodes have. The maps are by unique_id:
    `nodes` holds models, seeds and snapshots. `disabled` names what is in the project but switched off.
    `findings` are the places that could not be taken as they are.
    """

    path: Path
    artifact_id: str
    size_bytes: int
    schema_version: str | None
    dbt_version: str | None
    project_name: str | None
    adapter_type: str | None
    invocation_id: str | None
    generated_at: datetime
    nodes: dict[str, Node]
    sources: dict[str, Source]
    metrics: dict[str, Node]
    semantic_models: dict[str, SemanticModel]
    exposures: dict[str, Exposure]
    saved_queries: dict[str, Node]
    groups: dict[str, Group]
    disabled: frozenset[str]
    findings: list[Finding]


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises InputError, one sentence, where the file is missing, broken or something else.
    """
    content = read_bytes(path, _EXPECTED, _NEXT_STEP)
    try:
        return _manifest(path, content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal(path, _EXPECTED, f"JSON that cannot be decoded ({error})", _NEXT_STEP) from None


def _manifest(path: Path, content: bytes) -> Manifest:
    artifact_id = hashlib.sha256(content).hexdigest()
    sections = read_sections(path, content, _EXPECTED, _NEXT_STEP)
    metadata = _metadata(sections)
    other = _other_artifact(sections, metadata)
    if other is not None:
        raise refusal(path, _EXPECTED, other, _NEXT_STEP)
    generated_at = _generated_at(path, metadata)

    reading = Reading(path, artifact_id)
    nodes = decode_section(reading, sections, "nodes", Node)
    nodes = {unique_id: node for unique_id, node in nodes.items() if node.resource_type in _NODE_TYPES}
    sources = decode_section(reading, sections, "sources", Source)
    metrics = decode_section(reading, sections, "metrics", Node)
    semantic_models = decode_section(reading, sections, "semantic_models", SemanticModel)
    exposures = decode_section(reading, sections, "exposures", Exposure)
    saved_queries = decode_section(reading, sections, "saved_queries", Node)
    present = {*nodes, *sources, *metrics, *semantic_models, *exposures, *saved_queries}
    disabled = decode_disabled(sections.get("disabled"))

    schema_version = _text(metadata, "dbt_schema_version")
    strange_version = _strange_version(schema_version)
    if strange_version is not None:
        expected = "a manifest of schema v4 to v12 or v20"
        reading.found("metadata.dbt_schema_version", expected=expected, found=strange_version)
    return Manifest(
        path=path,
        artifact_id=artifact_id,
        size_bytes=len(content),
        schema_version=schema_version,
        dbt_version=_text(metadata, "dbt_version"),
        project_name=_text(metadata, "project_name")
        or _project_of([*nodes.values(), *sources.values()], metadata),
        adapter_type=_text(metadata, "adapter_type"),
        invocation_id=_text(metadata, "invocation_id"),
        generated_at=generated_at,
        nodes=nodes,
        sources=sources,
        metrics=metrics,
        semantic_models=semantic_models,
        exposures=exposures,
        saved_queries=saved_queries,
        groups=decode_section(reading, sections, "groups", Group),
        # dbt-core#10224: a node can be in both places; then it is stated.
        disabled=frozenset(disabled - present),
        findings=sorted_findings(reading.findings),
    )


def _metadata(sections: dict[str, msgspec.Raw]) -> dict[str, Any]:
    value = msgspec.json.decode(sections["metadata"]) if "metadata" in sections else {}
    return value if isinstance(value, dict) else {}


def _text(metadata: dict[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) and value else None


def _other_artifact(sections: dict[str, msgspec.Raw], metadata: dict[str, Any]) -> str | None:
    """What the file is if it is no manifest; the URL only helps to name it."""
    is_manifest = bool(_MANIFEST_ONLY & sections.keys()) or "errors" not in sections
    if "nodes" in sections and "results" not in sections and is_manifest:
        return None
    match = _URL.search(_text(metadata, "dbt_schema_version") or "")
    name = match.group(1) if match else ""
    if "results" in sections:
        return {"sources": "a dbt sources.json", "freshness": "a dbt freshness.json"}.get(
            name, "a dbt run_results.json"
        )
    if "nodes" in sections:
        return "a dbt catalog.json"
    if name and name != "manifest":
        return f"a dbt {name.replace('-', '_')}.json"
    if {"semantic_models", "project_configuration"} <= sections.keys():
        return "a dbt semantic_manifest.json"
    keys = ", ".join(f"`{key}`" for key in list(sections)[:5]) or "none"
    return f"JSON of another tool (its keys are {keys})" if sections else "an empty JSON object"


def _generated_at(path: Path, metadata: dict[str, Any]) -> datetime:
    expected = "a dbt manifest.json with metadata.generated_at, the time dbt wrote it"
    text = metadata.get("generated_at")
    if not isinstance(text, str) or not text.strip():
        found = "none" if text is None else repr(text)
        raise refusal(path, expected, found, "without it nothing can be recorded; run `dbt parse` again")
    try:
        return parse_instant(text)[0]
    except ValueError:
        raise refusal(path, expected, repr(text), "run `dbt parse` again") from None


def _strange_version(schema_version: str | None) -> str | None:
    match = _URL.search(schema_version or "")
    if match is None:
        return "no schema version" if schema_version is None else schema_version
    return None if int(match.group(2)) in _KNOWN_VERSIONS else f"v{match.group(2)}; what is known was read"


def _project_of(nodes: list[Node], metadata: dict[str, Any]) -> str | None:
    counts = Counter(node.package_name for node in nodes if node.package_name)
    for package in counts:
        # dbt's project_id is the MD5 of the project's name; a big package can outnumber a small project.
        if hashlib.md5(package.encode(), usedforsecurity=False).hexdigest() == metadata.get("project_id"):
            return package
    return min(counts, key=lambda package: (-counts[package], package), default=None)
