"""The forms of dates, owners, aliases, scope and permissions, and every message about them."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest

from dbt_attest.annotations import Alias, Owner


@pytest.mark.parametrize("written", ["2024-01-31", "2024-01-31T00:00:00", " 2024-01-31 "])
def test_date_is_an_iso_day(project: Any, written: str) -> None:
    assert project.metric({"effective_from": written}).one().effective_from == date(2024, 1, 31)


@pytest.mark.parametrize(
    "key", ["effective_from", "effective_to", "approved_at", "certified_until", "last_verified"]
)
@pytest.mark.parametrize(
    "written", [20250701, "2024-02-30", "soon", "2024-1-5", "2024-01-31T10:00:00", "20240131", True, ["x"]]
)
def test_anything_else_is_a_problem_that_names_its_place(project: Any, key: str, written: Any) -> None:
    (problem,) = project.metric({"versions": [{key: written}]}).problems()
    assert (problem.file, problem.node, problem.key) == (
        "models/revenue.yml",
        "metric.shop.revenue",
        f"versions[0].{key}",
    )
    assert problem.expected == "a date like 2024-01-31"
    assert str(written).strip("[]'").lower() in problem.found.lower()
    assert "models/revenue.yml (metric.shop.revenue): `versions[0]." in str(problem)


def test_far_end_is_open_and_one_day_is_valid(project: Any) -> None:
    assert project.metric({"effective_to": "9999-12-31"}).one().effective_to is None
    one_day = {"effective_from": "2024-01-01", "effective_to": "2024-01-01"}
    assert project.metric(one_day).one().effective_to == date(2024, 1, 1)


@pytest.mark.parametrize("key", ["owner", "aliases", None])
def test_end_before_start_is_a_problem(project: Any, key: str | None) -> None:
    days = {"effective_from": "2024-01-02", "effective_to": "2024-01-01"}
    block = {"owner": [{"name": "A", **days}], "aliases": [{"alias": "A", **days}], None: days}[key]
    (problem,) = project.metric({key: block} if key else block).problems()
    assert problem.key == (f"{key}[0].effective_to" if key else "effective_to")
    assert problem.expected == "a day not before effective_from (2024-01-02)"


def test_retired_needs_an_end(project: Any) -> None:
    (problem,) = project.metric({"status": "retired"}).problems()
    assert (problem.key, problem.suggestion) == ("effective_to", "add effective_to")


def test_recorded_at_is_an_instant_in_utc(project: Any) -> None:
    definition = project.metric({"recorded_at": "2024-07-01T00:00:00+09:00"}).one()
    assert definition.declared_recorded_at == datetime(2024, 6, 30, 15, tzinfo=timezone.utc)
    assert project.found() == []


@pytest.mark.parametrize("written", ["2024-06-10T09:00:00", "2024-06-10 09:00"])
def test_recorded_at_without_offset_is_utc_and_flagged(project: Any, written: str) -> None:
    definition = project.metric({"recorded_at": written}).one()
    assert definition.declared_recorded_at == datetime(2024, 6, 10, 9, tzinfo=timezone.utc)
    assert project.found() == [f"{written}; taken as UTC"]


@pytest.mark.parametrize("written", ["2026-01-01T00:00:01Z", "yesterday", 20240101])
def test_recorded_at_after_the_artifact_or_unreadable_is_a_problem(project: Any, written: Any) -> None:
    (problem,) = project.metric({"recorded_at": written}).problems()
    assert problem.key == "recorded_at"


@pytest.mark.parametrize(
    ("written", "owners"),
    [
        ("Mei Tanaka, registrar's office\n", [Owner(name="Mei Tanaka, registrar's office")]),
        (["A", "B", "A"], [Owner(name="A"), Owner(name="B")]),
        ({"name": "A"}, [Owner(name="A")]),
        (
            [{"name": "A", "effective_to": "2024-01-01"}, "B"],
            [Owner(name="A", effective_to=date(2024, 1, 1)), Owner(name="B")],
        ),
        ("  ", []),
        ([], []),
    ],
)
def test_owner_forms(project: Any, written: Any, owners: list[Owner]) -> None:
    assert project.metric({"owner": written}).one().owners == owners


GROUPS = {
    "group.shop.fin": {"name": "fin", "package_name": "shop", "owner": {"name": None, "email": "fin@x.y"}}
}


def test_owner_falls_back_to_group_then_meta_then_exposure(project: Any) -> None:
    project.top["groups"] = GROUPS
    owner = {"owner": {"name": "Ann", "email": "a@b.c"}}
    project.node("model.shop.a", {"owner": "X"}, group="fin")
    project.node("model.shop.b", config={"group": "fin", "meta": {"owner": "M"}})
    project.node("model.shop.c", config={"meta": {"contact": {"email": None, "slack": "#c"}, "owners": []}})
    project.node("exposure.shop.d", config={"meta": {"team": ["T1", {"name": "T2"}]}}, **owner)
    project.node("exposure.shop.e", **owner)
    owners = {d.node_id[-1]: [o.name for o in d.owners] for d in project.extract().definitions}
    assert owners == {"a": ["X"], "b": ["fin@x.y"], "c": ["#c"], "d": ["T1", "T2"], "e": ["Ann"]}


SAID = {"owner": "X", "grain": "day", "definition": "Net."}
STATED = {"config": {"group": "fin", "meta": {"primary_key": ["day", "shop"]}}, "description": "Gross."}


@pytest.mark.parametrize(
    ("precedence", "block", "held"),
    [
        ("", SAID, ("X", "day", "Net.")),
        ("", {}, ("fin@x.y", "day, shop", "Gross.")),
        ("", dict.fromkeys(SAID), (None, None, None)),
        ("{owner: [group, annotation]}", SAID, ("fin@x.y", "day", "Net.")),
        ("{grain: [meta, annotation], description: [dbt, annotation]}", SAID, ("X", "day, shop", "Gross.")),
        ("{owner: [annotation], grain: [annotation], description: [annotation]}", {}, (None, None, None)),
        ("{owner: [], grain: [], description: []}", SAID, (None, None, None)),
        ("{owner: [group], grain: [meta], description: [dbt]}", dict.fromkeys(SAID), (None, None, None)),
    ],
)
def test_precedence_decides_which_place_is_believed(
    project: Any, precedence: str, block: dict[str, Any], held: tuple[str | None, ...]
) -> None:
    project.top["groups"] = GROUPS
    config = {"config": {**STATED["config"], "meta": {**STATED["config"]["meta"], "attest": block}}}
    project.attest_yml(f"precedence: {precedence}").node("model.shop.a", **(STATED | config))
    found = project.one()
    assert (next((one.name for one in found.owners), None), found.grain, found.definition) == held


def test_the_front_matter_of_a_document_comes_first_whatever_the_precedence(project: Any) -> None:
    project.attest_yml("precedence: {owner: [group], grain: [meta], description: [dbt]}")
    project.document("docs/a.md", "---\nowner: X\ngrain: day\ndefinition: Net.\n---\nLong.")
    found = project.one()
    assert (found.owners, found.grain, found.definition) == ([Owner(name="X")], "day", "Net.")


def test_attest_yml_contributes_where_its_rule_or_precedence_decides(project: Any) -> None:
    project.top["groups"] = GROUPS
    project.attest_yml("precedence: {owner: [group, annotation]}\nrules: [{path: models/b.*, owner: Data}]")
    project.node("model.shop.a", {"owner": "X"}, group="fin").node("model.shop.b", {})
    project.node("model.shop.c", {"owner": "X"}).node("model.shop.d", {}, group="fin")
    taken = [(one.owners[0].name, one.rules_taken) for one in project.extract().definitions]
    assert taken == [("fin@x.y", True), ("Data", True), ("X", False), ("fin@x.y", False)]


def test_what_is_not_believed_is_checked_all_the_same(project: Any) -> None:
    project.top["groups"] = GROUPS
    project.attest_yml("precedence: {owner: [group, annotation]}")
    project.node("model.shop.a", {"owner": [{"name": "X", "effective_from": "soon"}]}, group="fin")
    (problem,) = project.problems()
    assert problem.key == "owner[0].effective_from"


def test_alias_forms(project: Any) -> None:
    dated = {"alias": "Umsatz", "language": "de", "effective_from": "2024-01-01"}
    definition = project.metric({"aliases": ["Sales", dated]}).one()
    expected = Alias(alias="Umsatz", language="de", effective_from=date(2024, 1, 1))
    assert definition.aliases == [Alias(alias="Sales"), expected]


def test_scope_is_text(project: Any) -> None:
    assert project.metric({"scope": {"year": 2024, "eu": True, "r": "EU "}}).one().scope == {
        "eu": "true",
        "r": "EU",
        "year": "2024",
    }


@pytest.mark.parametrize(
    ("written", "groups", "findings"),
    [("finance", ["finance"], 0), (["a", "b", "a"], ["a", "b"], 0), ([], [], 0), (None, [], 0)]
    + [(malformed, [], 1) for malformed in (7, {"a": 1}, ["a", 7], ["a", None], ["a", ""], True)],
)
def test_permissions_not_understood_let_nobody_in(
    project: Any, written: Any, groups: list[str], findings: int
) -> None:
    definition = (
        project.attest_yml("rules: [{path: '**', permissions: [all]}]").metric({"permissions": written}).one()
    )
    assert (definition.permissions, definition.permissions_from) == (groups, "annotation")
    assert len(project.found()) == findings


def test_unknown_keys_and_values_are_all_listed_with_suggestions(project: Any) -> None:
    project.metric(
        {
            "authorty": "x",
            "status": "aproved",
            "grain": 5,
            "owner": {"nam": "A"},
            "versions": [{"effectiv_from": "2024-01-01", "version": True, "approved_at": "2024-02-30"}, "v2"],
        }
    )
    project.node("model.shop.m", {"scope": ["EU"], "aliases": [{"language": "de"}]})
    problems = {(p.node, p.key): p for p in project.problems()}
    metric, model = "metric.shop.revenue", "model.shop.m"
    assert problems.keys() == {
        (metric, "authorty"),
        (metric, "status"),
        (metric, "grain"),
        (metric, "owner.nam"),
        (metric, "owner.name"),
        (metric, "versions[0].effectiv_from"),
        (metric, "versions[0].version"),
        (metric, "versions[0].approved_at"),
        (metric, "versions[1]"),
        (model, "scope"),
        (model, "aliases[0].alias"),
    }
    assert problems[metric, "authorty"].suggestion == "did you mean `authority`?"
    assert problems[metric, "versions[0].effectiv_from"].suggestion == "did you mean `effective_from`?"
    assert problems[metric, "status"].suggestion == "did you mean `approved`?"
    assert problems[metric, "status"].expected == "one of draft, approved, current, superseded, retired, void"
    assert problems[metric, "grain"].suggestion == "put it in quotes if it is meant as text"
