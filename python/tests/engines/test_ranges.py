"""The SQL resolvers against PostgreSQL's range types (`in_force.sql`) over random worlds.

Each world is recorded by the real recorder and asked through the resolvers; PostgreSQL is given only what the
collections said. `ATTEST_WORLDS=2000 make check-engines` compares as many; the default is what a change needs.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ..resolution.oracle import FOREVER, Collection
from ..resolution.worlds import DAYS, Drawn, Grid, Recorded, draw_worlds, side_by_side
from .conftest import Postgres

pytestmark = pytest.mark.engines

WORLDS = int(os.environ.get("ATTEST_WORLDS", "100"))
TOGETHER = 50
SCOPES: list[dict[str, str]] = [{}, {"region": "EU"}, {"channel": "web", "region": "US"}]
NOW = datetime.max.replace(tzinfo=timezone.utc)
IN_FORCE = (Path(__file__).parent / "in_force.sql").read_text(encoding="utf-8")
TABLES = """
create temp table collection (place int, instant timestamptz, environment text, project text);
create temp table said (place int, evidence_id text, entity_id text, status text, authority text, effective_from date,
  effective_to date, scope jsonb, supersedes text[], superseded_by text[]);
create temp table disabled (place int, evidence_id text);
create temp table grid (entity_id text, day date);
"""


def in_sight(drawn: Drawn) -> Drawn:
    """The same, everything open to everybody: permission is no matter of ranges."""
    return Drawn.of(
        replace(one, statements=tuple(replace(said, permissions=("everyone",)) for said in one.statements))
        for one in drawn.arrivals
    )


def load(cursor: Any, collections: Iterable[Collection], entities: list[str]) -> None:
    cursor.execute(TABLES)
    for place, one in enumerate(sorted(collections, key=lambda one: (one.instant, one.artifact))):
        cursor.execute(
            "insert into collection values (%s, %s, %s, %s)",
            (place, one.instant, one.environment, one.project),
        )
        for said in one.statements:
            last = None if said.effective_to == FOREVER else said.effective_to
            cursor.execute(
                "insert into said values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    place, said.evidence_id, said.entity_id, said.status, said.authority, said.effective_from, last,
                    json.dumps(dict(said.scope)), list(said.supersedes), list(said.superseded_by),
                ),
            )  # fmt: skip
        for name in one.disabled:
            cursor.execute("insert into disabled values (%s, %s)", (place, name))
    cursor.execute(
        "insert into grid select * from unnest(%s) cross join unnest(%s::date[]) as day", (entities, DAYS)
    )


Answers = dict[tuple[str, date], tuple[str, str | None]]
Days = set[tuple[str, date, date | None]]


def by_ranges(cursor: Any, known_at: datetime, scope: dict[str, str]) -> tuple[Answers, Days]:
    """Outcome and evidence_id by entity and day; and the days of every definition."""
    cursor.execute(IN_FORCE, {"known_at": known_at, "scope": json.dumps(scope)})
    answers: Answers = {}
    days: Days = set()
    for name, day, outcome, evidence_id, valid_to in cursor.fetchall():
        if outcome is None:
            days.add((name, day, valid_to))
        else:
            answers[name, day] = outcome, evidence_id if outcome == "answer" else None
    return answers, days


@pytest.fixture(scope="module")
def grid() -> Grid:
    return Grid.definitions()


def test_random_worlds(postgres: Postgres, grid: Grid, empty_warehouse: Path, tmp_path: Path) -> None:
    compared: Counter[str] = Counter()
    for number in range(-(-WORLDS // TOGETHER)):
        worlds = side_by_side(in_sight(one) for one in draw_worlds(number, TOGETHER, backdating=False))
        arrivals = [one for drawn in worlds for one in drawn.arrivals]
        entities = sorted({entity for drawn in worlds for entity in drawn.entities})
        recorded = Recorded(tmp_path / "recorded", empty_warehouse, arrivals)
        try:
            recorded.make_grid(entities)
            with postgres.connect() as connection, connection.cursor() as cursor:
                load(cursor, arrivals, entities)
                _compare(recorded, grid, cursor, worlds, compared)
        finally:
            recorded.close()
    print(", ".join(f"{count} {what}" for what, count in compared.items()))
    assert compared["worlds"] >= WORLDS
    assert min(compared[outcome] for outcome in ("answer", "abstain", "review", "clarify")) > 0


def _compare(
    recorded: Recorded, grid: Grid, cursor: Any, worlds: list[Drawn], compared: Counter[str]
) -> None:
    contested: set[str] = set()
    instants = sorted({instant for drawn in worlds for instant in drawn.instants})
    for known_at in [*instants, None]:
        for scope in SCOPES:
            expected, days = by_ranges(cursor, known_at or NOW, scope)
            found = {
                (row["entity_id"], row["day"]): (row["outcome"], row["evidence_id"])
                for row in recorded.rows(f"from {grid.query(known_at, [], scope, 'prod')}")
            }
            wrong = {key: (found[key], expected[key]) for key in expected if found[key] != expected[key]}
            assert found.keys() == expected.keys()
            if wrong:
                (entity, day), (ours, theirs) = min(wrong.items())
                drawn = next(one for one in worlds if entity in one.entities)
                pytest.fail(
                    f"{entity} on {day} as known at {known_at} in {scope}: found {ours}, by ranges {theirs}, "
                    f"and {len(wrong) - 1} more, in\n{drawn!r}",
                    pytrace=False,
                )
            compared.update(outcome for outcome, _ in expected.values())
            contested |= {
                entity.split(".")[0]
                for (entity, _), (outcome, _) in expected.items()
                if outcome in ("review", "clarify")
            }
            if known_at is None and not scope:
                timeline = recorded.rows(
                    "select evidence_id, valid_from, valid_to from attest.definition_timeline"
                )
                assert {tuple(row.values()) for row in timeline} == days
                compared["definitions in the timeline"] += len(days)
    compared["worlds"] += len(worlds)
    compared["worlds without a conflict on any day"] += len(worlds) - len(contested)
