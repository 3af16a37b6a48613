"""Readiness: how much of a domain could be answered for, and what to repair first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_attest.annotations.path_rules import path_pattern
from dbt_attest.artifacts.members import members
from dbt_attest.errors import InputError
from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.demand import Demand
from dbt_attest.resolution.gaps import gap_tables

if TYPE_CHECKING:
    import duckdb

_REPAIRS = 3
_Row = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """One of the twelve conditions: of `of` entities for which it has a meaning, `met` meet it."""

    name: str
    met: int
    of: int


@dataclass(frozen=True)
class Repair:
    """One thing to do, for `entities`; `makes_ready` of them lack nothing else.

    `questions` about the entities got no answer.
    """

    condition: str
    repair: str
    entities: tuple[str, ...]
    makes_ready: int
    questions: int = 0


@dataclass(frozen=True)
class Readiness:
    """A domain: how many entities of it are to answer questions, how many of them are ready, and why not.

    `repairs` are the three for what most questions got no answer about; of these, and where nothing was asked,
    those that would make most entities ready, then those that concern most.
    """

    domain: str
    environment: str
    entities: int
    ready: int
    conditions: tuple[Condition, ...]
    repairs: tuple[Repair, ...]

    @property
    def is_ready(self) -> bool:
        """Whether every entity meets every condition that has a meaning for it."""
        return self.ready == self.entities

    def as_json(self) -> dict[str, Any]:
        """The readiness as JSON values."""
        return {
            "domain": self.domain,
            "environment": self.environment,
            "verdict": "ready" if self.is_ready else "not ready",
            "entities": self.entities,
            "ready": self.ready,
            "conditions": [vars(condition) for condition in self.conditions],
            "repairs": [vars(repair) | {"entities": list(repair.entities)} for repair in self.repairs],
        }


def find_readiness(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    environment: str,
    domain: str,
    manifest: Path,
    demand: Demand,
) -> Readiness:
    """How ready a domain is: `tag:NAME`, `group:NAME`, a path pattern of files, or entities with commas.

    Tags and groups are read from the manifest. Raises InputError where nothing is in the domain.
    """
    render = gap_tables(connection, schema, environment)
    rows = rows_of(connection, f"from ({render('readiness')}) order by entity, position", None)
    inside = _inside(domain, rows, manifest)
    rows = [row for row in rows if inside(row)]
    if not rows:
        raise InputError(
            f"--ready-for {domain}: expected entities that are to answer questions, found none; name a folder "
            "such as models/finance, tag:NAME, group:NAME, or entities with commas."
        )
    entities = {row["entity"] for row in rows}
    unmet: dict[str, set[tuple[str, str]]] = {entity: set() for entity in entities}
    for row in rows:
        if row["met"] is False:
            unmet[row["entity"]].add((row["condition"], row["repair"]))
    return Readiness(
        domain=domain,
        environment=environment,
        entities=len(entities),
        ready=sum(not lacking for lacking in unmet.values()),
        conditions=tuple(_conditions(rows)),
        repairs=tuple(_repairs(unmet, demand)),
    )


def _conditions(rows: Iterable[_Row]) -> Iterable[Condition]:
    counts: dict[str, list[int]] = {}
    for row in sorted(rows, key=lambda row: row["position"]):
        count = counts.setdefault(row["condition"], [0, 0])
        count[0] += row["met"] is True
        count[1] += row["met"] is not None
    return (Condition(name, met, of) for name, (met, of) in counts.items())


def _repairs(unmet: dict[str, set[tuple[str, str]]], demand: Demand) -> list[Repair]:
    concerned: dict[tuple[str, str], list[str]] = {}
    for entity, lacking in sorted(unmet.items()):
        for one in lacking:
            concerned.setdefault(one, []).append(entity)
    asked = {entity: demand.questions(entity) for entity in unmet} if demand.unanswered else {}
    found = [
        Repair(
            condition,
            repair,
            tuple(entities),
            sum(len(unmet[entity]) == 1 for entity in entities),
            sum(asked.get(entity, 0) for entity in entities),
        )
        for (condition, repair), entities in concerned.items()
    ]
    return sorted(found, key=_order)[:_REPAIRS]


def _order(one: Repair) -> tuple[Any, ...]:
    return (-one.questions, -one.makes_ready, -len(one.entities), one.condition, one.repair)


def _inside(domain: str, rows: list[_Row], manifest: Path) -> Callable[[_Row], bool]:
    kind, _, name = domain.partition(":")
    if kind in ("tag", "group") and name:
        nodes = members(manifest, kind, name.strip())
        return lambda row: not nodes.isdisjoint(row["node_ids"] or ())
    if re.search(r"[/*?\\]", domain) or any(_in_folder(domain, row) for row in rows):
        return lambda row: _in_folder(domain, row)
    wanted = {_meant(name.strip(), rows) for name in domain.split(",") if name.strip()}
    return lambda row: row["entity"] in wanted


def _in_folder(domain: str, row: _Row) -> bool:
    pattern = path_pattern(domain.rstrip("/"))
    return any(pattern.fullmatch(unicodedata.normalize("NFC", file)) for file in row["files"] or ())


def _meant(name: str, rows: list[_Row]) -> str:
    """The entity of this id, or the only one whose id ends with it."""
    known = {row["entity"] for row in rows}
    ending: list[str] = sorted(entity for entity in known if entity.endswith(f".{name}"))
    if name in known:
        return name
    if len(ending) != 1:
        found = f"{len(ending)} of that name: {', '.join(ending[:3])}" if ending else "none of that name"
        raise InputError(
            f"--ready-for {name}: expected an entity that is to answer questions, found {found}; name its entity_id."
        )
    return ending[0]
