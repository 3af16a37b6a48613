"""What was asserted about an entity, change by change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dbt_attest.resolution.result import Resolution, plain


@dataclass(frozen=True)
class Change:
    """One change of what was asserted about one definition.

    The fields are the columns of the table function `definition_history`: `change` is added, removed, changed
    or value_to_null; `attribute` is what of the definition changed, None the definition itself; `before` and
    `after` are values as text, None is none. `known_from` and `authored_at` are UTC.
    """

    environment: str
    entity: str
    known_from: datetime
    evidence_id: str
    change: str
    attribute: str | None
    before: str | None
    after: str | None
    artifact_id: str | None
    artifact_kind: str | None
    git_commit: str | None
    authored_at: datetime | None
    file: str | None

    def as_json(self) -> dict[str, Any]:
        """The change as JSON values; instants in UTC with offset."""
        as_plain: dict[str, Any] = plain(vars(self))
        return as_plain


@dataclass(frozen=True)
class History:
    """Every change that the requester may see, the earliest first.

    `resolution` is what is in force today, as known at the same instant; it tells the entity that the name
    means, or why there is none.
    """

    resolution: Resolution
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        """The history as JSON values."""
        said = self.resolution.as_json()
        keys = ("asked", "entity", "title", "environment", "known_at", "outcome", "reason", "evidence_id")
        return {key: said[key] for key in keys} | {"changes": [change.as_json() for change in self.changes]}
