"""What a question gives back."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any


@dataclass(frozen=True)
class Segment:
    """One part of a period, `from_date` and `to_date` inclusive, with one outcome, reason and evidence."""

    from_date: date
    to_date: date
    outcome: str
    reason: str
    evidence_id: str | None

    def as_json(self) -> dict[str, Any]:
        """The segment with the names of the table functions."""
        return {
            "from": self.from_date.isoformat(),
            "to": self.to_date.isoformat(),
            "outcome": self.outcome,
            "reason": self.reason,
            "evidence_id": self.evidence_id,
        }


@dataclass(frozen=True)
class Support:
    """One thing that the governing definition rests on.

    `kind` is model (named or directly used), through (between a model and a source), source or document (only
    explains it). `outcome` is answer; or deny, where what supports it is withheld and unnamed; or abstain
    with the reason why there is none. The fields are the columns of `support_on`: `evidence_class` says what
    the results of dbt prove, `run_…` is the last run that executed it, `tests` are those of that run (test,
    outcome, failures); `freshness_then` is of the end of the day asked, `freshness_now` of all that is known.
    `columns` (name, data_type) are those that the requester may see, `columns_withheld` is whether there are others
    that they may know of. Instants are UTC.
    """

    outcome: str
    reason: str
    kind: str | None
    node_id: str | None
    entity_id: str | None
    evidence_id: str | None
    title: str | None
    version: str | None
    valid_from: date | None
    valid_to: date | None
    strength: str | None
    evidence_class: str | None
    run_invocation_id: str | None
    run_completed_at: datetime | None
    run_status: str | None
    tests: list[dict[str, Any]] | None
    freshness_then: str | None
    freshness_then_at: datetime | None
    freshness_now: str | None
    freshness_now_at: datetime | None
    columns: list[dict[str, Any]] | None
    columns_withheld: bool | None
    warnings: list[str]


@dataclass(frozen=True)
class Step:
    """One step of the reasoning behind an answer; the fields are the columns of `explain_on`.

    `rule` is entity, knowledge, standing, supersession, scope, in_force, permission, outcome or warning, and
    `finding` what it found of `evidence_id`, for some findings by way of `other_evidence_id`; `detail` is a
    word more, such as the reason. `valid_to` is exclusive, instants are UTC.
    """

    step: int
    rule: str
    finding: str
    entity: str | None
    evidence_id: str | None
    other_evidence_id: str | None
    valid_from: date | None
    valid_to: date | None
    recorded_at: datetime | None
    detail: str | None


@dataclass(frozen=True)
class Resolution:
    """The answer to one question: exactly one outcome and one reason, also where there is no answer.

    The fields are the columns of the table functions `definition_on` and `definition_between`. Dates are
    days; `valid_to` is exclusive and None is open; instants are UTC. For a question about one day `from_date`
    equals `to_date` and `segments` is one segment. `owner` is the governing definition's, or whom to ask
    where there is no answer. `asked` is the name as asked; `support` and `explanation` are filled where they
    were asked for.
    """

    asked: str
    entity: str | None
    from_date: date
    to_date: date
    assumed_today: bool
    known_at: datetime | None
    environment: str
    asked_scope: dict[str, str]
    outcome: str
    reason: str
    evidence_id: str | None
    segments: tuple[Segment, ...]
    entity_type: str | None
    version: str | None
    status: str | None
    authority: str | None
    title: str | None
    definition: str | None
    valid_from: date | None
    valid_to: date | None
    date_basis: str | None
    approved_by: str | None
    approved_at: date | None
    owner: str | None
    grain: str | None
    scope: dict[str, str] | None
    models: list[str] | None
    sources: list[str] | None
    node_id: str | None
    file: str | None
    recorded_at: datetime | None
    artifact_id: str | None
    content_hash: str | None
    policy_version: str | None
    collected_at: datetime | None
    candidates: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]
    neighbours: list[dict[str, Any]]
    ended_by: str | None
    withheld: bool
    warnings: list[str]
    support: tuple[Support, ...] | None = None
    explanation: tuple[Step, ...] | None = None

    @property
    def on(self) -> date | None:
        """The day asked, None for a period."""
        return self.from_date if self.from_date == self.to_date else None

    def as_json(self) -> dict[str, Any]:
        """The resolution as JSON values: dates as YYYY-MM-DD, instants in UTC with offset.

        A question about one day has `on`, one about a period `between` and `segments`; `known_at` is the
        state of knowledge that gives the same answer again.
        """
        asked: dict[str, Any] = {"asked": self.asked}
        if self.on:
            asked["on"] = self.on
        else:
            asked["between"] = [self.from_date, self.to_date]
            asked["segments"] = [part.as_json() for part in self.segments]
        more = ("support", "explanation")
        left = {"asked", "from_date", "to_date", "segments", *more}
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in left}
        for name in more:
            if (rows := getattr(self, name)) is not None:
                values[name] = [vars(row) for row in rows]
        as_plain: dict[str, Any] = plain(asked | values)
        return as_plain


def plain(value: Any) -> Any:
    """A value as JSON has it: dates as YYYY-MM-DD, instants with offset."""
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
