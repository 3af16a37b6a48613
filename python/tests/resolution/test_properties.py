"""The properties that DESIGN.md says always hold, one test each, over the worlds of `worlds.py`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from itertools import groupby
from typing import Any

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from . import oracle
from .oracle import Collection, Policy, Statement
from .worlds import (
    DAY,
    DAYS,
    FIRST,
    NAMES,
    REQUESTERS,
    SCOPES,
    Drawn,
    Grid,
    Recorded,
    draw_worlds,
    drawn_worlds,
    restricted,
    side_by_side,
)

ALL = ["readers", "finance", "board", "nobody", "no such"]
KEYS = ("outcome", "reason", "evidence_id", "valid_from", "valid_to")
OUTCOMES = {"answer", "clarify", "abstain", "deny", "review"}

worlds = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)

Answers = dict[tuple[str, date], tuple[Any, ...]]


def answers(
    grid: Grid,
    recorded: Recorded,
    drawn: Drawn,
    known_at: datetime | None = None,
    groups: list[str] = ALL,
    scope: dict[str, str] | None = None,
) -> Answers:
    """The answer of every entity of a world on every day."""
    recorded.make_grid(drawn.entities)
    rows = recorded.rows(grid.query(known_at, groups, scope or {}, "prod"))
    return {(row["entity_id"], row["day"]): tuple(row[key] for key in KEYS) for row in rows}


def governing(found: Answers) -> Answers:
    """Without what says why there is none: property 7 leaves reasons open."""
    return {
        key: (outcome, *rest) if outcome == "answer" else (outcome,)
        for key, (outcome, _, *rest) in found.items()
    }


def rewritten(drawn: Drawn, change: Callable[[Statement], Statement | None]) -> Drawn:
    """The same world with every statement changed, or left out where that gives None."""
    return Drawn.of(
        replace(one, statements=tuple(said for said in map(change, one.statements) if said is not None))
        for one in drawn.arrivals
    )


def for_everyone(drawn: Drawn) -> Drawn:
    """The same world, in which everybody may see everything."""
    return rewritten(drawn, lambda said: replace(said, permissions=("everyone",)))


def prod(drawn: Drawn) -> list[Collection]:
    return [one for one in drawn.world.collections if one.environment == "prod" and one.statements]


def last_said(drawn: Drawn, data: st.DataObject) -> tuple[Collection, Statement]:
    """One definition of prod, as the last collection of its project that states it says."""
    collections = prod(drawn)
    assume(collections)
    names = sorted({said.evidence_id for one in collections for said in one.statements})
    name = data.draw(st.sampled_from(names))
    return next(
        (one, said) for one in reversed(collections) for said in one.statements if said.evidence_id == name
    )


def with_a_later(drawn: Drawn, before: Collection, said: Statement | None, name: str) -> Drawn:
    """One collection more, ten days after all, that says the same as `before` but of one definition."""
    others = tuple(one for one in before.statements if one.evidence_id != name)
    later = replace(
        before,
        instant=max(one.instant for one in drawn.arrivals) + 10 * DAY,
        statements=others if said is None else (*others, said),
        tag="later",
    )
    return Drawn.of([*drawn.arrivals, later])


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_1_arrival_repetition_and_rebuild_change_nothing(grid, record, drawn, data):
    repeated = [*drawn.arrivals, *data.draw(st.lists(st.sampled_from(drawn.arrivals), max_size=2))]
    here, there = record(drawn.arrivals), record(data.draw(st.permutations(repeated)))
    for known_at in [None, *drawn.instants[:: max(1, len(drawn.instants) // 3)]]:
        groups = data.draw(st.sampled_from(REQUESTERS))
        assert answers(grid, here, drawn, known_at, groups) == answers(grid, there, drawn, known_at, groups)


@worlds
@given(drawn=drawn_worlds(backdating=False), data=st.data())
def test_2_what_comes_later_changes_no_earlier_state(grid, record, drawn, data):
    drawn = for_everyone(drawn)
    known_at = data.draw(st.sampled_from(drawn.instants))
    early, full = record(one for one in drawn.arrivals if one.instant <= known_at), record(drawn.arrivals)
    unknown = {"unknown_entity", "nothing_collected", "not_recorded_yet"}

    def known(found: Answers) -> Answers:
        """That a thing exists at all may become known later."""
        return {key: one for key, one in found.items() if one[1] not in unknown}

    assert known(answers(grid, early, drawn)) == known(answers(grid, full, drawn, known_at))
    asked = {"known_at": known_at, "groups": [], "scope": {}, "environment": "prod"}
    for name in ("ARR", "metric.a", "metric.b"):
        then, now = (one.definition_on(name, FIRST + 3 * DAY, **asked) for one in (early, full))
        if then["reason"] not in unknown:
            keys = (*KEYS, "entity", "warnings")
            assert [then[key] for key in keys] == [now[key] for key in keys]


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_3_one_outcome_and_one_reason(grid, record, drawn, data):
    recorded = record(drawn.arrivals)
    asked = {
        "known_at": data.draw(st.sampled_from([None, *drawn.instants])),
        "groups": data.draw(st.sampled_from(REQUESTERS)),
        "scope": data.draw(st.sampled_from(SCOPES)),
    }
    found = answers(grid, recorded, drawn, **asked)
    assert set(found) == {(entity_id, day) for entity_id in drawn.entities for day in DAYS}
    assert all(outcome in OUTCOMES and reason for outcome, reason, *_ in found.values())
    for name in (*drawn.entities, "ARR", ""):
        row = recorded.definition_on(name, FIRST, environment="prod", **asked)
        assert row["outcome"] in OUTCOMES
        assert row["reason"]


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_4_an_answer_is_the_stewards_answer(grid, record, drawn, data):
    drawn = rewritten(drawn, lambda said: replace(said, permissions=said.permissions or ("nobody",)))
    recorded = record(drawn.arrivals)
    known_at = data.draw(st.sampled_from([None, *drawn.instants]))
    scope = data.draw(st.sampled_from(SCOPES))
    steward = answers(grid, recorded, drawn, known_at, ALL, scope)
    for groups in REQUESTERS:
        for key, found in answers(grid, recorded, drawn, known_at, groups, scope).items():
            assert found[0] != "answer" or found == steward[key]


@worlds
@given(drawn=drawn_worlds(), hidden=st.booleans(), data=st.data())
def test_5_what_may_not_be_seen_is_constant_and_hidden_is_unknown(grid, record, drawn, hidden, data):
    entity_id = data.draw(st.sampled_from(drawn.entities or ["none"]))
    assume(prod(drawn))
    drawn = rewritten(
        drawn,
        lambda said: (
            replace(said, permissions=("secret",), aliases=()) if said.entity_id == entity_id else said
        ),
    )
    policy = ("secret", Policy(("secret",), hidden))
    drawn = Drawn.of(replace(one, policies=(*one.policies, policy)) for one in drawn.arrivals)
    recorded = record(drawn.arrivals)
    found = set()
    for known_at in [None, *drawn.instants[::3]]:
        for scope in ({}, {"region": "EU"}):
            all_found = answers(grid, recorded, drawn, known_at, ["readers"], scope)
            found |= {one[:3] for key, one in all_found.items() if key[0] == entity_id}
    said_in_prod = any(said.entity_id == entity_id for one in prod(drawn) for said in one.statements)
    denied = ("deny", "not_permitted", None)
    assert found == {denied if said_in_prod and not hidden else ("abstain", "unknown_entity", None)}
    if hidden and "ARR" not in entity_id:
        asked = {"known_at": None, "groups": ["readers"], "scope": {}, "environment": "prod"}
        unused = not any(
            alias.alias == entity_id
            for one in prod(drawn)
            for said in one.statements
            for alias in said.aliases
        )
        if unused:
            one, other = (recorded.definition_on(name, FIRST, **asked) for name in (entity_id, "unheard of"))
            assert one == other


def test_6_an_export_answers_as_the_full_warehouse(grid, record, export):
    chance = random.Random(6)
    drawn = side_by_side(restricted(one, chance) for one in draw_worlds(6, 20))
    full = record(one for apart in drawn for one in apart.arrivals)
    instants = sorted({instant for apart in drawn for instant in apart.instants})
    together = Drawn.of(one for apart in drawn for one in apart.arrivals)
    for groups in chance.sample(REQUESTERS, 2):
        exported, _ = export(full, groups)
        for known_at in [None, *chance.sample(instants, 3)]:
            asked = known_at, groups, chance.choice(SCOPES)
            here, there = (answers(grid, one, together, *asked) for one in (full, exported))
            # the macro sees definitions and not collections
            assert all(here[key] == one for key, one in there.items() if one[1] != "nothing_collected")
        for place in chance.sample(range(len(drawn)), 4):
            known_at = chance.choice([None, *drawn[place].instants])
            question = {"known_at": known_at, "groups": groups, "scope": chance.choice(SCOPES)}
            name = chance.choice([*drawn[place].entities * 2, *(f"w{place}.{one}" for one in NAMES)])
            day = chance.choice(DAYS)
            here, there = (
                one.everything_on(name, day, environment="prod", **question) for one in (full, exported)
            )
            for function, rows in here.items():
                assert rows == there[function], f"{function} of {name} on {day}: {question}\n{drawn[place]!r}"


@worlds
@given(drawn=drawn_worlds())
def test_7_what_was_never_official_changes_no_answer(grid, record, drawn):
    drawn = for_everyone(drawn)
    official = {
        said.evidence_id for one in prod(drawn) for said in one.statements if oracle.is_official(said)
    }
    without = rewritten(drawn, lambda said: said if said.evidence_id in official else None)
    here, there = record(drawn.arrivals), record(without.arrivals)
    for known_at in [None, *drawn.instants[::4]]:
        for scope in ({}, {"region": "EU"}):
            assert governing(answers(grid, here, drawn, known_at, ALL, scope)) == governing(
                answers(grid, there, drawn, known_at, ALL, scope)
            )


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_8_a_period_is_its_days(record, drawn, data):
    recorded = record(drawn.arrivals)
    name = data.draw(st.sampled_from([*drawn.entities, "ARR"]))
    first = data.draw(st.sampled_from(DAYS[:-4]))
    asked = {
        "known_at": data.draw(st.sampled_from([None, *drawn.instants])),
        "groups": data.draw(st.sampled_from(REQUESTERS[:2])),
        "scope": data.draw(st.sampled_from(SCOPES)),
        "environment": "prod",
    }
    days = [
        (first + number * DAY, recorded.definition_on(name, first + number * DAY, **asked))
        for number in range(4)
    ]
    runs = []
    for key, members in groupby(days, key=lambda one: tuple(one[1][part] for part in (*KEYS[:3], "entity"))):
        run = list(members)
        runs.append((run[0][0], run[-1][0], *key[:3]))
    period = recorded.definition_between(name, first, first + 3 * DAY, **asked)
    assert [tuple(one.values()) for one in period["segments"]] == runs


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_9_a_further_link_never_lengthens_a_stretch(grid, record, drawn, data):
    drawn = for_everyone(drawn)
    _, said = last_said(drawn, data)
    other = last_said(drawn, data)[1].evidence_id
    linked = rewritten(
        drawn,
        lambda one: (
            replace(one, supersedes=(*one.supersedes, other))
            if one.evidence_id == said.evidence_id and other not in one.supersedes
            else one
        ),
    )
    before, after = (answers(grid, record(one.arrivals), one) for one in (drawn, linked))
    ends = {one[2]: one[4] or date.max for one in before.values() if one[0] == "answer"}
    for outcome, _, evidence_id, _, valid_to in after.values():
        if outcome == "answer" and evidence_id in ends:
            assert (valid_to or date.max) <= ends[evidence_id]


@worlds
@given(drawn=drawn_worlds(), how=st.sampled_from(["authority", "retirement", "removal"]), data=st.data())
def test_10_no_predecessor_is_revived(grid, record, drawn, how, data):
    drawn = for_everyone(drawn)
    before, said = last_said(drawn, data)
    ended = replace(
        said,
        status="retired",
        effective_to=max(said.effective_to or FIRST + 4 * DAY, said.effective_from or FIRST),
    )
    changed = {"authority": replace(said, authority=None), "retirement": ended, "removal": None}[how]
    assume(oracle.is_official(said))
    # the collection before says again what the last one does, so that nothing but the change is new
    same = with_a_later(drawn, before, said, said.evidence_id)
    later = with_a_later(same, before, changed, said.evidence_id)
    here, there = (answers(grid, record(one.arrivals), one) for one in (same, later))
    state = oracle.state_at(same.world, "prod", oracle.EVERYTHING)
    links = oracle.counting_links(state.known)
    predecessors = {
        name
        for name, one in state.known.items()
        if said.evidence_id in oracle.successors(name, links) and sorted(one.said.scope) == sorted(said.scope)
    }
    for key, found in there.items():
        if found[0] == "answer" and found[2] in predecessors and said.effective_from is not None:
            assert here[key][2] == found[2]


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_11_void_is_absent_with_its_links_bridged(grid, record, drawn, data):
    drawn = for_everyone(
        rewritten(drawn, lambda said: replace(said, status="approved", authority="authoritative"))
    )
    before, said = last_said(drawn, data)
    voided = with_a_later(drawn, before, replace(said, status="void"), said.evidence_id)
    gone = said.evidence_id

    def handed_over(one: Statement) -> Statement | None:
        """What the void one said of its neighbours they say of it, which nobody states."""
        if one.evidence_id == gone:
            return None
        if one.evidence_id in said.superseded_by:
            one = replace(one, supersedes=(*one.supersedes, gone))
        if one.evidence_id in said.supersedes:
            one = replace(one, superseded_by=(*one.superseded_by, gone))
        return replace(
            one,
            supersedes=tuple(dict.fromkeys(one.supersedes)),
            superseded_by=tuple(dict.fromkeys(one.superseded_by)),
        )

    absent = rewritten(voided, handed_over)
    here, there = (answers(grid, record(one.arrivals), voided) for one in (voided, absent))
    assert governing(here) == governing(there)


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_12_more_keys_never_change_one_answer_into_another(grid, record, drawn, data):
    recorded = record(drawn.arrivals)
    known_at = data.draw(st.sampled_from([None, *drawn.instants]))
    found = {repr(scope): answers(grid, recorded, drawn, known_at, ["readers"], scope) for scope in SCOPES}
    for fewer in SCOPES:
        for more in SCOPES:
            if fewer.items() < more.items():
                for key, one in found[repr(fewer)].items():
                    other = found[repr(more)][key]
                    assert one[0] != "answer" or other[0] != "answer" or one[2] == other[2]


@worlds
@given(drawn=drawn_worlds(), number=st.integers(0, 99))
def test_the_same_bytes_whatever_the_session(record, drawn, number):
    recorded = record(drawn.arrivals)
    chance = random.Random(number)
    asked = {"known_at": chance.choice([None, *drawn.instants]), "groups": ["readers"], "scope": {}}
    name = chance.choice(drawn.entities or ["none"])

    def said() -> str:
        day = recorded.connection.execute(
            f"select {AS_TEXT} from attest.definition_on($name, $day, known_at := $known_at, "
            "groups := $groups, scope := $scope, environment := 'prod') as answer",
            {"name": name, "day": FIRST + 3 * DAY, **asked},
        ).fetchall()
        period = recorded.definition_between(name, DAYS[0], DAYS[-1], environment="prod", **asked)
        return repr(day) + repr(period["segments"])

    expected = said()
    for zone in ("Asia/Tokyo", "America/New_York", "UTC"):
        recorded.connection.execute(f"set TimeZone = '{zone}'")
        assert said() == expected
    for threads in (1, 2, 16):
        recorded.connection.execute(f"set threads = {threads}")
        assert said() == expected
    for table in ("assertions", "collections", "names", "policies"):
        recorded.connection.execute(
            f"create or replace temp table shuffled as from attest.{table} order by hash(rowid + {number});"
            f"delete from attest.{table}; insert into attest.{table} from shuffled"
        )
    assert said() == expected


# instants as microseconds since 1970: text and Python values of them follow the session's time zone
AS_TEXT = (
    "answer.* exclude (known_at, recorded_at, collected_at), epoch_us(answer.known_at), "
    "epoch_us(answer.recorded_at), epoch_us(answer.collected_at)"
)
