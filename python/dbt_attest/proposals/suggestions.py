"""Candidates for what a person may want to say, each with why: what is only a guess is never filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dbt_attest.annotations.owner_claims import owner_claims
from dbt_attest.annotations.statements import Statement
from dbt_attest.artifacts import Node
from dbt_attest.proposals.proposal import Nodes, yaml_file

# What people call the lasting name of a thing in their own meta.
_ENTITY_KEYS = ("entity_id", "entity", "business_term", "glossary_term", "term")
_NUMBERED = re.compile(r"(?P<base>.+?)_v(?P<number>[0-9]+)")
_AGED = re.compile(
    r"(?:(?P<before>old|legacy|deprecated)_)?(?P<base>.+?)(?:_(?P<after>old|legacy|deprecated|new))?"
)


@dataclass(frozen=True)
class Suggestion:
    """One candidate: what `key` of the annotation of `node_id` could be, and why."""

    node_id: str
    file: str
    key: str
    value: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """The suggestion as JSON values."""
        return vars(self)


def suggestions(nodes: Nodes, asked: Iterable[Statement]) -> list[Suggestion]:
    """What these nodes could say of their entity, owner, end and supersession, by node and key."""
    relatives = _relatives(nodes)
    shown_by = _shown_by(nodes)
    found: list[Suggestion] = []
    for statement in asked:
        node = nodes.node(statement.node_id or "")
        said = (statement.block or {}).keys()
        for key, value, reason in (
            *_from_meta(node),
            *relatives.get(node.unique_id, ()),
            *_owners(nodes, statement, node, shown_by.get(node.unique_id, ())),
            *_ends(node),
        ):
            if key not in said:
                found.append(Suggestion(node.unique_id, yaml_file(node), key, value, reason))
    return sorted(set(found), key=lambda one: (one.file, one.node_id, one.key, one.value, one.reason))


_Candidate = tuple[str, str, str]


def _from_meta(node: Node) -> Iterator[_Candidate]:
    for meta in (node.config.meta if node.config else None, node.meta):
        for key in _ENTITY_KEYS if isinstance(meta, dict) else ():
            value = meta.get(key) if meta else None
            if isinstance(value, str) and value.strip():
                yield "entity_id", value.strip(), f"meta.{key}"


def _owners(nodes: Nodes, statement: Statement, node: Node, exposures: Iterable[str]) -> Iterator[_Candidate]:
    for stated in statement.stated:
        if stated.attribute == "owner":
            yield "owner", stated.value, stated.place
    theirs: dict[str, list[str]] = {}
    for exposure in exposures if node.resource_type != "exposure" else ():
        for owner in owner_claims(nodes.manifest, nodes.manifest.exposures[exposure]).get("exposure", ()):
            theirs.setdefault(owner, []).append(exposure)
    for owner, listed in theirs.items():
        more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
        yield "owner", owner, f"theirs is what stands on it: {listed[0]}{more}"


def _ends(node: Node) -> Iterator[_Candidate]:
    # dbt gives the day the midnight of the machine that parsed the project
    day = re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", str(node.deprecation_date or ""))
    if day is not None:
        yield "effective_to", day.group(), "deprecation_date"


def _shown_by(nodes: Nodes) -> dict[str, list[str]]:
    """The exposures that read a node directly."""
    found: dict[str, list[str]] = {}
    for exposure in sorted(nodes.manifest.exposures):
        depends_on = nodes.manifest.exposures[exposure].depends_on
        for parent in (depends_on.nodes if depends_on else None) or ():
            found.setdefault(parent, []).append(exposure)
    return found


def _relatives(nodes: Nodes) -> dict[str, list[_Candidate]]:
    """One entity for nodes whose names differ by a `_v2` or `_old`, and which of them supersedes which."""
    families: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for node_id in nodes.by_id:
        node = nodes.node(node_id)
        if node.version_text is None:  # dbt's own versions are one entity already
            base, rank = _ranked(node.name)
            families.setdefault((node.resource_type, base), []).append((rank, node_id))
    found: dict[str, list[_Candidate]] = {}
    for (kind, base), members in families.items():
        ranked = sorted(members)
        if len(ranked) < 2 or len({rank for rank, _ in ranked}) < len(ranked):
            continue
        entity = f"{kind}.{base}"
        names = ", ".join(nodes.node(one).name for _, one in ranked)
        for version, (_, node_id) in enumerate(ranked, start=1):
            reason = f"by their names one thing: {names}"
            found[node_id] = [("entity_id", entity, reason), ("version", str(version), reason)]
            if version > 1:
                before = nodes.node(ranked[version - 2][1]).name
                came_after = f"by their names {nodes.node(node_id).name} came after {before}"
                found[node_id].append(("supersedes", str(version - 1), came_after))
    return found


def _ranked(name: str) -> tuple[str, float]:
    """What a name is about, and how late it is among those about the same: old, plain or v1, v2, new."""
    numbered = _NUMBERED.fullmatch(name)
    if numbered:
        return numbered["base"], float(numbered["number"])
    aged = _AGED.fullmatch(name)
    if aged is None:
        return name, 1.5
    if aged["before"] or (aged["after"] and aged["after"] != "new"):
        return aged["base"], 0.0
    # beside a v2 a plain name is the first
    return aged["base"], float("inf") if aged["after"] == "new" else 1.0
