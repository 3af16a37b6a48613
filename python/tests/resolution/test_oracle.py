"""The oracle against the cases, and the SQL resolvers against the oracle over random worlds.

The worlds of the default run are the same every time. `ATTEST_ORACLE_SECONDS=3600 pytest -n 2 -k
random_worlds python/tests/resolution/test_oracle.py` draws fresh ones for an hour and prints how many.
A disagreement is reported with the smallest world that still shows it, as Python to paste into a test.
"""

from __future__ import annotations

import copy
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from . import oracle
from .oracle import Alias, Collection, Policy, Statement
from .worlds import DAY, DAYS, NAMES, REQUESTERS, SCOPES, Drawn, Grid, Recorded, draw_worlds, side_by_side

CASES = sorted((Path(__file__).parent / "cases").glob("*.yml"))
FIXTURE_B = [
    {"at": "2023-12-15T00:00:00Z", "v1": {"effective_from": "2024-01-01"}},
    {"at": "2024-06-10T09:00:00Z", "v2": {"effective_from": "2024-07-01", "supersedes": ["v1"]}},
]
# what the oracle knows nothing of: rules of attest.yml, the age of a verification, errors
BEYOND = ("rules:", "max_unverified")


def _cases() -> Iterator[Any]:
    for path in CASES:
        for case in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader):
            if not any(one in repr(case) for one in BEYOND) and "error" not in case["expect"]:
                yield pytest.param(case, id=f"{path.stem}: {case['name']}")


def _collections(case: dict[str, Any]) -> Iterator[Collection]:
    states: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    policies: tuple[tuple[str, Policy], ...] = ()
    for number, step in enumerate(
        copy.deepcopy([*(FIXTURE_B if "base" in case else []), *case.get("given", [])])
    ):
        at, environment = _instant(step.pop("at")), step.pop("environment", "prod")
        project = step.pop("project", "shop")
        if "attest_yml" in step:
            found = yaml.safe_load(step.pop("attest_yml"))["policies"]
            policies = tuple(
                (name, Policy(tuple(one["groups"]), one.get("existence") == "hidden"))
                for name, one in found.items()
            )
        state = states.setdefault((environment, project), {})
        for name, change in step.items():
            if change in ("null", ""):
                del state[name]
            else:
                state[name] = state.get(name, {}) | change
        statements = tuple(_statement(name, said) for name, said in state.items())
        # a change of attest.yml alone is read later: the number orders what has one instant
        yield Collection(
            at, statements, environment, project, policies=policies, tag=str(number), artifact=f"{number:03}"
        )


def _statement(name: str, said: dict[str, Any]) -> Statement:
    said = {key: value for key, value in said.items() if value not in ("null", "") or key == "authority"}
    values: dict[str, Any] = {"evidence_id": name, "entity_id": "metric.b", "permissions": ("readers",)}
    for key, value in said.items():
        match key:
            case "effective_from" | "effective_to" | "certified_until":
                values[key] = date.fromisoformat(value)
            case "recorded_at":
                values[key] = _instant(value)
            case "supersedes" | "superseded_by" | "permissions":
                values[key] = tuple(value)
            case "scope":
                values[key] = tuple(sorted(value.items()))
            case "definition":
                values["text"] = value
            case "authority":
                values[key] = None if value == "null" else value
            case "aliases":
                values[key] = tuple(Alias(one) if isinstance(one, str) else _alias(one) for one in value)
            case "owner":
                pass  # of which the oracle knows nothing
            case _:
                values[key] = value
    return Statement(**{"text": f"text of {name}"} | values)


def _alias(one: dict[str, str]) -> Alias:
    dates = {key: date.fromisoformat(value) for key, value in one.items() if key != "alias"}
    return Alias(one["alias"], **dates)


def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _known_at(text: str | None) -> datetime:
    if text is None:
        return oracle.EVERYTHING
    if len(text) == 10:
        return _instant(text) + timedelta(days=1) - timedelta(microseconds=1)
    return _instant(text)


def _brief(found: oracle.Result, expected: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "outcome": found.outcome,
        "reason": found.reason,
        "entity": found.entity,
        "evidence_id": found.evidence_id,
        "valid_from": found.valid_from and found.valid_from.isoformat(),
        "valid_to": found.valid_to and found.valid_to.isoformat(),
        "definition": found.text,
        "recorded_at": found.recorded and found.recorded.isoformat(),
        "candidates": sorted(found.candidates),
        "conflicts": sorted(found.conflicts),
        "neighbours": sorted(found.neighbours),
        "withheld": "true" if found.withheld else "false",
        "warnings": sorted(found.warnings),
    }
    return {key: value for key, value in values.items() if key in expected}


@pytest.mark.parametrize("case", list(_cases()))
def test_the_oracle_answers_the_cases(case):
    world = oracle.World(_collections(case))
    for asked in case["ask"] if isinstance(case["ask"], list) else [case["ask"]]:
        ask = {"entity": "metric.b", "groups": ["readers"], "on": "2024-08-01"} | asked
        state = oracle.state_at(world, ask.get("environment", "prod"), _known_at(ask.get("known_at")))
        if "during" in ask:
            ask["between"] = [f"{ask['during']}-01-01", f"{ask['during']}-12-31"]
        first, last = map(date.fromisoformat, ask.get("between", [ask["on"], ask["on"]]))
        outcome, segments = oracle.between(
            state, ask["entity"], first, last, ask["groups"], ask.get("scope", {})
        )
        expected = {key: None if value == "null" else value for key, value in case["expect"].items()}
        found = _brief(segments[0].result, expected) if len(segments) == 1 else {}
        found["outcome"] = outcome
        if "segments" in expected:
            found["segments"] = [
                [str(one.first), str(one.last), one.result.evidence_id or one.result.reason]
                for one in segments
            ]
        # a case speaks of parts that the oracle has no words for
        assert found == {key: value for key, value in expected.items() if key in found}
        assert "segments" in found or len(segments) == 1


SHARDS = 2
WORLDS_AT_ONCE = 25
LEAST_COMPARISONS = 10_000
ORACLE_WARNINGS = {
    "retroactive", "corrected", "removed", "backdated", "same_instant", "successor_undated",
    "certification_expired",
}  # fmt: skip
# (name, day, known_at, groups, scope, environment) of one question
Question = tuple[str, date, "datetime | None", list[str], dict[str, str], str]


@pytest.fixture
def recorded(tmp_path: Path, empty_warehouse: Path) -> Callable[[Drawn], Recorded]:
    return lambda drawn: Recorded(tmp_path / "world", empty_warehouse, drawn.arrivals)


class DisagreementError(Exception):
    """The SQL and the oracle answer one question differently."""

    def __init__(self, drawn: Drawn, question: Question, sql: Any, expected: Any, how: str) -> None:
        self.drawn, self.question, self.how = drawn, question, how
        self.said = f"sql    {sql}\noracle {expected}"


def compare_grid(grid: Grid, recorded: Recorded, worlds: list[Drawn], asked: tuple[Any, ...]) -> int:
    """Every day of every entity at one state of knowledge, for one requester and scope."""
    known_at, groups, scope, environment = asked
    rows = recorded.rows(grid.query(known_at, groups, scope, environment))
    found = {(row["entity_id"], row["day"]): row for row in rows}
    assert len(found) == len(rows) == sum(len(drawn.entities) * len(DAYS) for drawn in worlds)
    for drawn in worlds:
        state = oracle.state_at(drawn.world, environment, known_at or oracle.EVERYTHING)
        for entity_id in drawn.entities:
            for day in DAYS:
                expected = oracle.of_entity(state, entity_id, day, groups, scope)
                row = found[entity_id, day]
                keys = ("outcome", "reason", "evidence_id", "valid_from", "valid_to")
                sql, right = [row[key] for key in keys], [getattr(expected, key) for key in keys]
                # the macro sees definitions and not collections
                if sql != right and row["reason"] != "nothing_collected":
                    raise DisagreementError(drawn, (entity_id, day, *asked), sql, right, "grid")
    return len(rows)


def compare_day(recorded: Recorded, drawn: Drawn, question: Question) -> None:
    """The whole result of one question."""
    name, day, known_at, groups, scope, environment = question
    row = recorded.definition_on(
        name, day, known_at=known_at, groups=groups, scope=scope, environment=environment
    )
    state = oracle.state_at(drawn.world, environment, known_at or oracle.EVERYTHING)
    expected = oracle.answer(state, name, day, groups, scope)
    sql = {
        "outcome": row["outcome"],
        "reason": row["reason"],
        "entity": row["entity"],
        "evidence_id": row["evidence_id"],
        "valid_from": row["valid_from"],
        "valid_to": row["valid_to"],
        "text": row["definition"],
        "recorded": row["recorded_at"],
        "candidates": _named(row["candidates"]),
        "conflicts": _named(row["conflicts"]),
        "neighbours": _named(row["neighbours"]),
        "withheld": row["withheld"],
        "warnings": frozenset(row["warnings"]) & ORACLE_WARNINGS,
    }
    right = {field.name: getattr(expected, field.name) for field in fields(expected)}
    if expected.outcome != "abstain":
        del sql["neighbours"], right["neighbours"]
    elif sql["neighbours"] < right["neighbours"]:
        # of several that ended on one day, the resolver names one
        right["neighbours"] = sql["neighbours"]
    if sql != right:
        differ = [key for key in sql if sql[key] != right[key]]
        raise DisagreementError(
            drawn, question, {key: sql[key] for key in differ}, {key: right[key] for key in differ}, "day"
        )


def compare_period(recorded: Recorded, drawn: Drawn, question: Question) -> None:
    """The segments of a period of at most ten days."""
    name, first, known_at, groups, scope, environment = question
    last = first + DAY * (first.day % 10)
    row = recorded.definition_between(
        name, first, last, known_at=known_at, groups=groups, scope=scope, environment=environment
    )
    state = oracle.state_at(drawn.world, environment, known_at or oracle.EVERYTHING)
    outcome, segments = oracle.between(state, name, first, last, groups, scope)
    sql = row["outcome"], [tuple(one.values()) for one in row["segments"]]
    right = (
        outcome,
        [
            (one.first, one.last, one.result.outcome, one.result.reason, one.result.evidence_id)
            for one in segments
        ],
    )
    if sql != right:
        raise DisagreementError(drawn, question, sql, right, "period")


def _named(found: list[dict[str, Any]]) -> frozenset[str]:
    return frozenset(one.get("evidence_id") or one["entity"] for one in found)


def _compare(
    grid: Grid, make: Callable[[Drawn], Recorded], worlds: list[Drawn], chance: random.Random
) -> Counter[str]:
    """Several worlds in one warehouse: all days at nine states of knowledge, and some whole results."""
    counted: Counter[str] = Counter(worlds=len(worlds))
    together = side_by_side(worlds)
    recorded = make(Drawn.of(one for drawn in together for one in drawn.arrivals))
    try:
        recorded.make_grid([entity_id for drawn in together for entity_id in drawn.entities])
        instants = sorted({one for drawn in together for one in drawn.instants})
        for known_at in [None, None, *chance.sample(instants, min(len(instants), 7))]:
            for environment in ("prod", "prod", chance.choice(["prod", "branch"])):
                asked = known_at, chance.choice(REQUESTERS), chance.choice(SCOPES), environment
                counted["days"] += compare_grid(grid, recorded, together, asked)
        for place, drawn in enumerate(together):
            for number in range(3):
                name = chance.choice(drawn.entities * 3 + [f"w{place}." + one for one in NAMES])
                known_at = chance.choice([None, *drawn.instants])
                environment = chance.choice(["prod"] * 4 + ["branch"])
                question = (
                    name, chance.choice(DAYS), known_at, chance.choice(REQUESTERS), chance.choice(SCOPES),
                    environment,
                )  # fmt: skip
                (compare_period if number == 2 else compare_day)(recorded, drawn, question)
                counted["whole results"] += 1
    finally:
        recorded.close()
    return counted


def _disagrees(
    grid: Grid, make: Callable[[Drawn], Recorded], drawn: Drawn, question: Question, how: str
) -> DisagreementError | None:
    recorded = make(drawn)
    try:
        if how == "grid":
            recorded.make_grid(drawn.entities)
            compare_grid(grid, recorded, [drawn], question[2:])
        else:
            (compare_day if how == "day" else compare_period)(recorded, drawn, question)
    except DisagreementError as found:
        return found
    finally:
        recorded.close()
    return None


def _smaller(drawn: Drawn) -> Iterator[Drawn]:
    """The same world with one thing less."""
    for place, collection in enumerate(drawn.arrivals):
        before, after = drawn.arrivals[:place], drawn.arrivals[place + 1 :]
        yield Drawn.of([*before, *after])
        for bare in [replace(collection, disabled=()), replace(collection, policies=())]:
            if bare != collection:
                yield Drawn.of([*before, bare, *after])
        for number, said in enumerate(collection.statements):
            others = collection.statements[:number], collection.statements[number + 1 :]
            yield Drawn.of([*before, replace(collection, statements=(*others[0], *others[1])), *after])
            usual = Statement(said.evidence_id, said.entity_id)
            for key in (field.name for field in fields(said)):
                plain = replace(said, **{key: getattr(usual, key)})
                if plain != said and (plain.status != "retired" or plain.effective_to):
                    statements = (*others[0], plain, *others[1])
                    yield Drawn.of([*before, replace(collection, statements=statements), *after])


def _smallest(grid: Grid, make: Callable[[Drawn], Recorded], found: DisagreementError) -> DisagreementError:
    until, tries = time.monotonic() + 120, iter(_smaller(found.drawn))
    while time.monotonic() < until and (drawn := next(tries, None)) is not None:
        if drawn.entities and (less := _disagrees(grid, make, drawn, found.question, found.how)):
            found, tries = less, iter(_smaller(less.drawn))
    return found


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_worlds(shard, grid, recorded, capsys):
    seconds = float(os.environ.get("ATTEST_ORACLE_SECONDS", "0"))
    start = time.monotonic()
    seed = random.SystemRandom().randrange(10**9) if seconds else shard
    counted: Counter[str] = Counter()
    while not counted or time.monotonic() < start + seconds:
        try:
            counted += _compare(grid, recorded, draw_worlds(seed, WORLDS_AT_ONCE), random.Random(seed))
        except DisagreementError as found:
            least = _smallest(grid, recorded, found)
            pytest.fail(
                f"seed {seed}, {dict(counted)}: {least.how} of {least.question}\n"
                f"{least.said}\n{least.drawn!r}"
            )
        seed += SHARDS
    if seconds:
        with capsys.disabled():
            print(f"\noracle: {dict(counted)}, last seed {seed - SHARDS}")
    assert counted["days"] >= LEAST_COMPARISONS
