"""What the annotation of one node could say: what is known of it, and blanks for what only a person can know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.annotations import ProjectFile, read_project_file
from dbt_attest.annotations.dbt_names import DbtNames
from dbt_attest.annotations.drafting import draft
from dbt_attest.annotations.inheritance import entries
from dbt_attest.annotations.path_rules import PathRules, forward_slashes
from dbt_attest.annotations.place import Place, Report
from dbt_attest.annotations.project_file import PRECEDENCE
from dbt_attest.annotations.schema import BLANK
from dbt_attest.annotations.statements import Statement, statements
from dbt_attest.artifacts import Manifest, Node, Source, read_manifest
from dbt_attest.errors import AnnotationErrors, Problem

#: The order of keys in what is written.
KEYS = (
    "entity_id", "evidence_id", "entity_type", "version", "title", "status", "authority", "effective_from",
    "effective_to", "date_basis", "approved_by", "approved_at", "owner", "grain", "definition", "supersedes",
    "superseded_by", "describes", "models", "sources", "permissions", "aliases", "scope", "certified_until",
    "last_verified", "recorded_at", "corrects", "versions",
)  # fmt: skip
#: What belongs into a blank.
ASKED = {
    "authority": "authoritative, or non_authoritative if it is only used",
    "effective_from": "the first day it holds in the business",
    "approved_by": "who approved it",
}
_OPTIONAL = {
    "owner": "who answers for it",
    "grain": "what one row or value stands for",
    "definition": "what it means",
    "permissions": "the groups that may see it; no rule of attest.yml names any",
}
#: What dbt would render in a YAML file.
TEMPLATE = re.compile(r"\{[{%#]")
_WITH_GRAIN = ("model", "metric", "source", "seed", "snapshot")
SECTIONS = {
    "model": "models",
    "source": "sources",
    "seed": "seeds",
    "snapshot": "snapshots",
    "metric": "metrics",
    "semantic_model": "semantic_models",
    "exposure": "exposures",
}


@dataclass(frozen=True)
class Proposal:
    """The annotation of one node: `keys` in the order of KEYS, those in `blanks` being for a person to fill in.

    `reasons` say where a value that was filled in is from; `unknown` are keys that nothing states, with what
    they are. `node` is dbt's, `statement` what its annotation says now.
    """

    node: Node
    statement: Statement
    keys: dict[str, Any]
    reasons: dict[str, str]
    unknown: dict[str, str]

    @property
    def file(self) -> str:
        """The YAML file that describes the node, relative to the project; its own file where none does."""
        return yaml_file(self.node)

    @property
    def is_described(self) -> bool:
        """Whether some YAML file has an entry for the node."""
        return self.file.endswith((".yml", ".yaml"))

    @property
    def blanks(self) -> list[str]:
        """The keys left for a person, as `versions[1].effective_from`."""
        inside = [
            f"versions[{index}].{key}"
            for index, entry in enumerate(_versions(self.keys))
            for key, value in entry.items()
            if value == BLANK
        ]
        return [key for key, value in self.keys.items() if value == BLANK] + inside

    def as_json(self) -> dict[str, Any]:
        """The proposal as JSON values."""
        return {
            "node_id": self.node.unique_id,
            "file": self.file,
            "annotation": self.keys,
            "blanks": self.blanks,
            "reasons": self.reasons,
            "unknown": list(self.unknown),
        }


class Nodes:
    """The nodes of a dbt project as its target/manifest.json has them; installed packages aside.

    Raises InputError where the manifest or attest.yml cannot be read, AnnotationErrors where an annotation is
    no mapping at all.
    """

    def __init__(self, project_dir: Path) -> None:
        self.manifest: Manifest = read_manifest(project_dir / "target" / "manifest.json")
        self.project_file: ProjectFile = read_project_file(project_dir / "attest.yml")
        self.rules = PathRules(self.project_file.rules)
        report = Report()
        stated = [
            one
            for one in statements(self.manifest, (), report)
            if one.package_name == self.manifest.project_name and _is_annotated_by_people(one)
        ]
        if report.problems:
            raise AnnotationErrors(report.problems)
        self.by_id: dict[str, Statement] = {one.node_id: one for one in stated if one.node_id}
        self._names = DbtNames(self.manifest)

    def node(self, node_id: str) -> Node:
        """The node of a unique_id in `by_id`."""
        manifest = self.manifest
        for section in (manifest.nodes, manifest.sources, manifest.metrics, manifest.semantic_models):
            if node_id in section:
                return section[node_id]
        return manifest.exposures[node_id]

    def propose(self, statement: Statement) -> Proposal:
        """What its annotation says, what is known, and what is missing."""
        assert statement.node_id is not None
        node = self.node(statement.node_id)
        block, ruled = dict(statement.block or {}), self.rules.defaults(statement.rule_path).keys
        if _versions(block):
            return Proposal(node, statement, ordered(_with_blank_versions(block, ruled)), {}, {})
        known = {key: found for key, found in self._known(node, statement).items() if key not in ruled}
        reasons = {key: reason for key, (_, reason) in known.items() if key not in block}
        said = {key: value for key, (value, _) in known.items()} | block
        said |= dict.fromkeys(_to_ask(said, ruled), BLANK)
        optional = [key for key in _OPTIONAL if key != "grain" or node.resource_type in _WITH_GRAIN]
        unknown = {key: _OPTIONAL[key] for key in optional if key not in said and key not in ruled}
        return Proposal(node, statement, ordered(said), reasons, unknown)

    def problems(self, statement: Statement, block: dict[str, Any]) -> list[Problem]:
        """What `attest build` would refuse if this were the annotation."""
        report = Report()
        place = Place(report, statement.place.artifact_id, statement.place.file, statement.place.node)
        changed = msgspec.structs.replace(statement, place=place, block=block)
        defaults = self.rules.defaults(statement.rule_path)
        for entry in entries(place, block, defaults):
            draft(changed, entry, defaults, self.project_file.precedence)
        return report.problems

    def _known(self, node: Node, statement: Statement) -> dict[str, tuple[Any, str]]:
        """What dbt's artifact states, with where."""
        known: dict[str, tuple[Any, str]] = {}
        for source in self.project_file.precedence.get("owner", PRECEDENCE["owner"]):
            owners = statement.owner_claims.get(source)
            if owners:
                stated = [
                    one.place for one in statement.stated if (one.attribute, one.source) == ("owner", source)
                ]
                place = stated[0].split("[")[0] if stated else source
                known["owner"] = (owners[0] if len(owners) == 1 else owners, place)
                break
        grains = [one for one in statement.stated if one.attribute == "grain"]
        columns = node.primary_key if isinstance(node.primary_key, list) else []
        if grains:
            known["grain"] = (grains[0].value, grains[0].place)
        elif columns and all(isinstance(column, str) for column in columns):
            known["grain"] = (f"one row per {', '.join(columns)}", "dbt's primary key")
        words = (statement.description or "").strip()
        # dbt would render a template once more
        if words and not TEMPLATE.search(words):
            known["definition"] = (words, "description")
        for key, names in self._read_by(node).items():
            if names:
                known[key] = (names, "depends_on")
        return known

    def _read_by(self, node: Node) -> dict[str, list[str]]:
        """The models and sources that a node reads, through metrics and semantic models, by their short names."""
        manifest = self.manifest
        found: dict[str, list[str]] = {"models": [], "sources": []}
        waiting, seen = _parents(node), set[str]()
        while waiting:
            parent = waiting.pop(0)
            if parent in seen:
                continue
            seen.add(parent)
            between = manifest.metrics.get(parent) or manifest.semantic_models.get(parent)
            if between is not None:
                waiting += _parents(between)
            elif parent in manifest.nodes:
                found["models"].append(self._short(manifest.nodes[parent], node.package_name))
            elif parent in manifest.sources:
                found["sources"].append(self._short(manifest.sources[parent], node.package_name))
        return {key: sorted(names) for key, names in found.items()}

    def _short(self, node: Node, package: str) -> str:
        if isinstance(node, Source):
            name = f"{node.source_name}.{node.name}"
            return name if self._names.source(name, package) == node.unique_id else node.unique_id
        name = node.name if node.version_text is None else f"{node.name}.v{node.version_text}"
        return name if self._names.model(name, package) == node.unique_id else node.unique_id


def yaml_file(node: Node) -> str:
    """The YAML file that describes a node, relative to the project; its own file where none does."""
    described_in = forward_slashes((node.patch_path or "").split("://", 1)[-1])
    return described_in or forward_slashes(node.original_file_path or "")


def _parents(node: Node) -> list[str]:
    return list((node.depends_on.nodes if node.depends_on else None) or [])


def _versions(block: dict[str, Any]) -> list[dict[str, Any]]:
    versions = block.get("versions")
    return [one for one in versions if isinstance(one, dict)] if isinstance(versions, list) else []


def _to_ask(said: dict[str, Any], ruled: dict[str, tuple[Any, int]]) -> list[str]:
    """What a person must say: nothing more of what is to be non-authoritative."""
    authority = said.get("authority") or ruled.get("authority", ("authoritative", 0))[0]
    missing = [key for key in ASKED if key not in said and key not in ruled]
    return [key for key in missing if authority == "authoritative" or key == "authority"]


def _with_blank_versions(block: dict[str, Any], ruled: dict[str, tuple[Any, int]]) -> dict[str, Any]:
    entries_ = [dict(entry) for entry in _versions(block)]
    if len(entries_) != len(block["versions"]):
        return block
    shared = {
        key: BLANK
        for key in ("authority", "approved_by")
        if key in _to_ask(block, ruled) and any(key not in entry for entry in entries_)
    }
    for entry in entries_:
        if "effective_from" in _to_ask(block | entry, ruled):
            entry["effective_from"] = BLANK
    return block | shared | {"versions": [ordered(entry) for entry in entries_]}


def ordered(keys: dict[str, Any]) -> dict[str, Any]:
    """The keys in the order of KEYS."""
    first = {key: keys[key] for key in KEYS if key in keys}
    return first | {key: value for key, value in keys.items() if key not in first}


def _is_annotated_by_people(statement: Statement) -> bool:
    """Not a column, nor a semantic model that nobody annotated: it bears the name of its model."""
    if statement.entity_type == "dbt_column":
        return False
    return statement.block is not None or not (statement.node_id or "").startswith("semantic_model.")
