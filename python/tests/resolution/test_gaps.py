"""Gaps in small worlds: what the project that is wrong on purpose cannot show."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from dbt_attest.resolution.gaps import KINDS, Gap, find_gaps
from dbt_attest.warehouse.building import build
from dbt_attest.warehouse.files import connect

GOOD = {
    "entity_id": "metric.a",
    "evidence_id": "A",
    "authority": "authoritative",
    "approved_by": "Council",
    "effective_from": "2024-01-01",
    "owner": "Finance",
    "grain": "one value a day",
    "definition": "What it is.",
    "permissions": ["everyone"],
}


@pytest.fixture
def all_gaps_after(world):
    """Collects, in this order, what each argument states, and gives the gaps there are then."""

    def collect(*states, attest_yml=None, environment="prod"):
        for month, stated in enumerate(states, start=1):
            at = f"2025-{month:02}-10T09:00:00Z"
            world.collect(at, stated, attest_yml=attest_yml, environment=environment)
        connection = connect(world.warehouse, read_only=True)
        try:
            return find_gaps(connection, "attest", environment)
        finally:
            connection.close()

    return collect


@pytest.fixture
def gaps_of(world, make_project):
    """Collects manifests, and gives the gaps there are then."""

    def collect(*manifests):
        for content in manifests:
            make_project(world.folder, content, None)
            build(world.folder)
        connection = connect(world.warehouse, read_only=True)
        try:
            return find_gaps(connection, "attest", "prod")
        finally:
            connection.close()

    return collect


@pytest.fixture
def gaps_after(all_gaps_after):
    """The same by kind."""
    return lambda *states, **more: {gap.kind: gap for gap in all_gaps_after(*states, **more)}


def test_a_right_definition_has_no_gap(gaps_after):
    assert gaps_after({"a": GOOD}) == {}


EDITS = {
    "text": ({"definition": "Another thing."}, "2024-01 to 2025-02"),
    "first day": ({"effective_from": "2023-06-01"}, "2023-06 to 2023-12"),
    "an end before the edit": ({"effective_to": "2024-12-31"}, "2025-01 to 2025-02"),
    "words and first day": ({"effective_from": "2023-06-01", "grain": "another"}, "2023-06 to 2025-02"),
    "no first day any more": ({"effective_from": None}, "2024-01 to 2025-02"),
    # the day before the edit: nothing that had been is another
    "an end at the edit": ({"effective_to": "2025-02-09"}, None),
    "an end to come": ({"effective_to": "2025-12-31"}, None),
    "a correction": ({"definition": "Another thing.", "corrects": "It was wrong."}, None),
    "an owner": ({"owner": "Sales"}, None),
    "a grain that nobody had said": ({"grain": "one value an hour"}, None),
    "a grain that is gone": ({"grain": None}, "2024-01 to 2025-02"),
    "a draft": ({"status": "draft", "definition": "Another thing."}, None),
}


def test_an_edit_of_what_had_governed_is_a_rewrite_unless_it_is_called_a_correction(all_gaps_after):
    before, after = {}, {}
    for number, (name, (edit, _)) in enumerate(EDITS.items()):
        named = GOOD | {"entity_id": f"metric.{number}", "evidence_id": name}
        before[f"m{number}"] = named | {"status": edit.get("status", "approved")}
        if name == "a grain that nobody had said":
            del before[f"m{number}"]["grain"]
        after[f"m{number}"] = named | edit
    found = {
        gap.evidence_id: gap.found.split("; reaches ")[1]
        for gap in all_gaps_after(before, after)
        if gap.kind == "history_rewritten"
    }
    assert found == {name: reach for name, (_, reach) in EDITS.items() if reach}


def test_a_correction_that_was_left_standing_excuses_no_other_edit(gaps_after):
    once = GOOD | {"definition": "Second.", "corrects": "It was wrong."}
    assert "history_rewritten" in gaps_after({"a": GOOD}, {"a": once}, {"a": once | {"definition": "Third."}})


def test_a_late_end_where_the_next_version_begins_is_no_rewrite(gaps_after):
    ended = GOOD | {"effective_to": "2025-01-31"}
    following = GOOD | {"evidence_id": "A2", "effective_from": "2025-02-01", "supersedes": "A"}
    assert gaps_after({"a": GOOD}, {"a": ended, "next": following}) == {}
    # a day earlier there is a hole that was none
    assert set(gaps_after({"a": GOOD}, {"a": ended | {"effective_to": "2025-01-30"}, "next": following})) == {
        "history_rewritten",
        "interval_gap",
    }


def test_a_dbt_name_of_several_is_only_noticed_until_one_has_it_as_an_alias(all_gaps_after):
    named = {
        f"{package}:orders": GOOD | {"entity_id": f"metric.{package}", "evidence_id": package}
        for package in ("x", "y")
    }
    found = [gap for gap in all_gaps_after(named) if gap.kind == "identity_conflict"]
    assert [(gap.severity, gap.evidence_id) for gap in found] == [("notice", "x"), ("notice", "y")]
    named["x:orders"] |= {"aliases": ["orders"]}
    assert [gap.kind for gap in all_gaps_after(named)] == []


def test_a_rewrite_that_is_explained_later_is_none(gaps_after):
    second = GOOD | {"definition": "Second."}
    assert gaps_after({"a": GOOD}, {"a": second}, {"a": second | {"corrects": "It was wrong."}}) == {}


def test_a_gap_is_excepted_until_a_day_and_its_severity_is_configured(all_gaps_after):
    ended = GOOD | {"effective_to": "2024-06-30"}
    exceptions = {
        "excepted": ("entity: metric.excepted", "2999-12-31"),
        "by_evidence": ("entity: BY_EVIDENCE", "2999-12-31"),
        "by_path": ("entity: metric.by_path, path: models/**", "2999-12-31"),
        "elsewhere": ("entity: metric.elsewhere, path: models/old/**", "2999-12-31"),
        "over": ("entity: metric.over", "2024-12-31"),
    }
    rules = "gaps: {{severity: {{version_expired: error}}, exceptions: [{}]}}".format(
        ", ".join(
            f"{{kind: version_expired, {of}, reason: r, until: {until}}}" for of, until in exceptions.values()
        )
    )
    states = {
        name: ended | {"entity_id": f"metric.{name}", "evidence_id": name.upper()} for name in exceptions
    }
    found = all_gaps_after(states, attest_yml=rules)
    assert [(gap.severity, gap.evidence_id) for gap in found] == [("error", "ELSEWHERE"), ("error", "OVER")]


def test_other_logic_behind_the_same_words_is_a_gap_until_somebody_verified_it(
    world, make_manifest, make_project
):
    def kinds(at, measure, **more):
        manifest = make_manifest(at, {"a": GOOD | more})
        manifest["metrics"]["metric.shop.a"] |= {
            "type": "simple",
            "type_params": {"measure": {"name": measure}},
        }
        build(make_project(world.folder, manifest))
        connection = connect(world.warehouse, read_only=True)
        try:
            return [(gap.kind, gap.since.isoformat()) for gap in find_gaps(connection, "attest", "prod")]
        finally:
            connection.close()

    assert kinds("2025-01-10T09:00:00Z", "visits") == []
    assert kinds("2025-02-10T09:00:00Z", "visitors") == [("logic_changed", "2025-02-10T09:00:00+00:00")]
    assert kinds("2025-03-10T09:00:00Z", "visitors", last_verified="2025-03-01") == []


def test_places_disagree_about_what_holds_and_not_about_what_has_ended(gaps_of, make_manifest):
    versions = [
        {"version": 1, "effective_from": "2024-01-01", "owner": "Sales", "grain": "day"},
        {"version": 2, "effective_from": "2025-01-01", "owner": "Finance", "grain": "shop, day"},
    ]

    def conflicts(**meta):
        content = make_manifest("2025-02-10T09:00:00Z", {"a": {**GOOD, "versions": versions}})
        del content["metrics"]["metric.shop.a"]["config"]["meta"]["attest"]["evidence_id"]
        content["metrics"]["metric.shop.a"]["config"]["meta"] |= meta
        found = gaps_of(content)
        return [(one.evidence_id, one.found) for one in found if one.kind == "source_conflict"]

    assert conflicts(team="finance", primary_key=["shop", "day"]) == []
    assert conflicts(team="Sales", primary_key="day") == [
        ("metric.a.v2", "shop, day (annotation); day (meta)"),
        ("metric.a.v2", "Finance (annotation); Sales (meta)"),
    ]


def test_a_semantic_model_is_asked_for_nothing_until_somebody_annotates_it(gaps_of, make_manifest, world):
    def manifest(month, **meta):
        content = make_manifest(f"2025-{month:02}-10T09:00:00Z", {"a": GOOD})
        one = {
            "name": "orders",
            "package_name": "shop",
            "resource_type": "semantic_model",
            "config": {"meta": meta},
        }
        return content | {"semantic_models": {"semantic_model.shop.orders": one}}

    assert gaps_of(manifest(1)) == ()
    connection = connect(world.warehouse, read_only=True)
    try:
        assert connection.execute("select distinct entity from attest.readiness").fetchall() == [
            ("metric.a",)
        ]
    finally:
        connection.close()
    (gap,) = gaps_of(manifest(2, attest={"authority": "non_authoritative"}), manifest(3))
    assert (gap.entity, gap.found.split(",")[0]) == (
        "semantic_model.shop.orders",
        "none: lost with the rest of its annotation on 2025-03-10",
    )


def test_an_ignored_kind_is_left_out(gaps_after):
    ended = {"a": GOOD | {"effective_to": "2024-06-30"}}
    assert gaps_after(ended, attest_yml="gaps: {severity: {version_expired: ignore}}") == {}


def test_a_stand_alone_warehouse_has_the_views(world):
    world.collect("2025-01-10T09:00:00Z", {"a": GOOD | {"effective_to": "2024-06-30"}})
    connection = connect(world.warehouse, read_only=True)
    try:
        columns = connection.execute("select column_name from (describe attest.gaps)").fetchall()
        assert [name for (name,) in columns] == [field.name for field in fields(Gap)]
        (row,) = connection.execute("from attest.version_expired").fetchall()
        assert (Gap(*row),) == find_gaps(connection, "attest", "prod")
        assert Gap(*row).since.isoformat() == "2025-01-10T09:00:00+00:00"
    finally:
        connection.close()


def test_every_kind_has_a_page():
    pages = Path(__file__).parents[3] / "docs" / "gaps"
    assert {page.stem for page in pages.glob("*.md")} == set(KINDS)
    for page in pages.glob("*.md"):
        assert f"{{kind: {page.stem}, " in page.read_text(encoding="utf-8")
