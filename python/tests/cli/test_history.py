"""`attest timeline NAME --history` and the function `definition_history` behind it."""

from __future__ import annotations

import duckdb
import pytest

from dbt_attest import Requester
from dbt_attest.resolution import Warehouse

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first", "owner": "ann", "grain": "day",
      "title": "Revenue"}  # fmt: skip
V2 = V1 | {"evidence_id": "v2", "effective_from": "2024-07-01", "supersedes": ["v1"], "definition": "second"}
SECRET = V1 | {"evidence_id": "s1", "permissions": ["finance"], "definition": "the secret text",
               "effective_from": "2020-01-01", "effective_to": "2020-12-31"}  # fmt: skip
HIDDEN = V1 | {"entity_id": "metric.h", "evidence_id": "h1", "permissions": ["board"]}
MONTHS = [f"2025-0{month}-10T09:00:00Z" for month in range(1, 6)]
ATTEST_YML = "policies:\n  board: {groups: [board_members], existence: hidden}\n"


@pytest.fixture(scope="module")
def changed(tmp_path_factory, world_in):
    world = world_in(tmp_path_factory.mktemp("history"))
    kept = {"s1": SECRET, "h1": HIDDEN} | {f"f{n}": {"evidence_id": f"f{n}"} for n in range(6)}
    corrected = V1 | {"definition": "corrected", "owner": "bob", "grain": None, "approved_by": "cfo"}
    world.collect(MONTHS[0], kept | {"v1": V1}, attest_yml=ATTEST_YML)
    world.collect(MONTHS[1], kept | {"v1": corrected, "v2": V2})
    world.collect(MONTHS[2], kept | {"v1": corrected, "v2": V2 | {"supersedes": ["v1", "h1"]}})
    world.collect(MONTHS[3], kept | {"v2": V2 | {"supersedes": ["v1", "h1"]}})
    world.collect(MONTHS[4], kept | {"v1": corrected | {"grain": "day"}, "v2": V2})
    return world


def _rows(world, groups=(), **asked):
    found = Warehouse(world.warehouse).history("metric.b", requester=Requester(groups), **asked)
    return [
        (f"{one.known_from:%m}", one.evidence_id, one.change, one.attribute, one.before, one.after)
        for one in found.changes
    ]


def test_every_change_attribute_by_attribute(changed):
    rows = _rows(changed)
    assert rows[0] == ("01", "v1", "added", None, None, None)
    assert ("01", "v1", "added", "definition", None, "first") in rows
    assert [row for row in rows if row[0] == "02" and row[1] == "v1"] == [
        ("02", "v1", "changed", "definition", "first", "corrected"),
        ("02", "v1", "added", "approved_by", None, "cfo"),
        ("02", "v1", "changed", "owner", "ann", "bob"),
        ("02", "v1", "value_to_null", "grain", "day", None),
    ]
    assert ("02", "v2", "added", "supersedes", None, "v1") in rows
    assert [row for row in rows if row[0] == "04"] == [("04", "v1", "removed", None, None, None)]
    assert [row for row in rows if row[0] == "05"] == [
        ("05", "v1", "added", None, None, None),
        ("05", "v1", "added", "grain", None, "day"),
    ]


def test_permissions_have_no_history_and_hidden_ids_are_not_named(changed):
    assert "permissions" not in {row[3] for row in _rows(changed)}
    assert [row for row in _rows(changed) if row[0] == "03"] == []
    assert [row for row in _rows(changed, ["board_members"]) if row[0] == "03"] == [
        ("03", "v2", "changed", "supersedes", "v1", "h1, v1")
    ]


def test_what_the_requester_may_not_see_has_no_row(changed):
    assert "s1" not in {row[1] for row in _rows(changed)}
    assert ("01", "s1", "added", "definition", None, "the secret text") in _rows(changed, ["finance"])


def test_as_known_earlier(changed):
    assert {row[0] for row in _rows(changed, known_at="2025-02-28")} == {"01", "02"}
    assert _rows(changed, known_at="2024-12-31") == []


def test_each_change_names_the_file_that_says_so(changed):
    with duckdb.connect(str(changed.warehouse), read_only=True) as connection:
        manifests = [
            row[0]
            for row in connection.execute(
                "select manifest_id from attest.collections where project_name = 'shop' order by generated_at"
            ).fetchall()
        ]
    found = Warehouse(changed.warehouse).history("metric.b").changes
    assert {(change.known_from.month, change.artifact_id) for change in found} == {
        (1, manifests[0]),
        (2, manifests[1]),
        (4, manifests[3]),
        (5, manifests[4]),
    }
    assert {(change.artifact_kind, change.file) for change in found} == {("manifest", "models/metrics.yml")}


def test_in_text(changed, attest):
    ran = attest(changed.folder, "timeline", "metric.b", "--history")
    assert ran.code == 0
    assert "Revenue (metric.b): what was asserted, as known at 2025-05-10 09:00 UTC" in ran.output
    assert "2025-02-10 09:00 UTC  manifest " in ran.output
    assert "\n    definition: first → corrected\n" in ran.output
    assert "\n    grain: none any more; it was day\n" in ran.output
    assert "\n  v1  no longer stated\n" in ran.output
    assert "secret" not in ran.output


def test_in_json(changed, attest):
    ran = attest(changed.folder, "timeline", "metric.b", "--history", "--format", "json")
    assert (ran.code, ran.json["entity"], ran.json["outcome"]) == (0, "metric.b", "answer")
    assert ran.json["changes"][0] | {"artifact_id": "", "git_commit": ""} == {
        "environment": "prod",
        "entity": "metric.b",
        "known_from": "2025-01-10T09:00:00+00:00",
        "evidence_id": "v1",
        "change": "added",
        "attribute": None,
        "before": None,
        "after": None,
        "artifact_id": "",
        "artifact_kind": "manifest",
        "git_commit": "",
        "authored_at": None,
        "file": "models/metrics.yml",
    }


def test_what_is_hidden_is_as_unknown(changed, attest):
    for name in ("metric.h", "metric.nonsense"):
        ran = attest(changed.folder, "timeline", name, "--history")
        assert ran.code == 2
        assert ran.output.strip() == f"{name}: no history (no entity of that name is known)."


def test_what_may_not_be_seen_is_denied(world, attest):
    world.collect(MONTHS[0], {"s1": SECRET})
    ran = attest(world.folder, "timeline", "metric.b", "--history")
    assert (ran.code, ran.output.strip()) == (0, "metric.b: no history (these groups may not see it).")


def test_scope_is_no_question_here(changed, attest):
    ran = attest(changed.folder, "timeline", "metric.b", "--history", "--scope", "region=EU")
    assert ran.code == 2
    assert "--scope: expected none with --history" in ran.errors
