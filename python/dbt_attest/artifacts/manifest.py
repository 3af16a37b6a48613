"""dbt's `manifest.json`, any schema version: what was read, when dbt wrote it, and the resources in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.header import Header, Opened, expectation, open_artifact, text
from dbt_attest.artifacts.json_file import refusal
from dbt_attest.artifacts.nodes import Exposure, Group, Metric, Node, SemanticModel, Source, UnitTest
from dbt_attest.artifacts.sections import decode_disabled, decode_section

_NEXT_STEP = "run `dbt parse` to write one and name the folder it writes to (usually target)"
_NODE_TYPES = frozenset({"model", "seed", "snapshot"})
_KNOWN_VERSIONS = frozenset({*range(4, 13), 20})


class Manifest(Header, frozen=True, kw_only=True, gc=False):
    """One manifest, as far as it is read.

    `project_name` is, where the file does not say it (before v9), the package whose name has the hash
    `project_id`, else the package that most nodes have. The maps are by unique_id: `nodes` holds models,
    seeds and snapshots, `tests` the unique_id of what each test is about (None: several or unknown),
    `test_reads` everything that it reads. `others` are the unique_ids of all else (analyses, functions).
    `disabled` names what is in the project but switched off. `findings` are the places that could not be
    taken as they are.
    """

    project_name: str | None
    adapter_type: str | None
    nodes: dict[str, Node]
    sources: dict[str, Source]
    metrics: dict[str, Metric]
    semantic_models: dict[str, SemanticModel]
    exposures: dict[str, Exposure]
    saved_queries: dict[str, Node]
    groups: dict[str, Group]
    tests: dict[str, str | None]
    test_reads: dict[str, list[str]]
    others: frozenset[str]
    disabled: frozenset[str]
    findings: list[Finding]

    @property
    def unique_ids(self) -> set[str]:
        """Everything that the manifest contains."""
        return {
            *(*self.nodes, *self.sources, *self.metrics, *self.semantic_models, *self.exposures),
            *(*self.saved_queries, *self.tests, *self.others),
        }


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises InputError, one sentence, where the file is missing, broken or something else.
    """
    try:
        return _manifest(open_artifact(path, "manifest", _KNOWN_VERSIONS, _NEXT_STEP))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        found = f"JSON that cannot be decoded ({error})"
        raise refusal(path, expectation("manifest"), found, _NEXT_STEP) from None


def _manifest(opened: Opened) -> Manifest:
    sections, metadata, reading = opened.sections, opened.metadata, opened.reading
    every_node = decode_section(reading, sections, "nodes", Node)
    nodes = {unique_id: node for unique_id, node in every_node.items() if node.resource_type in _NODE_TYPES}
    sources = decode_section(reading, sections, "sources", Source)
    metrics = decode_section(reading, sections, "metrics", Metric)
    semantic_models = decode_section(reading, sections, "semantic_models", SemanticModel)
    exposures = decode_section(reading, sections, "exposures", Exposure)
    saved_queries = decode_section(reading, sections, "saved_queries", Node)
    tests = {unique_id: node for unique_id, node in every_node.items() if node.resource_type == "test"}
    unit_tests = decode_section(reading, sections, "unit_tests", UnitTest)
    functions = decode_section(reading, sections, "functions", UnitTest)
    present = {*nodes, *sources, *metrics, *semantic_models, *exposures, *saved_queries}
    return Manifest(
        **msgspec.structs.asdict(opened.header),
        project_name=text(metadata, "project_name")
        or _project_of([*nodes.values(), *sources.values()], metadata),
        adapter_type=text(metadata, "adapter_type"),
        nodes=nodes,
        sources=sources,
        metrics=metrics,
        semantic_models=semantic_models,
        exposures=exposures,
        saved_queries=saved_queries,
        groups=decode_section(reading, sections, "groups", Group),
        tests={unique_id: _tested(test) for unique_id, test in tests.items()}
        | {unique_id: _only_parent(test) for unique_id, test in unit_tests.items()},
        test_reads={unique_id: _parents(test) for unique_id, test in tests.items()}
        | {unique_id: _parents(test) for unique_id, test in unit_tests.items()},
        others=frozenset((every_node.keys() - nodes.keys() - tests.keys()) | functions.keys()),
        # dbt-core#10224: a node can be in both places; then it is stated.
        disabled=frozenset(decode_disabled(sections.get("disabled")) - present),
        findings=sorted_findings(reading.findings),
    )


def _parents(test: Node | UnitTest) -> list[str]:
    return (test.depends_on.nodes if test.depends_on else None) or []


def _only_parent(test: Node | UnitTest) -> str | None:
    parents = _parents(test)
    return parents[0] if len(parents) == 1 else None


def _tested(test: Node) -> str | None:
    """What a test is about: `attached_node` since 1.5, before it its only parent or the one in its name."""
    if test.attached_node:
        return test.attached_node
    only = _only_parent(test)
    if only is not None:
        return only
    name = (test.file_key_name or "").rsplit(".", 1)[-1]
    named = [parent for parent in _parents(test) if name and parent.endswith(f".{name}")]
    return named[0] if len(named) == 1 else None


def _project_of(nodes: list[Node], metadata: dict[str, Any]) -> str | None:
    counts = Counter(node.package_name for node in nodes if node.package_name)
    for package in counts:
        # dbt's project_id is the MD5 of the project's name; a big package can outnumber a small project.
        if hashlib.md5(package.encode(), usedforsecurity=False).hexdigest() == metadata.get("project_id"):
            return package
    return min(counts, key=lambda package: (-counts[package], package), default=None)
