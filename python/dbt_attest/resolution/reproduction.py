"""Asking a bundle's question again: at its states of knowledge and of the warehouse, for its requester."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.bundle import bundle as make_bundle
from dbt_attest.resolution.held import Held
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.warehouse import Warehouse

#: What follows the clock or the product and not the evidence.
_NOT_COMPARED = {"attest_version", "assumed_today"}
_OF_TODAY = {"stale_collection", "status_contradiction"}
_WITHHELD = "something that these groups may not see today"


@dataclass(frozen=True)
class Departure:
    """One place, as keys from the top, where a bundle and the warehouse say different things.

    Values are as in JSON; `in_warehouse` is replaced by a sentence where the requester may not see it today.
    """

    place: str
    in_bundle: Any
    in_warehouse: Any


@dataclass(frozen=True)
class Reproduction:
    """Whether a bundle is what the warehouse gives for its question.

    `permitted`: whether the requester may still see what it answers. Without that nothing is compared.
    """

    permitted: bool
    departures: tuple[Departure, ...] = ()

    @property
    def identical(self) -> bool:
        """Whether it may still be seen and nothing differs."""
        return self.permitted and not self.departures

    def as_json(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return {
            "identical": self.identical,
            "permitted": self.permitted,
            "differences": [vars(one) for one in self.departures],
        }


def reproduce(warehouse: Warehouse, given: dict[str, Any], requester: Requester) -> Reproduction:
    """Ask the question of a valid bundle again.

    The bundle says for which groups it was made; `requester` has to be in all of them, since a file is no proof
    of anybody's rights. Raises InputError where that is not so.
    """
    from dbt_attest.warehouse.pinned import pinned

    groups = given["requester"]["groups"]
    if missing := sorted(set(groups) - {*requester.groups, "everyone"}):
        raise InputError(
            f"Expected a requester in the groups that the bundle was made for, found none of "
            f"{', '.join(missing)}; verify as one who is in them, with --groups."
        )
    question, clocks = given["question"], given["clocks"]
    asked: dict[str, Any] = {
        "between": (date.fromisoformat(question["from"]), date.fromisoformat(question["to"])),
        "known_at": clocks["known_at"],
        "requester": Requester(groups),
        "scope": question["scope"],
        "environment": question["environment"],
    }
    today = make_bundle(warehouse, question["asked"], **asked)
    if _is_closed(today) and not _is_closed(given):
        return Reproduction(permitted=False)
    with warehouse.connection() as (_, schema):
        pass
    with pinned(warehouse.path, schema, question["environment"], clocks["ingested_at"]) as connection:
        again = make_bundle(Held(connection, schema, warehouse), question["asked"], **asked)
    departures = [
        Departure(place, ours, theirs if _at(today, place) == theirs else _WITHHELD)
        for place, ours, theirs in _differences(given, again)
    ]
    return Reproduction(permitted=True, departures=tuple(departures))


def _is_closed(given: dict[str, Any]) -> bool:
    return given["resolution"]["reason"] in ("not_permitted", "unknown_entity")


def _differences(ours: Any, theirs: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs} - _NOT_COMPARED):
            yield from _differences(ours.get(key), theirs.get(key), f"{place}.{key}" if place else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and place.endswith("warnings"):
        if set(ours) - _OF_TODAY != set(theirs) - _OF_TODAY:
            yield place, ours, theirs
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(*pair, f"{place}[{number}]")
    elif ours != theirs:
        yield place, ours, theirs


def _at(given: Any, place: str) -> Any:
    for key in place.replace("[", ".[").split("."):
        try:
            given = given[int(key[1:-1])] if key.startswith("[") else given[key]
        except (KeyError, IndexError, TypeError):
            return None
    return given
