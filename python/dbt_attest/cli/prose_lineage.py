"""Lineage as a person would want to read it, and as a Mermaid diagram."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta

from dbt_attest.cli.prose import instant
from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.lineage import Affected, Edge, Impact, Lineage

_REASONS = {
    "nothing_collected": "nothing has been collected in this environment yet: run `attest build`",
    "unknown_node": "no node of that name is known",
    "not_permitted": "these groups may not see it",
    "ambiguous_name": "several nodes bear that name",
    "lineage_missing": "no lineage is recorded there",
    "no_path": "no way leads from one to the other",
    "path_incomplete": "no way is known, and something on the way is withheld or broken",
    "no_impact": "nothing governed stands on it, and no exposure or metric",
}
_WITHHELD = "something that these groups may not see"


def lineage(found: Lineage) -> str:
    """Every edge on a line; of a graph, under the node that is nearer to the one asked."""
    if not found.edges:
        return _nothing(found.asked, found.to, found.reason, found.candidates)
    if found.direction == "path":
        lines = [f"{safe(found.edges[0].from_node or '')}"]
        lines += [f"  → {safe(edge.to_node or '')}  {_facts(edge)}" for edge in found.edges]
    else:
        up = found.direction == "up"
        lines = [f"What {safe(found.node or '')} {'stands on' if up else 'is read by'}:"]
        for node, edges in _levels(found):
            lines += ["", safe(node)]
            for edge in edges:
                far = edge.from_node if up else edge.to_node
                lines.append(
                    f"  {'←' if up else '→'} {safe(far) if far else _WITHHELD}  {_facts(edge)}".rstrip()
                )
    if not found.complete:
        lines += ["", "It is incomplete: an end is withheld or broken."]
    return "\n".join(lines)


def impact(found: Impact) -> str:
    """Every definition, exposure and metric on a line."""
    if not found.affected:
        return _nothing(found.asked, None, found.reason, found.candidates)
    lines = [f"What stands on {safe(found.node or found.asked)}:"]
    lines += [f"  {_affected(one)}" for one in found.affected if one.outcome == "answer"]
    if any(one.outcome == "deny" for one in found.affected):
        lines.append(f"  {_WITHHELD}")
    return "\n".join(lines)


def mermaid(found: Lineage) -> str:
    """A flowchart, data going from left to right; thick arrows are observed, dotted ones declared."""
    names: dict[str, str] = {}
    lines = ["flowchart LR"]

    def named(node: str) -> str:
        if node not in names:
            names[node] = f"n{len(names)}"
            lines.append(f'  {names[node]}["{_quoted(node)}"]')
        return names[node]

    if found.node:
        named(found.node)
    for number, edge in enumerate(found.edges):
        ends = []
        for node in (edge.from_node, edge.to_node):
            if node is None:
                lines.append(f'  w{number}["withheld"]')
            ends.append(f"w{number}" if node is None else named(node))
        arrow = {"observed": "==>", "declared": "-.->", None: "-.-"}.get(edge.strength, "-->")
        label = "|broken|" if edge.broken else ""
        lines.append(f"  {ends[0]} {arrow}{label} {ends[1]}")
    return "\n".join(lines)


def _levels(found: Lineage) -> list[tuple[str, list[Edge]]]:
    """The nodes by their distance from the one asked, each with its edges away from it."""
    up = found.direction == "up"
    away: dict[str, list[Edge]] = defaultdict(list)
    for edge in found.edges:
        away[(edge.to_node if up else edge.from_node) or ""].append(edge)
    seen, level = {found.node or ""}, [found.node or ""]
    ordered = []
    while level:
        ordered += [(node, away[node]) for node in level if away[node]]
        following = {
            far
            for node in level
            for edge in away[node]
            if (far := edge.from_node if up else edge.to_node) is not None
        } - seen
        seen |= following
        level = sorted(following)
    return ordered


def _facts(edge: Edge) -> str:
    if edge.outcome == "deny":
        return ""
    by = f" by {safe((edge.process or '')[:12])}" if edge.strength == "observed" else ""
    seen = f"{instant(edge.first_seen)} to {instant(edge.last_seen)}"
    return f"({edge.kind}, {edge.strength}{by}, seen {seen}{', broken' if edge.broken else ''})"


def _affected(one: Affected) -> str:
    title = f"{safe(one.title)} " if one.title else ""
    what = f"{title}({safe(one.evidence_id or one.entity_id or '')})"
    owner = f"; owner: {safe(one.owner)}" if one.owner else "; no owner"
    if not one.governed:
        return f"{what}: no definition governs it{owner}"
    return f"{what}: in force {_days(one.valid_from, one.valid_to)}{owner}"


def _days(first: date | None, before: date | None) -> str:
    return f"from {first} to {before - timedelta(days=1)}" if before else f"from {first} on"


def _nothing(asked: str, to: str | None, reason: str, candidates: tuple[str, ...]) -> str:
    subject = safe(asked) if to is None else f"{safe(asked)} and {safe(to)}"
    lines = [f"{subject}: {_REASONS[reason]}."]
    if candidates:
        lines += ["It could be:", *(f"  {safe(one)}" for one in candidates)]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return safe(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
