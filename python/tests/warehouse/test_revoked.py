"""A permission taken away is gone at once, whichever of two observations could be called the last."""

from __future__ import annotations

import os
from datetime import datetime

import pytest

from dbt_attest import Requester, open
from dbt_attest.resolution import lineage
from dbt_attest.warehouse.building import build, build_past

JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))
V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["team"],
      "effective_from": "2024-01-01", "definition": "first"}  # fmt: skip
OPEN_YML = "policies: {team: {groups: [readers, finance]}}\n"
CLOSED_YML = "policies: {team: {groups: [finance]}}\n"
RULES = "rules: [{path: '**', owner: ann}]\n"


def _may_see(world, group="readers", entity="metric.b"):
    """What the answer says; a state of knowledge before a revocation gives no more, nor does the lineage."""
    warehouse, requester = open(world.warehouse), Requester([group])
    now, then = (
        warehouse.resolve(entity, on="2024-06-01", known_at=known_at, requester=requester).outcome == "answer"
        for known_at in (None, "2025-02-01")
    )
    assert now or not then
    assert (lineage.upstream(warehouse, entity, requester=requester).reason == "not_permitted") is not now
    return now


def _attest_yml_of(world, instant):
    seconds = datetime.fromisoformat(instant.replace("Z", "+00:00")).timestamp()
    os.utime(world.folder / "attest.yml", (seconds, seconds))


def _collect(world, at, annotations, attest_yml, changed):
    """Like `world.collect`, with an attest.yml that was last changed then."""
    (world.folder / "attest.yml").write_text(attest_yml, encoding="utf-8")
    _attest_yml_of(world, changed)
    return world.collect(at, annotations)


def test_a_policy_read_beside_an_older_manifest(world, make_project, make_manifest):
    """A copied target folder is recorded with the attest.yml of today, which is younger than the last manifest."""
    _collect(world, FEBRUARY, {"v1": V1}, OPEN_YML, JANUARY)
    assert _may_see(world)
    (world.folder / "attest.yml").write_text(CLOSED_YML, encoding="utf-8")
    old = make_project(world.folder / "old", make_manifest(JANUARY, {"v1": V1}))
    build_past(world.folder, [old / "target"])
    assert not _may_see(world)
    assert _may_see(world, "finance")


def test_a_policy_put_back_with_its_old_time(world):
    """Renaming keeps the time of change: neither of the two files can be called the younger observation."""
    _collect(world, JANUARY, {"v1": V1}, CLOSED_YML, JANUARY)
    _collect(world, JANUARY, {"v1": V1}, OPEN_YML, FEBRUARY)
    assert _may_see(world)
    _collect(world, JANUARY, {"v1": V1}, CLOSED_YML, JANUARY)
    assert not _may_see(world)
    assert _may_see(world, "finance")
    # the next manifest settles it
    _collect(world, MARCH, {"v1": V1}, OPEN_YML, JANUARY)
    assert _may_see(world)


def test_a_policy_that_one_of_two_files_lacks_is_its_own_name(world):
    _collect(world, JANUARY, {"v1": V1}, OPEN_YML, FEBRUARY)
    _collect(world, JANUARY, {"v1": V1}, "policies: {}\n", JANUARY)
    assert not _may_see(world)
    assert not _may_see(world, "team")


def test_an_annotation_of_an_older_manifest_with_rules_of_today(world, make_project, make_manifest):
    """The rules make the old assertion younger than the new one, which is therefore asserted again behind it."""
    named = V1 | {"permissions": ["readers", "finance"], "definition": "older words"}
    _collect(world, FEBRUARY, {"v1": V1 | {"permissions": ["finance"]}}, RULES, JANUARY)
    assert not _may_see(world)
    (world.folder / "attest.yml").write_text(RULES + "# touched\n", encoding="utf-8")
    old = make_project(world.folder / "old", make_manifest(JANUARY, {"v1": named}))
    build_past(world.folder, [old / "target"])
    assert not _may_see(world)
    assert _may_see(world, "finance")


@pytest.mark.parametrize(
    ("lost", "finance"),
    [({"permissions": []}, False), ({"authority": None, "permissions": ["finance"]}, True)],
    ids=["all permissions", "authority and a permission"],
)
def test_what_is_held_keeps_no_permission(world, lost, finance):
    names = [f"d{number}" for number in range(6)]
    ours = V1 | {"permissions": ["readers", "finance"]}
    states = {name: ours | {"evidence_id": name, "entity_id": f"metric.{name}"} for name in names}
    world.collect(JANUARY, states)
    assert _may_see(world, entity="metric.d0")
    held = world.collect(FEBRUARY, {name: said | lost for name, said in states.items()}).recorded.held
    assert held == 6
    assert not _may_see(world, entity="metric.d0")
    assert _may_see(world, "finance", "metric.d0") is finance
    world.collect(MARCH, states)
    assert _may_see(world, entity="metric.d0")


def test_a_removal_that_is_held_takes_no_permission(world):
    states = {
        f"d{number}": V1 | {"evidence_id": f"d{number}", "permissions": ["readers"]} for number in range(6)
    }
    world.collect(JANUARY, states)
    assert world.collect(FEBRUARY, {"other": {}}).recorded.held == 6
    assert (
        open(world.warehouse).resolve("metric.b", requester=Requester(["readers"])).reason
        == "authority_conflict"
    )


def test_a_document_permits_what_it_says_without_a_new_manifest(world):
    """Words and permissions of one file, and of one assertion, are observed together: neither can be older."""
    note = world.folder / "note.md"
    for permissions in ("[readers]", "[finance]", "[readers]"):
        note.write_text(
            "---\nentity_id: wiki.b\nauthority: authoritative\neffective_from: 2024-01-01\n"
            f"permissions: {permissions}\n---\nwords beside {permissions}\n"
        )
        world.collect(JANUARY, {}, attest_yml="documents: [note.md]\n")
        assert _may_see(world, entity="wiki.b") is (permissions == "[readers]")


def test_another_projects_copy_permits_nothing_once_its_own_is_collected(world):
    world.collect(FEBRUARY, {"shop:v1": V1 | {"permissions": ["readers"]}}, project="elsewhere")
    assert _may_see(world)
    world.collect(JANUARY, {"v1": V1 | {"permissions": ["finance"]}})
    assert not _may_see(world)
    build(world.folder)
    assert not _may_see(world)
