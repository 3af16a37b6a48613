"""Gaps: what is to be repaired, found by the package's SQL in whatever warehouse is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dbt_attest.resolution.asking import rows_of, trouble_told
from dbt_attest.resolution.result import plain
from dbt_attest.warehouse.rendering import renderer

if TYPE_CHECKING:
    import duckdb

#: Every kind of gap has a model of its name; the order is that of reports.
KINDS = (
    "identity_conflict",
    "interval_overlap",
    "supersession_broken",
    "history_rewritten",
    "permission_anomaly",
    "logic_changed",
    "status_contradiction",
    "version_expired",
    "interval_gap",
    "relation_broken",
    "object_not_collected",
    "source_conflict",
    "permission_missing",
    "attribute_missing",
    "stale_collection",
)
SEVERITIES = ("error", "warning", "notice")
# What the kinds stand on, each made once and not for every kind anew.
_SHARED = ("recorded_assertions", "definition_timeline")


@dataclass(frozen=True)
class Gap:
    """One thing to repair; the fields are the columns of the view `gaps`.

    `entity` and `evidence_id` are what it is about, None where it is a whole collection. `since` is UTC,
    `file` is relative to the dbt project, `repair` one sentence. `severity` is error, warning or notice.
    """

    environment: str
    entity: str | None
    evidence_id: str | None
    kind: str
    severity: str
    expected: str
    found: str
    file: str | None
    owner: str | None
    since: datetime | None
    repair: str
    node_id: str | None

    def as_json(self) -> dict[str, Any]:
        """The gap as JSON values, instants with offset."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another gap, by whatever value it is found; of edits each is another."""
        since = self.since if self.kind == "history_rewritten" else None
        return (self.kind, self.entity, self.evidence_id, self.expected, since)


def find_gaps(connection: duckdb.DuckDBPyConnection, schema: str, environment: str) -> tuple[Gap, ...]:
    """All gaps of an environment, the worst first and always in one order.

    `schema` holds the evidence; resolvers and views of gaps need not be there. Makes temporary tables.
    """
    gap_tables(connection, schema, environment)
    rows = rows_of(connection, "from temp.main.gaps", None)
    return tuple(sorted((Gap(**row) for row in rows), key=_order))


def gap_tables(connection: duckdb.DuckDBPyConnection, schema: str, environment: str) -> Callable[[str], str]:
    """Makes the gaps, and what they stand on, as temporary tables; gives what renders models that read them."""
    render = renderer(schema, environment, lambda name: f"temp.main.{name}")
    with trouble_told():
        for name in _SHARED:
            connection.execute(f"create or replace temp table {name} as {render(name)}")
        first, *others = KINDS
        connection.execute(f"create or replace temp table gaps as {render(first)}")
        for kind in others:
            connection.execute(f"insert into temp.main.gaps by name {render(kind)}")
    return render


def _order(gap: Gap) -> tuple[Any, ...]:
    of_text = (gap.file, gap.entity, gap.evidence_id, gap.expected, gap.found)
    return (SEVERITIES.index(gap.severity), KINDS.index(gap.kind), *(text or "" for text in of_text))
