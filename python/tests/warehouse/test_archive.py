"""The archive keeps every file of every collection once, and the warehouse can be made again from it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil

import duckdb
import pytest

from dbt_attest.errors import InputError
from dbt_attest.warehouse.building import build, build_past

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first"}  # fmt: skip
V2 = V1 | {"evidence_id": "v2", "effective_from": "2024-07-01", "supersedes": ["v1"], "definition": "second"}
JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))
ATTEST_YML = "archive: .attest/artifacts\ndocuments: ['docs/*.md']\n"


@pytest.fixture
def archived(world):
    """Three collections with a document and two states of attest.yml; one is of another environment."""
    document = world.folder / "docs" / "note.md"
    document.parent.mkdir()
    document.write_text("---\nentity_id: wiki.b\n---\nhow it was\n", encoding="utf-8")
    os.utime(document, (1_700_000_000.25, 1_700_000_000.25))
    world.collect(JANUARY, {"v1": V1}, attest_yml=ATTEST_YML)
    document.write_text("---\nentity_id: wiki.b\n---\nhow it is\n", encoding="utf-8")
    rules = ATTEST_YML + "rules: [{path: 'models/**', owner: finance}]\n"
    world.collect(MARCH, {"v1": V1, "v2": V2}, attest_yml=rules)
    world.collect(FEBRUARY, {"v1": V1 | {"definition": "late"}}, environment="branch")
    return world


def _archive(world):
    return world.folder / ".attest" / "artifacts"


def _collections(world):
    """In the order of recording: their names say it to the second, and all may be of one."""
    paths = (_archive(world) / "collections").glob("*.json")
    return sorted(paths, key=lambda path: json.loads(path.read_text(encoding="utf-8"))["ingested_at"])


def _files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _known(warehouse):
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        return sorted(
            connection.execute("from attest.recorded_assertions where project_name = 'shop'").fetchall(),
            key=repr,
        )


def _rebuilt(world, folders, name="rebuilt"):
    """A warehouse made from these folders, in a project that has nothing else."""
    project = world.folder.parent / f"{world.folder.name}-{name}"
    project.mkdir()
    (project / "dbt_project.yml").write_text("name: shop\n", encoding="utf-8")
    warehouse = project / "evidence.duckdb"
    shutil.copyfile(world.pristine, warehouse)
    return build_past(project, folders)[1], warehouse


@pytest.fixture(autouse=True)
def _pristine(world, empty_warehouse):
    world.pristine = empty_warehouse


def test_every_file_is_kept_once_by_its_hash(archived):
    kept = {path for path in _files(_archive(archived)) if path.startswith("files/")}
    # three manifests, two states of attest.yml, two of the document
    assert len(kept) == 7
    for path in kept:
        content = gzip.decompress((_archive(archived) / path).read_bytes())
        digest = hashlib.sha256(content).hexdigest()
        assert path == f"files/{digest[:2]}/{digest}.gz"
    assert len([path for path in _files(_archive(archived)) if path.startswith("collections/")]) == 3


def test_a_collection_says_what_it_read_where_and_when(archived):
    path = _collections(archived)[0]
    said = json.loads(path.read_text(encoding="utf-8"))
    assert (said["project_name"], said["environment"], said["generated_at"]) == ("shop", "prod", JANUARY)
    files = {file["kind"]: file for file in said["files"]}
    assert (files["manifest"]["path"], files["attest_yml"]["path"]) == ("target/manifest.json", "attest.yml")
    assert files["document"]["path"] == "docs/note.md"
    assert files["document"]["generated_at"] == "2023-11-14T22:13:20.250000Z"


def test_the_archive_is_never_rewritten(archived):
    before = {path: (_archive(archived) / path).stat().st_mtime_ns for path in _files(_archive(archived))}
    build(archived.folder, environment="branch")
    after = {path: (_archive(archived) / path).stat().st_mtime_ns for path in _files(_archive(archived))}
    assert after == before


def test_without_the_key_nothing_is_archived(world):
    world.collect(JANUARY, {"v1": V1})
    assert not (world.folder / ".attest").exists()


def test_a_rebuilt_warehouse_knows_the_same(archived):
    done, warehouse = _rebuilt(archived, [_archive(archived)])
    assert (done.recorded, done.unchanged, done.skipped) == (3, 0, [])
    assert _known(warehouse) == _known(archived.warehouse)


def test_the_archive_of_the_project_is_the_default(archived):
    before = archived.rows()
    _, done = build_past(archived.folder, [])
    assert (done.recorded, done.unchanged, done.skipped) == (0, 3, [])
    assert archived.rows() == before


def test_parts_of_an_archive_in_any_order_give_the_same(archived):
    paths = _collections(archived)
    parts = []
    for number in (2, 0, 1):
        part = archived.folder.parent / f"{archived.folder.name}-part{number}"
        (part / "collections").mkdir(parents=True)
        shutil.copytree(_archive(archived) / "files", part / "files")
        shutil.copy(paths[number], part / "collections")
        parts.append(part)
    project = archived.folder.parent / f"{archived.folder.name}-parts"
    project.mkdir()
    shutil.copyfile(archived.pristine, project / "evidence.duckdb")
    for part in [*parts, parts[0]]:
        build_past(project, [part])
    assert _known(project / "evidence.duckdb") == _known(archived.warehouse)


def test_what_is_replayed_is_archived_again(archived):
    """So that the new project can be rebuilt from its own archive."""
    project = archived.folder.parent / f"{archived.folder.name}-moved"
    project.mkdir()
    (project / "attest.yml").write_text("archive: kept\n", encoding="utf-8")
    shutil.copyfile(archived.pristine, project / "evidence.duckdb")
    build_past(project, [_archive(archived)])
    assert _files(project / "kept") == _files(_archive(archived))


def test_broken_collections_are_skipped_and_named(archived):
    paths = _collections(archived)
    paths[0].write_text('{"archive_version": 1', encoding="utf-8")
    said = json.loads(paths[1].read_text(encoding="utf-8"))
    document = next(file["artifact_id"] for file in said["files"] if file["kind"] == "document")
    (_archive(archived) / "files" / document[:2] / f"{document}.gz").write_bytes(b"\x1f\x8b nonsense")
    done, _ = _rebuilt(archived, [_archive(archived)])
    assert done.recorded == 0
    reasons = sorted(one.reason for one in done.skipped)
    # the branch was collected with the same document
    assert len(reasons) == 3
    assert "expected a collection of an archive" in "".join(reasons)
    assert "expected docs/note.md as it was read" in "".join(reasons)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "found no such file"),
        (lambda path: path.write_bytes(gzip.compress(b"{}")), "found other content"),
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "cannot be unpacked"),
    ],
)
def test_a_damaged_file(world, damage, said):
    world.collect(JANUARY, {"v1": V1}, attest_yml=ATTEST_YML)
    manifest = hashlib.sha256((world.folder / "target" / "manifest.json").read_bytes()).hexdigest()
    damage(_archive(world) / "files" / manifest[:2] / f"{manifest}.gz")
    done, _ = _rebuilt(world, [_archive(world)])
    (skipped,) = done.skipped
    assert said in skipped.reason
    assert skipped.name.startswith("shop (prod) of 2025-01-10")


def test_a_path_that_leads_out_of_the_project_is_refused(world):
    world.collect(JANUARY, {"v1": V1}, attest_yml=ATTEST_YML)
    (path,) = (_archive(world) / "collections").glob("*.json")
    path.write_text(path.read_text(encoding="utf-8").replace('"attest.yml"', '"../attest.yml"'), "utf-8")
    done, _ = _rebuilt(world, [_archive(world)])
    assert "leads out of it" in done.skipped[0].reason


def test_an_archive_of_a_newer_release_is_refused(world):
    world.collect(JANUARY, {"v1": V1}, attest_yml=ATTEST_YML)
    (path,) = (_archive(world) / "collections").glob("*.json")
    path.write_text(
        path.read_text(encoding="utf-8").replace('"archive_version": 1', '"archive_version": 2'), "utf-8"
    )
    done, _ = _rebuilt(world, [_archive(world)])
    assert "install a newer dbt-attest" in done.skipped[0].reason


def test_copied_target_folders_of_any_depth(world, make_project, make_manifest):
    for number, at in enumerate((MARCH, JANUARY, FEBRUARY)):
        said = V1 | {"definition": f"as of {at}"}
        make_project(world.folder, make_manifest(at, {"v1": said}), target=f"past/{number}/deep/target")
    make_project(world.folder, make_manifest(JANUARY, {}), target="past/broken")
    (world.folder / "past" / "broken" / "manifest.json").write_text("{", encoding="utf-8")
    _, done = build_past(world.folder, [world.folder / "past", world.folder / "past" / "0"])
    assert (done.recorded, done.unchanged) == (3, 0)
    assert [one.name for one in done.skipped] == [str(world.folder / "past" / "broken")]
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        known = connection.execute(
            "select definition from attest.recorded_assertions where evidence_id = 'v1' order by known_from"
        ).fetchall()
        commits = connection.execute(
            "select distinct git_commit from attest.artifacts where project_name = 'shop'"
        ).fetchall()
    assert known == [(f"as of {at}",) for at in (JANUARY, FEBRUARY, MARCH)]
    assert commits == [(None,)]
    _, again = build_past(world.folder, [world.folder / "past"])
    assert (again.recorded, again.unchanged) == (0, 3)


@pytest.mark.parametrize(
    ("folder", "said"), [("nowhere", "found no folder"), ("empty", "found no manifest.json in it")]
)
def test_a_folder_with_nothing_to_read(world, folder, said):
    (world.folder / "empty").mkdir()
    with pytest.raises(InputError, match=said):
        build_past(world.folder, [world.folder / folder])


def test_no_folder_and_no_archive(world):
    with pytest.raises(InputError, match="key `archive`"):
        build_past(world.folder, [])


def test_a_file_that_changes_while_it_is_read_is_not_recorded(world, monkeypatch):
    from dbt_attest.warehouse import redactions

    world.collect(JANUARY, {"v1": V1}, attest_yml=ATTEST_YML)
    before = world.rows()
    real = redactions.read_place

    def read_and_write_over(place):
        read = real(place)
        (world.folder / "attest.yml").write_text(ATTEST_YML + "\n", encoding="utf-8")
        return read

    monkeypatch.setattr(redactions, "read_place", read_and_write_over)
    with pytest.raises(InputError, match="found it changed or gone"):
        world.collect(FEBRUARY, {"v1": V1}, attest_yml=ATTEST_YML + "# changed\n")
    assert world.rows() == before


def test_what_was_recorded_and_not_archived_is_archived_by_the_next_build(world):
    """As after a kill between the two."""
    world.collect(JANUARY, {"v1": V1}, attest_yml=ATTEST_YML)
    before = _files(_archive(world))
    shutil.rmtree(_archive(world))
    assert build(world.folder).recorded.collection_id is None
    assert _files(_archive(world)) == before


def test_in_a_projects_own_file(world, make_project, make_manifest, count_rows):
    duckdb.connect(str(world.folder / "own.duckdb")).close()
    for target, at in (("one", JANUARY), ("two", FEBRUARY)):
        manifest = make_manifest(at, {"v1": V1 | {"definition": at}}, own_file="own.duckdb")
        make_project(world.folder, manifest, "warehouse: own.duckdb\narchive: kept\n", f"past/{target}")
    make_project(world.folder, make_manifest(MARCH, {"v1": V1}, own_file="own.duckdb"))
    destination, done = build_past(world.folder, [world.folder / "past"])
    assert (destination.own, destination.schema, done.recorded) == (True, "main_attest", 2)
    assert done.resolvers_missing
    assert count_rows(world.folder / "own.duckdb", "main_attest")["collections"] == 2
    # without the present target folder, the file itself tells
    shutil.rmtree(world.folder / "target")
    destination, done = build_past(world.folder, [])
    assert (destination.schema, done.recorded, done.unchanged) == ("main_attest", 0, 2)
