"""Demand: the questions that got no answer, counted, so that what people ask for is repaired first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dbt_attest.errors import InputError
from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.audit import read_audit
from dbt_attest.resolution.requester import Requester
from dbt_attest.warehouse.rendering import macro_sql, renderer

if TYPE_CHECKING:
    import duckdb

    from dbt_attest.resolution.warehouse import Warehouse

#: The outcomes that are no answer.
NO_ANSWER = ("deny", "abstain", "clarify", "review")
# What lineage is asked of are nodes.
_VERBS = ("resolve", "attribute", "bundle", "timeline", "history", "changes", "differences")


@dataclass(frozen=True)
class Unanswered:
    """So many `questions` with one outcome and reason about one entity, the last of them at `last_asked` (UTC).

    `entity` is None where `asked`, the name that was asked for, means nothing or several things; else `asked`
    is the name that was used most.
    """

    outcome: str
    reason: str
    entity: str | None
    asked: str
    questions: int
    last_asked: str

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return vars(self)


@dataclass(frozen=True)
class Demand:
    """What was asked in an environment and not answered, most first, by the audit in `file`.

    `passed_over` counts lines that are no questions. Of no file there is none.
    """

    file: Path | None = None
    unanswered: tuple[Unanswered, ...] = ()
    passed_over: int = 0

    def questions(self, entity: str | None) -> int:
        """How many questions about an entity got no answer."""
        return 0 if entity is None else self._of_entities[entity]

    @cached_property
    def _of_entities(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for one in self.unanswered:
            if one.entity is not None:
                counts[one.entity] += one.questions
        return counts

    def as_json(self) -> dict[str, Any]:
        """The demand as JSON values."""
        return {
            "file": None if self.file is None else str(self.file),
            "unanswered": [one.as_json() for one in self.unanswered],
            "lines_passed_over": self.passed_over,
        }


NOTHING_ASKED = Demand()


class _Question(msgspec.Struct):
    verb: str = "resolve"
    asked: list[str] = msgspec.field(default_factory=list)
    on: str | None = None


class _Who(msgspec.Struct):
    groups: list[str] = msgspec.field(default_factory=list)


class _Line(msgspec.Struct):
    question: _Question
    requester: _Who = msgspec.field(default_factory=_Who)
    outcome: str | msgspec.UnsetType | None = msgspec.UNSET
    reason: str | None = None
    environment: str | None = None
    time: str = ""


@dataclass
class _Count:
    questions: int = 0
    last_asked: str = ""

    def add(self, questions: int, last_asked: str) -> None:
        self.questions += questions
        self.last_asked = max(self.last_asked, last_asked)


def find_demand(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    environment: str,
    file: Path | None,
    asking: Warehouse | None = None,
) -> Demand:
    """The demand by an audit, or by a file of questions in its form; names are those of the evidence in `schema`.

    Questions without an outcome are put to `asking`, which writes no audit. What a requester was not allowed to
    know is told by its entity: it is for stewards. Raises InputError where the file cannot be read.
    """
    if file is None:
        return NOTHING_ASKED
    asked: dict[tuple[str, str, str], _Count] = {}
    passed_over = 0
    decide = _deciding(asking, environment)
    for line in read_audit(file, with_put_aside=True):
        if not line.strip():
            continue
        try:
            said = _decoder.decode(line)
            if said.environment not in (None, environment) or said.question.verb not in _VERBS:
                continue
            if said.outcome is msgspec.UNSET:
                outcome, reason = decide(said)
            else:
                outcome, reason = str(said.outcome), said.reason or ""
        except (msgspec.DecodeError, InputError):
            passed_over += 1
            continue
        if outcome in NO_ANSWER and said.question.asked:
            asked.setdefault((outcome, reason, said.question.asked[0]), _Count()).add(1, said.time)
    entities = _entities(connection, schema, environment, {name for _, _, name in asked})
    together: dict[tuple[str, str, str | None, str], _Count] = {}
    names: dict[tuple[str, str, str | None, str], list[tuple[int, str]]] = {}
    for (outcome, reason, name), count in asked.items():
        entity = entities.get(name)
        about = (outcome, reason, entity, name if entity is None else entity)
        together.setdefault(about, _Count()).add(count.questions, count.last_asked)
        names.setdefault(about, []).append((-count.questions, name))
    found = [
        Unanswered(about[0], about[1], about[2], min(names[about])[1], count.questions, count.last_asked)
        for about, count in together.items()
    ]
    found.sort(
        key=lambda one: (
            -one.questions,
            NO_ANSWER.index(one.outcome),
            one.reason,
            one.entity or "",
            one.asked,
        )
    )
    return Demand(file, tuple(found), passed_over)


def _deciding(asking: Warehouse | None, environment: str) -> Callable[[_Line], tuple[str, str]]:
    """What gives outcome and reason of a question, each decided once; InputError for what cannot be asked."""

    @cache
    def decided(name: str, on: str | None, groups: tuple[str, ...]) -> tuple[str, str]:
        if asking is None:
            raise InputError("Expected a warehouse to ask, found a target folder.")
        found = asking.resolve(name, on=on, requester=Requester(groups=groups), environment=environment)
        return found.outcome, found.reason

    def decide(line: _Line) -> tuple[str, str]:
        if not line.question.asked:
            raise InputError("Expected a name in `asked`, found none.")
        return decided(line.question.asked[0], line.question.on, tuple(line.requester.groups))

    return decide


def _entities(
    connection: duckdb.DuckDBPyConnection, schema: str, environment: str, names: set[str]
) -> dict[str, str]:
    """The entity of each name that means one today."""
    if not names:
        return {}
    # resolvers need not be there
    recorded = renderer(schema, environment)("recorded_assertions")
    named = macro_sql("names_sql", schema, environment, relations=lambda _: f"({recorded})")
    rows = rows_of(
        connection,
        f"select meant.name, meant.entity from ({named}) as meant where list_contains($names::varchar[], meant.name)",
        {"names": sorted(names)},
    )
    return {row["name"]: row["entity"] for row in rows}


_decoder = msgspec.json.Decoder(_Line)
