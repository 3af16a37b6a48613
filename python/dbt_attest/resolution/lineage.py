"""Lineage: what a node stands on, what stands on it, the way between two, and what a change of it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.audit import audited
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.result import plain
from dbt_attest.resolution.warehouse import Warehouse

_NOBODY = Requester()
_AS_ASKED = "known_at := $known_at, groups := $groups, environment := $environment"


@dataclass(frozen=True)
class Edge:
    """One edge: `from_node` is read by `to_node`; the fields are the columns of `lineage_upstream`.

    `outcome` is answer, or deny: then what lies at the end that is None is withheld, and so is everything
    else about it. `strength` is observed, compiled or declared, `process` the invocation of the run that
    observed it, else dbt or attest. `broken` is an end that no collected artifact contains. Instants are UTC.
    """

    outcome: str
    from_node: str | None
    to_node: str | None
    kind: str | None
    strength: str | None
    process: str | None
    first_seen: datetime | None
    last_seen: datetime | None
    artifact_id: str | None
    broken: bool | None


@dataclass(frozen=True)
class Lineage:
    """The edges of the graph behind or before a node, or of a way between two, in the order of the names or
    of the way.

    `outcome` is answer; or clarify, where the name means several nodes (`candidates`); or deny or abstain with
    the `reason` why there is nothing to show. `direction` is up, down or path; `node` is what `asked` means,
    None where it means nothing, and of a path; `to` is the other end that was asked.
    """

    asked: str
    to: str | None
    direction: str
    outcome: str
    reason: str
    node: str | None
    edges: tuple[Edge, ...]
    candidates: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing of it is withheld and no end is broken."""
        return self.outcome == "answer" and not any(
            edge.outcome == "deny" or edge.broken for edge in self.edges
        )

    def as_json(self) -> dict[str, Any]:
        """The lineage as JSON values; instants in UTC with offset."""
        as_plain: dict[str, Any] = plain(
            vars(self) | {"complete": self.complete, "edges": [vars(edge) for edge in self.edges]}
        )
        return as_plain


@dataclass(frozen=True)
class Affected:
    """One definition that stands on the node asked, with the days it is in force (`valid_to` is exclusive,
    None is open); or an exposure or metric that no definition governs.

    The fields are the columns of `lineage_impact`; `outcome` deny is for all that is withheld.
    """

    outcome: str
    node_id: str | None
    kind: str | None
    entity_id: str | None
    evidence_id: str | None
    version: str | None
    title: str | None
    governed: bool | None
    valid_from: date | None
    valid_to: date | None
    owner: str | None


@dataclass(frozen=True)
class Impact:
    """What stands on `node`, which `asked` means; `outcome`, `reason` and `candidates` are as in Lineage."""

    asked: str
    outcome: str
    reason: str
    node: str | None
    affected: tuple[Affected, ...]
    candidates: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The impact as JSON values."""
        as_plain: dict[str, Any] = plain(vars(self) | {"affected": [vars(one) for one in self.affected]})
        return as_plain


@audited("lineage up")
def upstream(
    warehouse: Warehouse,
    node: str,
    *,
    known_at: datetime | date | str | None = None,
    requester: Requester = _NOBODY,
    environment: str | None = None,
) -> Lineage:
    """The graph of all that `node` stands on.

    `node` is a unique_id, an evidence_id, an entity, or a dbt name or alias where it means one node.
    `known_at` is as in Warehouse.resolve, and so are the errors.
    """
    sql = "from {schema}.lineage_upstream($node, " + _AS_ASKED + ")"
    return _lineage(warehouse, sql, "up", node, None, known_at, requester, environment)


@audited("lineage down")
def downstream(
    warehouse: Warehouse,
    node: str,
    *,
    known_at: datetime | date | str | None = None,
    requester: Requester = _NOBODY,
    environment: str | None = None,
) -> Lineage:
    """The graph of all that stands on `node`, tests included; otherwise as `upstream`."""
    sql = "from {schema}.lineage_downstream($node, " + _AS_ASKED + ")"
    return _lineage(warehouse, sql, "down", node, None, known_at, requester, environment)


@audited("lineage path")
def path(
    warehouse: Warehouse,
    node: str,
    to: str,
    *,
    known_at: datetime | date | str | None = None,
    requester: Requester = _NOBODY,
    environment: str | None = None,
) -> Lineage:
    """A shortest way along which data goes from `node` to `to`; where there is none, from `to` to `node`."""
    sql = "from {schema}.lineage_path($node, $to, " + _AS_ASKED + ")"
    there = _lineage(warehouse, sql, "path", node, to, known_at, requester, environment)
    if there.reason not in ("no_path", "path_incomplete"):
        return there
    back = _lineage(warehouse, sql, "path", to, node, known_at, requester, environment)
    # a way that cannot be excluded says more than that there is none
    found = back if back.outcome == "answer" or there.reason == "no_path" else there
    return Lineage(**vars(found) | {"asked": node, "to": to})


@audited("lineage impact")
def impact(
    warehouse: Warehouse,
    node: str,
    *,
    known_at: datetime | date | str | None = None,
    requester: Requester = _NOBODY,
    environment: str | None = None,
) -> Impact:
    """Which governing definitions, exposures and metrics stand on `node`, on which days, and whose they are."""
    rows = _rows(
        warehouse,
        "from {schema}.lineage_impact($node, " + _AS_ASKED + ")",
        {"node": node},
        known_at,
        requester,
        environment,
    )
    outcome, reason, candidates = _said(rows)
    affected = (
        _without(row, "reason", "candidates", "node")
        for row in rows
        if row["outcome"] == "answer" or (row["outcome"] == "deny" and row["node"] is not None)
    )
    meant = rows[0]["node"]
    return Impact(node, outcome, reason, meant, tuple(Affected(**one) for one in affected), candidates)


def _lineage(
    warehouse: Warehouse,
    sql: str,
    direction: str,
    node: str,
    to: str | None,
    known_at: datetime | date | str | None,
    requester: Requester,
    environment: str | None,
) -> Lineage:
    names = {"node": node} if to is None else {"node": node, "to": to}
    rows = _rows(warehouse, sql, names, known_at, requester, environment)
    if direction != "path":
        rows.sort(key=lambda row: tuple(str(row[name] or "") for name in ("to_node", "from_node", "kind")))
    outcome, reason, candidates = _said(rows)
    edges = (
        _without(row, "reason", "candidates", "node", "step")
        for row in rows
        if row["from_node"] is not None or row["to_node"] is not None
    )
    return Lineage(
        asked=node,
        to=to,
        direction=direction,
        outcome=outcome,
        reason=reason,
        node=rows[0].get("node"),
        edges=tuple(Edge(**one) for one in edges),
        candidates=candidates,
    )


def _rows(
    warehouse: Warehouse,
    sql: str,
    names: dict[str, str],
    known_at: datetime | date | str | None,
    requester: Requester,
    environment: str | None,
) -> list[dict[str, Any]]:
    asked = {
        "known_at": known_at,
        "groups": list(requester.groups),
        "environment": environment or warehouse.environment,
    }
    with warehouse.connection() as (connection, schema):
        return rows_of(connection, sql.format(schema=schema), names | asked)


def _said(rows: list[dict[str, Any]]) -> tuple[str, str, tuple[str, ...]]:
    """What the rows say as a whole: an answer, if any of them is one, else the outcome of the only row."""
    first = next((row for row in rows if row["outcome"] == "answer"), rows[0])
    return first["outcome"], first["reason"], tuple(first["candidates"])


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}
