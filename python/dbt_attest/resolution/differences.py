"""Two answers about one entity side by side: on two days, or as known at two instants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.audit import audited
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.result import Resolution, Segment, plain
from dbt_attest.resolution.warehouse import Warehouse

#: What of two answers is compared, in the order in which it is told.
ATTRIBUTES = (
    "outcome", "reason", "evidence_id", "version", "title", "definition", "status", "authority", "approved_by",
    "approved_at", "valid_from", "valid_to", "date_basis", "owner", "grain", "scope", "models", "sources",
    "entity_type", "node_id", "file",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Where two answers differ: for the days `from_date` to `to_date`, inclusive, and each attribute that does.

    `attributes` is attribute → its two values. Between two days there is one, with the two days as bounds.
    """

    from_date: date
    to_date: date
    attributes: dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Differences:
    """The two answers asked for and where they differ; none where they are the same, or both are none.

    `before` and `after` are resolutions of one day each, or the timelines as known at two instants.
    """

    before: Resolution
    after: Resolution
    differences: tuple[Difference, ...]

    def as_json(self) -> dict[str, Any]:
        """The differences as JSON values."""
        as_plain: dict[str, Any] = plain(
            {
                "asked": self.after.asked,
                "entity": self.after.entity,
                "environment": self.after.environment,
                "on": [self.before.on, self.after.on] if self.after.on else None,
                "known_at": [self.before.known_at, self.after.known_at],
                "differences": [
                    {
                        "from": one.from_date,
                        "to": one.to_date,
                        "attributes": {
                            name: {"before": before, "after": after}
                            for name, (before, after) in one.attributes.items()
                        },
                    }
                    for one in self.differences
                ],
            }
        )
        return as_plain


@audited("differences")
def differences(
    warehouse: Warehouse,
    entity: str,
    before: str,
    after: str,
    *,
    known_at: str | None = None,
    requester: Requester,
    scope: Mapping[str, str] | None = None,
) -> Differences:
    """What differs about `entity` between two days, both YYYY-MM-DD, or two states of knowledge, both instants.

    Raises InputError where one is a day and the other an instant, or where `known_at` is given with instants.
    """
    days = [_is_day(text) for text in (before, after)]
    common: dict[str, Any] = {"requester": requester, "scope": scope}
    if all(days):
        one, other = (
            warehouse.resolve(entity, on=day, known_at=known_at, **common) for day in (before, after)
        )
        found = _compared(one, other)
        first, last = sorted((one.from_date, other.from_date))
        return Differences(one, other, (Difference(first, last, found),) if found else ())
    if any(days):
        raise InputError(
            f"Expected two days or two instants to compare, found {before} and {after}; write both as "
            "2025-06-30 for what is in force, or both as 2025-06-30T12:00:00Z for what was known."
        )
    if known_at is not None:
        raise InputError("Expected no known_at beside two states of knowledge; leave it out.")
    one, other = (warehouse.timeline(entity, known_at=instant, **common) for instant in (before, after))
    pieces: list[Difference] = []
    for first, last in _pieces(one.segments, other.segments):
        found = _compared(
            *(warehouse.resolve(entity, on=first, known_at=instant, **common) for instant in (before, after))
        )
        if found and pieces and pieces[-1].attributes == found and _follows(first, pieces[-1].to_date):
            pieces[-1] = Difference(pieces[-1].from_date, last, found)
        elif found:
            pieces.append(Difference(first, last, found))
    return Differences(one, other, tuple(pieces))


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _follows(day: date, before: date) -> bool:
    return day - before == timedelta(days=1)


def _pieces(one: tuple[Segment, ...], other: tuple[Segment, ...]) -> Iterator[tuple[date, date]]:
    """The stretches of days in which neither timeline changes."""
    starts = sorted({segment.from_date for segment in (*one, *other)})
    ends = [*(start - timedelta(days=1) for start in starts[1:]), max(segment.to_date for segment in one)]
    return zip(starts, ends, strict=True)


def _compared(one: Resolution, other: Resolution) -> dict[str, tuple[Any, Any]]:
    if one.outcome == other.outcome != "answer":
        return {}
    pairs = ((name, (getattr(one, name), getattr(other, name))) for name in ATTRIBUTES)
    return {name: values for name, values in pairs if values[0] != values[1]}
