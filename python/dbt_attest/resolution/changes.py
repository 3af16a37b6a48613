"""How the answers about an entity became others as more was recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from dbt_attest.resolution.result import Resolution, plain


@dataclass(frozen=True)
class AnswerChange:
    """From `known_at` on, the answer for the days `from_date` to `to_date` was another one than before.

    The fields are the columns of `definition_changes`. Both days are inclusive, None is open; `known_at` is UTC.
    `because` are the assertions that made it: evidence_id, change (added, changed or removed), artifact_id.
    """

    environment: str
    entity_id: str
    known_at: datetime
    from_date: date | None
    to_date: date | None
    outcome_before: str
    reason_before: str
    evidence_id_before: str | None
    content_hash_before: str | None
    outcome: str
    reason: str
    evidence_id: str | None
    content_hash: str | None
    because: list[dict[str, str]]


@dataclass(frozen=True)
class Changes:
    """Every change of an answer that the requester may see, the earliest first.

    `resolution` is what is in force today, as known at the same instant; it tells the entity that the name
    means, or why there is none.
    """

    resolution: Resolution
    changes: tuple[AnswerChange, ...]

    def as_json(self) -> dict[str, Any]:
        """The changes as JSON values."""
        said = self.resolution.as_json()
        keys = ("asked", "entity", "title", "environment", "known_at", "outcome", "reason", "evidence_id")
        return {key: said[key] for key in keys} | {"changes": plain([vars(one) for one in self.changes])}
