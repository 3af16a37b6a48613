"""How answers changed: every row against the oracle, and what differs between two questions."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dbt_attest import InputError, Requester, open
from dbt_attest.resolution.differences import differences

from . import oracle
from .worlds import DAYS, REQUESTERS, SCOPES, drawn_worlds

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first", "title": "Revenue"}  # fmt: skip
V2 = V1 | {"evidence_id": "v2", "effective_from": "2024-07-01", "supersedes": ["v1"], "definition": "second"}
JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))

worlds = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_every_change_of_an_answer_and_nothing_else(record, drawn, data):
    recorded = record(drawn.arrivals)
    groups, scope = data.draw(st.sampled_from(REQUESTERS)), data.draw(st.sampled_from(SCOPES))
    sight = oracle.sight_of(drawn.world, "prod", groups)
    instants = [one for one in drawn.instants if one.microsecond == 0]
    states = [oracle.state_at(drawn.world, "prod", instant) for instant in instants]
    for name in drawn.entities:
        rows = recorded.rows(
            "from attest.definition_changes_of($name, groups := $groups, scope := $scope, environment := 'prod')",
            name=name, groups=groups, scope=scope,
        )  # fmt: skip
        today = recorded.definition_on(
            name, None, known_at=None, groups=groups, scope=scope, environment="prod"
        )
        entity = today["entity"]
        assert {row["entity_id"] for row in rows} <= {entity}
        assert {one["evidence_id"] for row in rows for one in row["because"]} <= sight.seen
        found = {
            (row["known_at"], day): (row["evidence_id_before"], row["outcome"], row["evidence_id"])
            for row in rows
            for day in DAYS
            if (row["from_date"] or date.min) <= day <= (row["to_date"] or date.max)
            and (row["outcome_before"], row["evidence_id_before"]) != (row["outcome"], row["evidence_id"])
        }
        expected = {}
        seen = entity and oracle.face_of(drawn.world, "prod", entity, sight) == "seen"
        for day in DAYS if seen else []:
            before = ("abstain", None)
            for instant, state in zip(instants, states, strict=True):
                one = oracle.of_entity(state, entity, day, groups, scope)
                now = (one.outcome, one.evidence_id)
                if now != before:
                    expected[instant, day] = (before[1], *now)
                before = now
        assert found == expected


@worlds
@given(drawn=drawn_worlds(), data=st.data())
def test_the_timeline_at_an_instant_is_every_stretch_that_may_be_seen(record, drawn, data):
    recorded = record(drawn.arrivals)
    known_at = data.draw(st.sampled_from([None, *drawn.instants]))
    groups = data.draw(st.sampled_from(REQUESTERS))
    state = oracle.state_at(drawn.world, "prod", known_at or oracle.EVERYTHING)
    seen = oracle.sight_of(drawn.world, "prod", groups).seen
    rows = recorded.rows(
        "from attest.definition_timeline_at($known_at, groups := $groups, environment := 'prod')",
        known_at=known_at, groups=groups,
    )  # fmt: skip
    assert {(row["evidence_id"], row["valid_from"], row["valid_to"] or date.max) for row in rows} == {
        (name, one.first, one.end)
        for name, one in state.stretches.items()
        if name in seen and one.first < one.end
    }
    assert {row["ended_by"] for row in rows} - {None} <= seen
    if known_at is None:
        (steward,) = recorded.rows("select count(*) as stretches from attest.definition_timeline")
        assert steward["stretches"] == sum(one.first < one.end for one in state.stretches.values())


def test_the_timeline_keeps_an_end_that_may_not_be_seen_and_does_not_explain_it(world):
    world.collect(JANUARY, {"v1": V1, "v2": V2 | {"entity_id": "metric.r", "permissions": ["finance"]}})

    def ends(*groups):
        with open(world.warehouse).connection() as (connection, _):
            return connection.execute(
                "select valid_to, end_kind, ended_by from attest.definition_timeline_at(null, groups := $groups) "
                "where evidence_id = 'v1'",
                {"groups": list(groups)},
            ).fetchall()

    assert ends() == [(date(2024, 7, 1), "expired", None)]
    assert ends("finance") == [(date(2024, 7, 1), "superseded_elsewhere", "v2")]


@pytest.fixture
def changed(world):
    """v1 alone; then v2 from July 2024; then another text of v1, and v2 begins in June."""
    restricted = V1 | {"entity_id": "metric.r", "evidence_id": "r1", "permissions": ["finance"]}
    world.collect(JANUARY, {"v1": V1, "r1": restricted})
    world.collect(FEBRUARY, {"v1": V1, "v2": V2, "r1": restricted})
    world.collect(
        MARCH,
        {
            "v1": V1 | {"definition": "corrected", "owner": "ann"},
            "v2": V2 | {"effective_from": "2024-06-01"},
            "r1": restricted | {"effective_from": "2024-02-01"},
        },
    )
    return world


def test_what_changed_for_which_days_and_why(changed):
    found = open(changed.warehouse).changes("metric.b")
    rows = [
        (f"{one.known_at:%m}", str(one.from_date), str(one.to_date), one.evidence_id_before, one.evidence_id,
         [(cause["evidence_id"], cause["change"]) for cause in one.because])
        for one in found.changes
    ]  # fmt: skip
    assert rows == [
        ("01", "2024-01-01", "None", None, "v1", [("v1", "added")]),
        ("02", "2024-07-01", "None", "v1", "v2", [("v2", "added")]),
        ("03", "2024-01-01", "2024-05-31", "v1", "v1", [("v1", "changed")]),
        ("03", "2024-06-01", "2024-06-30", "v1", "v2", [("v1", "changed"), ("v2", "changed")]),
        ("03", "2024-07-01", "None", "v2", "v2", [("v2", "changed")]),
    ]
    assert len(open(changed.warehouse).changes("metric.b", known_at="2025-02-28").changes) == 2


def test_the_stewards_view_has_every_entity(changed):
    with open(changed.warehouse).connection() as (connection, _):
        rows = connection.execute(
            "select entity_id, count(*) from attest.definition_changes group by all order by all"
        ).fetchall()
    # the made-up owner of r1 is nobody's concern here: its first month is one more change
    assert rows == [("metric.b", 5), ("metric.r", 3)]


def test_changes_in_words(changed, attest):
    ran = attest(changed.folder, "timeline", "metric.b", "--changes")
    assert ran.code == 0
    assert "From 2025-02-10 09:00 UTC\n  2024-07-01 –             v1 → v2\n" in ran.output
    assert "because v2 was added (" in ran.output
    assert "  2024-01-01 – 2024-05-31  v1, with another content: " in ran.output


def test_changes_in_json(changed, attest):
    said = attest(changed.folder, "timeline", "metric.b", "--changes", "--format", "json").json
    assert (said["entity"], said["outcome"]) == ("metric.b", "answer")
    assert said["changes"][1] | {"because": []} == {
        "environment": "prod",
        "entity_id": "metric.b",
        "known_at": "2025-02-10T09:00:00+00:00",
        "from_date": "2024-07-01",
        "to_date": None,
        "outcome_before": "answer",
        "reason_before": "in_force",
        "evidence_id_before": "v1",
        "content_hash_before": said["changes"][0]["content_hash"],
        "outcome": "answer",
        "reason": "in_force",
        "evidence_id": "v2",
        "content_hash": said["changes"][1]["content_hash"],
        "because": [],
    }


def test_what_may_not_be_seen_has_no_changes(changed, attest):
    ran = attest(changed.folder, "timeline", "metric.r", "--changes")
    assert (ran.code, ran.output) == (0, "metric.r: no changes (these groups may not see it).\n")


def _differ(world, *asked, **more):
    found = differences(open(world.warehouse), "metric.b", *asked, requester=Requester(), **more)
    return [(str(one.from_date), str(one.to_date), one.attributes) for one in found.differences]


def test_two_days(changed):
    ((first, last, attributes),) = _differ(changed, "2024-05-31", "2024-06-01")
    assert (first, last) == ("2024-05-31", "2024-06-01")
    assert attributes["evidence_id"] == ("v1", "v2")
    assert attributes["definition"] == ("corrected", "second")
    assert attributes["owner"] == ("ann", None)
    assert "title" not in attributes
    assert _differ(changed, "2024-02-01", "2024-03-01") == []
    assert _differ(changed, "2024-05-31", "2024-06-01", known_at="2025-02-28") == []


def test_two_states_of_knowledge(changed):
    found = _differ(changed, FEBRUARY, MARCH)
    assert [(first, last) for first, last, _ in found] == [
        ("2024-01-01", "2024-05-31"),
        ("2024-06-01", "2024-06-30"),
        ("2024-07-01", "9999-12-31"),
    ]
    assert found[0][2]["definition"] == ("first", "corrected")
    assert found[1][2]["evidence_id"] == ("v1", "v2")
    assert found[2][2] == {"valid_from": (date(2024, 7, 1), date(2024, 6, 1))}
    same = (date.fromisoformat(MARCH[:10]) + timedelta(days=1)).isoformat() + "T00:00:00Z"
    assert _differ(changed, MARCH, same) == []


def test_the_difference_in_words(changed, attest):
    ran = attest(changed.folder, "timeline", "metric.b", "--diff", "2024-05-31", "2024-06-01")
    assert ran.code == 0
    assert "\n  definition: corrected → second\n" in ran.output
    ran = attest(changed.folder, "timeline", "metric.b", "--diff", FEBRUARY, MARCH)
    assert "\n2024-06-01 – 2024-06-30\n  evidence id: v1 → v2\n" in ran.output
    ran = attest(changed.folder, "timeline", "metric.b", "--diff", "2024-02-01", "2024-03-01")
    assert ran.output == "Revenue (metric.b): no difference between 2024-02-01 and 2024-03-01.\n"


def test_the_difference_in_json(changed, attest):
    said = attest(changed.folder, "timeline", "metric.b", "--diff", FEBRUARY, MARCH, "--format", "json").json
    assert said["on"] is None
    assert said["differences"][2] == {
        "from": "2024-07-01",
        "to": "9999-12-31",
        "attributes": {"valid_from": {"before": "2024-07-01", "after": "2024-06-01"}},
    }


def test_a_day_and_an_instant_cannot_be_compared(changed):
    with pytest.raises(InputError, match="Expected two days or two instants to compare, found 2024-05-31"):
        _differ(changed, "2024-05-31", MARCH)
    with pytest.raises(InputError, match="Expected no known_at beside two states of knowledge"):
        _differ(changed, FEBRUARY, MARCH, known_at=MARCH)


def test_one_of_the_ways_to_look_at_a_timeline(changed, attest):
    ran = attest(changed.folder, "timeline", "metric.b", "--changes", "--history")
    assert ran.code == 2
    assert "Expected one of --history, --changes and --diff" in ran.errors
