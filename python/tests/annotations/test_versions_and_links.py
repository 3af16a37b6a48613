"""Several definitions in one place, what they inherit, and who follows whom."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_attest.annotations import Owner


def versions(*entries: dict[str, Any], **block: Any) -> dict[str, Any]:
    return {"authority": "authoritative", **block, "versions": list(entries)}


V1 = {"version": 1, "effective_from": "2024-01-01"}
V2 = {"version": 2, "effective_from": "2025-07-01"}


def supersedes(project: Any) -> dict[str, list[str]]:
    return {
        key.removeprefix("metric.shop.revenue."): d.supersedes for key, d in project.definitions().items()
    }


def test_block_with_versions_is_no_definition_itself(project: Any) -> None:
    definitions = project.metric(versions(V1, V2)).definitions()
    assert definitions.keys() == {"metric.shop.revenue.v1", "metric.shop.revenue.v2"}
    assert {d.entity_id for d in definitions.values()} == {"metric.shop.revenue"}


def test_entries_inherit_all_but_identity_dates_and_links(project: Any) -> None:
    block = {
        "entity_id": "metric.revenue",
        "owner": "A",
        "grain": "day",
        "permissions": ["x"],
        "scope": {"region": "EU"},
        "date_basis": "booked_at",
        "aliases": ["Sales"],
        "evidence_id": "NOT",
        "version": 9,
        "effective_to": "2030-01-01",
        "approved_at": "2020-01-01",
        "supersedes": "NOT",
        "describes": "NOT",
    }
    first, second = (
        project.metric(versions(V1, {**V2, "owner": "B", "grain": None}, **block)).definitions().values()
    )
    assert (first.entity_id, first.evidence_id) == ("metric.revenue", "metric.revenue.v1")
    assert (first.owners, second.owners) == ([Owner(name="A")], [Owner(name="B")])
    assert (first.grain, second.grain) == ("day", None)
    assert first.permissions == second.permissions == ["x"]
    assert first.scope == {"region": "EU"}
    assert first.date_basis == "booked_at"
    assert [alias.alias for alias in second.aliases] == ["Sales"]
    assert (first.effective_to, first.approved_at, first.describes, first.supersedes) == (
        None,
        None,
        None,
        [],
    )
    ignored = {finding.json_path for finding in project.extract().findings}
    assert ignored == {"evidence_id", "version", "effective_to", "approved_at", "supersedes", "describes"}


def test_explicit_null_removes_also_the_fallbacks(project: Any) -> None:
    block = versions(
        {**V1, "owner": None, "permissions": None, "definition": None}, owner="A", permissions=["x"]
    )
    definition = project.metric(block, description="Now", meta={"owner": "M"}).one()
    assert (definition.owners, definition.permissions, definition.definition) == ([], [], None)
    assert definition.permissions_from == "annotation"


def test_in_one_list_each_follows_the_one_before_by_date_and_not_by_place(project: Any) -> None:
    v3 = {"version": 3, "effective_from": "2026-01-01"}
    project.metric(versions(v3, V1, V2))
    assert supersedes(project) == {
        "v1": [],
        "v2": ["metric.shop.revenue.v1"],
        "v3": ["metric.shop.revenue.v2"],
    }


@pytest.mark.parametrize("value", [[], None])
def test_empty_supersedes_follows_nothing(project: Any, value: Any) -> None:
    project.metric(versions(V1, {**V2, "supersedes": value}))
    assert supersedes(project)["v2"] == []


@pytest.mark.parametrize(
    "change", [{"status": "draft"}, {"status": "void"}, {"effective_from": None}, {"scope": {"a": 1}}]
)
def test_drafts_undated_and_other_scopes_are_not_followed_and_do_not_follow(
    project: Any, change: Any
) -> None:
    v3 = {"version": 3, "effective_from": "2026-01-01"}
    project.metric(versions(V1, {**V2, **change}, v3))
    assert supersedes(project) == {"v1": [], "v2": [], "v3": ["metric.shop.revenue.v1"]}


def test_retired_and_superseded_are_followed(project: Any) -> None:
    project.metric(
        versions({**V1, "status": "superseded"}, {**V2, "status": "retired", "effective_to": "2025-08-01"})
    )
    assert supersedes(project)["v2"] == ["metric.shop.revenue.v1"]


def test_authoritative_one_follows_the_last_authoritative_one_past_others(project: Any) -> None:
    v3 = {"version": 3, "effective_from": "2026-01-01"}
    project.metric(versions(V1, {**V2, "authority": "non_authoritative"}, v3))
    assert supersedes(project)["v3"] == ["metric.shop.revenue.v1", "metric.shop.revenue.v2"]


def test_versions_of_a_dbt_model_follow_each_other(project: Any) -> None:
    for version, start in ((1, "2025-07-01"), (2, "2024-01-01")):
        project.node(f"model.shop.m.v{version}", {"effective_from": start}, version=version)
    definitions = project.definitions()
    assert definitions["model.shop.m.v1"].supersedes == ["model.shop.m.v2"]
    assert definitions["model.shop.m.v2"].supersedes == []


def test_across_blocks_nothing_is_implied(project: Any) -> None:
    project.metric({"entity_id": "e", **V1}).document(
        "docs/a.md", "---\nentity_id: e\nversion: 2\neffective_from: 2025-01-01\n---"
    )
    assert [d.supersedes for d in project.extract().definitions] == [[], []]


@pytest.mark.parametrize(
    "written", [1, "1", 1.0, ["1"], "metric.shop.revenue.v1", ["metric.shop.revenue.v1", 1]]
)
def test_supersedes_takes_a_version_or_an_evidence_id(project: Any, written: Any) -> None:
    block = versions(
        {**V1, "version": "1.0"} if written == 1.0 and isinstance(written, float) else V1,
        {**V2, "supersedes": written},
    )
    project.metric(block)
    first, second = project.extract().definitions
    assert second.supersedes == [first.evidence_id]
    assert not second.links_elsewhere


def test_exact_evidence_id_wins_over_a_version(project: Any) -> None:
    project.metric(versions(V1, {**V2, "supersedes": "1"})).node("model.shop.m", {"evidence_id": "1"})
    assert project.definitions()["metric.shop.revenue.v2"].supersedes == ["1"]
    assert project.definitions()["metric.shop.revenue.v2"].links_elsewhere


def test_link_that_is_not_stated_here_is_kept_and_leads_elsewhere(project: Any) -> None:
    definition = project.metric({"superseded_by": ["WIKI.v2", 7]}).one()
    assert definition.superseded_by == ["WIKI.v2", "metric.shop.revenue.v7"]
    assert definition.links_elsewhere


def test_explicit_version_makes_the_evidence_id(project: Any) -> None:
    assert project.metric({"version": 2.0}).one().evidence_id == "metric.shop.revenue.v2.0"
    assert project.metric({"version": 2, "evidence_id": "REV.2"}).one().evidence_id == "REV.2"


def test_entry_of_another_entity_is_a_problem(project: Any) -> None:
    (problem,) = project.metric(versions({**V1, "entity_id": "other"})).problems()
    assert problem.key == "versions[0].entity_id"


def test_versions_inside_a_version_are_a_problem(project: Any) -> None:
    (problem,) = project.metric(versions({**V1, "versions": []})).problems()
    assert problem.key == "versions[0].versions"
    assert problem.expected == "no versions inside a version"


def test_model_and_source_names_become_unique_ids(project: Any) -> None:
    for version in (1, 2, 3):
        project.node(f"model.shop.fct.v{version}", version=version, latest_version=2)
    project.node("model.other.fct").node("seed.shop.regions").node("model.other.far")
    project.node("source.shop.raw.orders").node("source.other.raw.orders").node("source.other.ext.x")
    names = ["fct", "fct.v1", "model.shop.fct.v3", "regions", "far", "other.fct", "gone"]
    project.metric({"models": names, "sources": ["raw.orders", "ext.x", "source.other.raw.orders", "orders"]})
    definition = project.definitions()["metric.shop.revenue"]
    assert definition.models == [
        "model.shop.fct.v2",
        "model.shop.fct.v1",
        "model.shop.fct.v3",
        "seed.shop.regions",
        "model.other.far",
        "model.other.fct",
        "gone",
    ]
    assert definition.sources == [
        "source.shop.raw.orders",
        "source.other.ext.x",
        "source.other.raw.orders",
        "orders",
    ]
    assert {finding.found for finding in project.extract().findings} == {
        "gone; kept as written",
        "orders; kept as written",
    }


def test_models_not_declared_differ_from_none_declared(project: Any, new_project: Any) -> None:
    assert project.metric({}).one().models is None
    assert project.metric({"models": []}).one().models == []
    hashes = {
        new_project().metric(block).one().content_hash for block in ({}, {"models": []}, {"models": "m"})
    }
    assert len(hashes) == 3
