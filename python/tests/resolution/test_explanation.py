"""The explanation of an answer: what the oracle knows of the same question, and nothing that may not be seen."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dbt_attest import InputError, Requester, open

from . import oracle
from .worlds import DAYS, NAMES, REQUESTERS, SCOPES, drawn_worlds

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first", "title": "Revenue"}  # fmt: skip
V2 = V1 | {"evidence_id": "v2", "effective_from": "2024-07-01", "supersedes": ["v1"], "definition": "second"}
AT = "2025-01-10T09:00:00Z"


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(drawn=drawn_worlds(), data=st.data())
def test_every_step_is_what_the_oracle_knows(record, drawn, data):
    recorded = record(drawn.arrivals)
    for _ in range(4):
        name = data.draw(st.sampled_from([*drawn.entities * 3, *NAMES]))
        day = data.draw(st.sampled_from(DAYS))
        asked = {
            "known_at": data.draw(st.sampled_from([None, *drawn.instants])),
            "groups": data.draw(st.sampled_from(REQUESTERS)),
            "scope": data.draw(st.sampled_from(SCOPES)),
            "environment": "prod",
        }
        steps = recorded.rows(
            "from attest.explain_on($name, $day, known_at := $known_at, groups := $groups, scope := $scope, "
            "environment := $environment)",
            name=name, day=day, **asked,
        )  # fmt: skip
        assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
        answer = recorded.definition_on(name, day, **asked)
        outcome = next(step for step in steps if step["rule"] == "outcome")
        assert [outcome[key] for key in ("finding", "detail", "entity", "evidence_id")] == [
            answer[key] for key in ("outcome", "reason", "entity", "evidence_id")
        ]
        assert [step["finding"] for step in steps if step["rule"] == "warning"] == answer["warnings"]
        _compare_with_oracle(steps, drawn, day, asked, answer)


def _compare_with_oracle(steps, drawn, day, asked, answer):
    state = oracle.state_at(drawn.world, "prod", asked["known_at"] or oracle.EVERYTHING)
    seen = oracle.sight_of(drawn.world, "prod", asked["groups"]).seen
    named = {step[key] for step in steps for key in ("evidence_id", "other_evidence_id")} - {None}
    assert named <= seen

    def found(rule, *findings):
        return {step["evidence_id"] for step in steps if step["rule"] == rule and step["finding"] in findings}

    entity = answer["entity"]
    known = {name: one for name, one in state.known.items() if one.said.entity_id == entity and name in seen}
    assert found("knowledge", "known") == set(known)
    assert found("permission", "permitted") == set(known)
    standing = {name for name, one in known.items() if name in state.stretches}
    assert found("standing", "standing") == standing
    assert found("standing", "no_standing") == set(known) - standing
    if entity is None or not known:
        return
    here = {name for name in standing if oracle.applies(known[name].said, asked["scope"])}
    assert found("in_force", "governs", "competes", "covers") == {
        name for name in here if state.stretches[name].holds_on(day)
    }
    assert found("in_force", "governs") == ({answer["evidence_id"]} - {None})
    related = {name for name in state.known if name in seen}
    links = {
        (step["other_evidence_id"], step["evidence_id"]) for step in steps if step["finding"] == "link_counts"
    }
    counting = {
        (later, earlier)
        for later, earlier in oracle.counting_links(state.known)
        if later in related and earlier in related
    }
    assert links <= counting
    assert {link for link in counting if link[0] in known and link[1] in known} <= links
    ends: dict[str, set[str]] = {name: set() for name in standing}
    for step in steps:
        ended = state.stretches.get(step["evidence_id"])
        if step["finding"] == "ended" and ended and step["valid_to"] == ended.end:
            ends[step["evidence_id"]] |= {step["other_evidence_id"]} - {None}
    for name in standing:
        assert ends[name] == state.stretches[name].enders & seen


@pytest.fixture
def restricted(world):
    world.collect(
        AT,
        {
            "v1": V1,
            "v2": V2 | {"permissions": ["finance"]},
            "h1": V1 | {"entity_id": "metric.h", "evidence_id": "h1", "permissions": ["board"]},
            "r1": V1 | {"entity_id": "metric.r", "evidence_id": "r1", "permissions": ["finance"]},
        },
        attest_yml="policies:\n  board: {groups: [board_members], existence: hidden}\n",
    )
    return world


def _steps(world, name="metric.b", groups=(), **asked):
    found = open(world.warehouse).resolve(name, requester=Requester(groups), explain=True, **asked)
    return [(step.rule, step.finding, step.evidence_id, step.detail) for step in found.explanation]


def test_what_decides_and_may_not_be_seen_is_one_step_without_a_name(restricted):
    steps = _steps(restricted, on="2024-08-01")
    assert ("permission", "withheld", None, None) in steps
    assert "v2" not in {evidence_id for _, _, evidence_id, _ in steps}
    assert steps[-1] == ("outcome", "deny", None, "not_permitted")
    assert ("in_force", "governs", "v2", None) in _steps(restricted, groups=["finance"], on="2024-08-01")


def test_the_rule_that_permits_is_named(world, attest):
    rules = "rules: [{path: 'docs/**', owner: ann}, {path: '**', permissions: [team]}]\n"
    policies = "policies: {team: {groups: [finance]}}\n"
    ruled = {key: value for key, value in V1.items() if key != "permissions"}
    own = V2 | {"permissions": ["finance"]}
    world.collect(AT, {"v1": ruled, "v2": own}, attest_yml=rules + policies)
    steps = _steps(world, groups=["finance"], on="2024-08-01")
    assert ("permission", "permitted", "v1", "finance: attest.yml rule 2") in steps
    assert ("permission", "permitted", "v2", "finance: annotation") in steps
    said = attest(world.folder, "resolve", "metric.b", "--explain", "--groups", "finance").output
    assert "v1: yes, by group finance, as attest.yml rule 2 says" in said
    assert "v2: yes, by group finance, as its annotation says" in said


def test_no_group_is_named_that_the_requester_is_not_in(world):
    world.collect(AT, {"v1": V1 | {"permissions": ["audit", "finance"]}})
    permitted = [
        step for step in _steps(world, groups=["finance"], on="2024-08-01") if step[0] == "permission"
    ]
    assert permitted == [("permission", "permitted", "v1", "finance: annotation")]


def test_a_restricted_entity_is_explained_alike_on_every_day(restricted):
    expected = [
        ("entity", "meant", None, "id"),
        ("permission", "withheld", None, None),
        ("outcome", "deny", None, "not_permitted"),
    ]
    for asked in ({"on": "2020-01-01"}, {"on": "2024-08-01"}, {"known_at": "2020-01-01"}):
        assert _steps(restricted, "metric.r", **asked) == expected


def test_of_a_restricted_entity_nothing_is_told_that_bears_on_it(world):
    other = V1 | {"entity_id": "metric.s"}
    world.collect(
        AT,
        {
            "r1": V1 | {"entity_id": "metric.r", "evidence_id": "r1", "permissions": ["finance"]},
            "s1": other | {"evidence_id": "s1", "effective_from": "2024-03-01", "supersedes": ["r1"]},
            "s2": other | {"evidence_id": "s2", "effective_from": "2024-07-01", "supersedes": ["s1"]},
        },
    )
    link = ("supersession", "link_counts", "s1", "supersedes")
    assert link in _steps(world, "metric.r", groups=["finance"], on="2024-08-01")
    assert [rule for rule, *_ in _steps(world, "metric.r", on="2024-08-01")] == [
        "entity", "permission", "outcome",
    ]  # fmt: skip


def test_nothing_is_told_of_what_is_withheld_and_has_the_id_of_another(world):
    """v2 of another entity, stated by another project, would end v1, too, but on a day of its own."""
    world.collect(AT, {"v1": V1, "v2": V2})
    theirs = {"entity_id": "metric.s", "effective_from": "2024-09-01", "permissions": ["finance"]}
    world.collect(AT, {"v2": V2 | theirs}, project="elsewhere")

    def ends(*groups):
        found = open(world.warehouse).resolve(
            "metric.b", on="2024-08-01", explain=True, requester=Requester(groups)
        )
        return [str(step.valid_to) for step in found.explanation if step.finding == "ended"]

    assert ends() == ["2024-07-01"]
    assert ends("finance") == ["2024-07-01", "2024-09-01"]


def test_a_hidden_entity_is_explained_as_an_unknown_one(restricted, attest):
    def said(name):
        ran = attest(
            restricted.folder, "resolve", name, "--on", "2024-08-01", "--explain", "--format", "json"
        )
        return ran.code, ran.output.replace(name, "NAME")

    assert said("metric.h") == said("metric.unheard")


def test_in_words(restricted, attest):
    ran = attest(
        restricted.folder, "resolve", "metric.b", "--on", "2024-05-01", "--explain", "--groups", "finance"
    )
    assert ran.code == 0
    assert "\n  v2 replaces v1: v2 says so, and that counts\n" in ran.output
    assert "\n  v1: ends before 2024-07-01, when v2 begins\n" in ran.output
    assert "\n  v1: from 2024-01-01 to 2024-06-30, and it governs\n" in ran.output
    assert ran.output.endswith("Hence:\n  answer: in_force, v1\n")


def test_in_json(restricted, attest):
    ran = attest(
        restricted.folder, "resolve", "metric.b", "--on", "2024-05-01", "--explain", "--format", "json"
    )
    assert json.loads(ran.output)["explanation"][0] == {
        "step": 1,
        "rule": "entity",
        "finding": "meant",
        "entity": "metric.b",
        "evidence_id": None,
        "other_evidence_id": None,
        "valid_from": None,
        "valid_to": None,
        "recorded_at": None,
        "detail": "id",
    }


def test_every_finding_with_words_is_one_of_the_sql():
    from dbt_attest.cli.prose_explanation import _SENTENCES
    from dbt_attest.warehouse.contract import dbt_package_dir

    text = (dbt_package_dir() / "macros" / "functions" / "explain_on.sql").read_text(encoding="utf-8")
    assert [finding for finding in _SENTENCES if f"'{finding}'" not in text] == []


def test_a_period_has_no_explanation(restricted):
    with pytest.raises(InputError, match="Expected an explanation to be asked for one day"):
        open(restricted.warehouse).resolve("metric.b", during="2024", explain=True)
