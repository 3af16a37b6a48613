"""`attest build --archive` and `attest verify --rebuild` as their user sees them."""

from __future__ import annotations

import json
import shutil

import duckdb
import pytest

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first"}  # fmt: skip
JANUARY, FEBRUARY = "2025-01-10T09:00:00Z", "2025-02-10T09:00:00Z"
ATTEST_YML = "archive: kept\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory, world_in):
    """A project where everything in the warehouse is in the archive."""
    world = world_in(tmp_path_factory.mktemp("archived"))
    world.warehouse.unlink()
    world.collect(JANUARY, {"v1": V1, "w1": V1 | {"evidence_id": "w1"}}, attest_yml=ATTEST_YML)
    world.collect(FEBRUARY, {"v1": V1 | {"definition": "second"}})
    return world


@pytest.fixture
def archived(whole, world):
    """A copy of it, to damage."""
    shutil.copytree(whole.folder, world.folder, dirs_exist_ok=True)
    return world


def test_an_identical_warehouse(archived, attest):
    before = archived.warehouse.read_bytes()
    ran = attest(archived.folder, "verify", "--rebuild")
    assert (ran.code, ran.errors) == (0, "")
    assert "identical  every answer is the same" in ran.output
    assert "2 collections" in ran.output
    assert archived.warehouse.read_bytes() == before


def test_what_the_warehouse_has_and_the_archive_lacks(archived, attest):
    paths = (archived.folder / "kept" / "collections").glob("*.json")
    path = max(paths, key=lambda path: json.loads(path.read_text(encoding="utf-8"))["ingested_at"])
    path.unlink()
    ran = attest(archived.folder, "verify", "--rebuild", "--format", "json")
    assert (ran.code, ran.json["identical"], ran.json["collections"]) == (1, False, 1)
    found = {(one["what"], one["environment"]): one for one in ran.json["differences"]}
    assert found["collections", "prod"]["only_in_warehouse"] == 1
    states = found["recorded assertions", "prod"]
    assert states["only_in_warehouse"] >= 2
    assert any(example.startswith("v1 known from 2025-02-10") for example in states["examples"])


def test_an_assertion_that_somebody_changed_in_the_file(archived, attest):
    with duckdb.connect(str(archived.warehouse)) as connection:
        connection.execute("update attest.assertions set definition = 'forged' where definition = 'first'")
    ran = attest(archived.folder, "verify", "--rebuild")
    assert ran.code == 1
    # w1 keeps its last content after its removal
    assert "differs    recorded assertions (prod): 3 only in the warehouse, 3 only in the" in ran.output
    assert "v1 known from 2025-01-10" in ran.output
    assert "w1 known from 2025-01-10" in ran.output


def test_rows_that_somebody_took_away(archived, attest):
    with duckdb.connect(str(archived.warehouse)) as connection:
        connection.execute("delete from attest.names")
    ran = attest(archived.folder, "verify", "--rebuild")
    assert ran.code == 1
    assert "differs    names (prod): 0 only in the warehouse" in ran.output


def test_a_damaged_archive(archived, attest):
    shutil.rmtree(archived.folder / "kept" / "files")
    (archived.folder / "kept" / "files").mkdir()
    ran = attest(archived.folder, "verify", "--rebuild")
    assert ran.code == 1
    assert "expected target/manifest.json as it was read, found no such file" in ran.errors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verify"], "Say what to verify: a bundle, an answer with --bundle, an audit, or --rebuild"),
        (["verify", "--rebuild"], "expected the key `archive`"),
        (["verify", "--rebuild", "--archive", "docs"], "expected an archive, found none"),
        (["build", "past"], "Expected no folder without --archive"),
        (["build", "--archive", "--from-git"], "Name one of"),
        (["build", "--archive", "nowhere"], "found no folder"),
        (["build", "--from-git"], "expected a git repository"),
    ],
)
def test_what_is_not_understood(world, attest, words, said):
    world.collect(JANUARY, {"v1": V1})
    ran = attest(world.folder, *words)
    assert ran.code == 2
    assert said in ran.errors


def test_building_from_an_archive(archived, attest):
    shutil.move(archived.warehouse, archived.folder / "before.duckdb")
    ran = attest(archived.folder, "build", "--archive")
    assert (ran.code, ran.errors) == (0, "")
    assert "recorded  2 collections: 3 definitions new or changed, 1 no longer stated" in ran.output
    ran = attest(archived.folder, "build", "--archive", "kept", "kept", "--format", "json")
    assert (ran.json["recorded"], ran.json["unchanged"], ran.json["skipped"]) == (0, 2, [])
    assert attest(archived.folder, "verify", "--rebuild").code == 0


def test_a_broken_target_folder_among_others(archived, attest, make_project, make_manifest):
    for number in (1, 2, 3):
        make_project(
            archived.folder, make_manifest(f"2025-0{number + 3}-01T00:00:00Z", {}), target=f"past/{number}"
        )
    for number in (1, 3):
        (archived.folder / "past" / str(number) / "manifest.json").write_text("", encoding="utf-8")
    ran = attest(archived.folder, "build", "--archive", "past")
    assert ran.code == 1
    assert "recorded  1 collections" in ran.output
    lines = ran.errors.strip().splitlines()
    assert len(lines) == 2
    assert all(line.startswith("attest: skipped ") and "found an empty file" in line for line in lines)
    ran = attest(archived.folder, "build", "--archive", "past", "--format", "json")
    assert ran.code == 1
    assert [json.dumps(one["reason"]).count("empty file") for one in ran.json["skipped"]] == [1, 1]
