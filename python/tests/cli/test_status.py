"""`attest status`: counts, age, and exit code 1 where something needs a person."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import duckdb
import pytest

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["readers"],
      "effective_from": "2024-01-01", "definition": "the secret text"}  # fmt: skip


def _ago(**duration):
    return (datetime.now(timezone.utc) - timedelta(**duration)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def collected(world):
    undated = V1 | {"evidence_id": "undated", "effective_from": None}
    world.collect(_ago(days=4), {"v1": V1, "gone": V1 | {"evidence_id": "gone"}})
    world.collect(_ago(days=3), {"v1": V1, "undated": undated, "plain": {}})
    return world


def test_counts_by_project_and_environment(collected, attest):
    collected.collect(_ago(hours=1), {"v1": V1}, environment="feature-x")
    ran = attest(collected.folder, "status", "--format", "json")
    assert ran.code == 0
    found = {(one["project_name"], one["environment"]): one for one in ran.json["projects"]}
    assert list(found) == [("elsewhere", "elsewhere"), ("shop", "feature-x"), ("shop", "prod")]
    counts = ("collections", "stated", "governed", "unclassified", "removed", "held", "findings", "stale")
    assert [found["shop", "prod"][count] for count in counts] == [2, 3, 1, 1, 1, 0, 0, False]
    assert [found["shop", "feature-x"][count] for count in counts] == [1, 1, 1, 0, 0, 0, 0, False]
    assert found["shop", "prod"]["max_age"] is None
    assert 0 <= found["shop", "prod"]["age"] - 3 * 86400 < 120
    assert found["shop", "prod"]["collected_at"].endswith("+00:00")


def test_one_environment(collected, attest):
    ran = attest(collected.folder, "status", "--environment", "prod", "--format", "json")
    assert [(one["project_name"], one["environment"]) for one in ran.json["projects"]] == [("shop", "prod")]


def test_the_table_names_no_entity(collected, attest):
    ran = attest(collected.folder, "status")
    assert ran.code == 0
    (line,) = [line for line in ran.output.splitlines() if "shop" in line and "prod" in line]
    assert [cell.strip() for cell in line.strip("| ").split("|")][4:] == [
        "3d",
        "any",
        "3",
        "1",
        "1",
        "1",
        "0",
        "0",
    ]
    assert "metric.b" not in ran.output
    assert "Nothing needs a person." in ran.output


def test_a_stale_collection_needs_a_person(collected, attest):
    collected.collect(_ago(days=2), {"v1": V1}, attest_yml="collection: {max_age: 12h}\n")
    ran = attest(collected.folder, "status")
    assert ran.code == 1
    assert "48h (stale)" in ran.output or "2d (stale)" in ran.output
    assert "run `dbt parse` and `attest build`" in ran.output
    ran = attest(collected.folder, "status", "--format", "json")
    assert (ran.code, ran.json["needs_a_person"]) == (1, True)


def test_missing_resolvers_need_a_person(tmp_path, attest, make_project, make_manifest):
    duckdb.connect(str(tmp_path / "own.duckdb")).close()
    make_project(
        tmp_path, make_manifest(_ago(days=1), {"v1": V1}, own_file="own.duckdb"), "warehouse: own.duckdb\n"
    )
    assert attest(tmp_path, "build").code == 0
    ran = attest(tmp_path, "status")
    assert ran.code == 1
    assert "run `dbt build`" in ran.output
    ran = attest(tmp_path, "status", "--format", "json")
    assert (ran.json["resolvers"], ran.json["projects"][0]["stated"]) == (False, None)


def test_nothing_collected_needs_a_person(world, attest):
    ran = attest(world.folder, "status", "--warehouse", str(world.warehouse), "--environment", "prod")
    assert ran.code == 1
    assert "run `attest build`" in ran.output


def test_held_removals_need_a_person_until_they_are_allowed(world, attest, make_project, make_manifest):
    def states(first):
        return {
            f"d{number}": V1 | {"evidence_id": f"d{number}", "entity_id": f"metric.d{number}"}
            for number in range(first, 20)
        }

    world.collect(_ago(days=4), states(0))
    make_project(world.folder, make_manifest(_ago(days=3), states(10)))
    for _ in range(2):
        ran = attest(world.folder, "build")
        assert ran.code == 1
        assert "--allow-removals" in ran.output
    ran = attest(world.folder, "status", "--format", "json")
    assert (ran.code, ran.json["needs_a_person"]) == (1, True)
    found = {one["environment"]: one["held"] for one in ran.json["projects"]}
    assert found == {"elsewhere": 0, "prod": 10}
    ran = attest(world.folder, "status")
    assert ran.code == 1
    assert "shop (prod) holds 10 removals" in ran.output
    assert "metric.d" not in ran.output
    ran = attest(world.folder, "build", "--allow-removals")
    assert ran.code == 0, ran.output
    assert "10 no longer stated" in ran.output
    assert attest(world.folder, "status", "--environment", "prod").code == 0
