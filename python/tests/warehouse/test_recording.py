"""What a build appends, and what it leaves alone."""

from __future__ import annotations

import os

import duckdb
import pytest

from dbt_attest.warehouse import facts, recording
from dbt_attest.warehouse.building import build

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first"}  # fmt: skip
JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))


def _stated(world, environment="prod"):
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        return dict(
            connection.execute(
                "select evidence_id, removed_on is null from attest.recorded_assertions "
                "where environment = $environment and known_until is null",
                {"environment": environment},
            ).fetchall()
        )


def test_the_same_files_twice_add_nothing(world):
    world.collect(JANUARY, {"v1": V1})
    before = world.rows()
    again = world.collect(JANUARY, {"v1": V1})
    assert again.recorded.collection_id is None
    assert world.rows() == before


def test_a_new_manifest_that_says_the_same_adds_only_its_collection(world):
    world.collect(JANUARY, {"v1": V1})
    before = world.rows()
    again = world.collect(FEBRUARY, {"v1": V1})
    assert (again.recorded.changed, again.recorded.no_longer_stated) == (0, 0)
    assert world.rows() == before | {
        "collections": before["collections"] + 1,
        "artifacts": before["artifacts"] + 1,
    }


def test_what_a_new_manifest_says_again_is_not_compared(world, monkeypatch):
    compared = []

    def compare(connection, schema, history, *rest):
        compared.append(history.table)
        return append_changes(connection, schema, history, *rest)

    append_changes = facts.append_changes
    monkeypatch.setattr(facts, "append_changes", compare)
    world.collect(JANUARY, {"v1": V1})
    assert "assertions" in compared
    compared.clear()
    assert world.collect(FEBRUARY, {"v1": V1}).recorded.changed == 0
    assert compared == []
    assert world.collect(MARCH, {"v1": V1 | {"permissions": ["finance"]}}).recorded.changed == 1
    assert compared == ["assertions"]


def test_recorded_rows_are_never_changed(world):
    world.collect(JANUARY, {"v1": V1})
    world.collect(FEBRUARY, {})
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        early = connection.execute("from attest.assertions").fetchall()
    world.collect("2025-01-20T09:00:00Z", {"v1": V1 | {"definition": "late"}})
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        late = connection.execute("from attest.assertions").fetchall()
    assert [row for row in late if row in early] == early
    assert len(late) == len(early) + 1


def test_a_disabled_node_is_not_removed(world):
    world.collect(JANUARY, {"v1": V1, "w1": V1 | {"evidence_id": "w1"}})
    world.collect(FEBRUARY, {}, disabled=["v1"])
    assert _stated(world) == {"v1": True, "w1": False}


def test_a_late_manifest_does_not_remove_what_is_disabled_later(world):
    world.collect(FEBRUARY, {}, disabled=["v1"])
    world.collect(JANUARY, {"v1": V1, "w1": V1 | {"evidence_id": "w1"}})
    assert _stated(world) == {"v1": True, "w1": False}


def test_another_project_removes_nothing(world):
    world.collect(JANUARY, {"v1": V1})
    world.collect(FEBRUARY, {}, project="marketing")
    assert _stated(world) == {"v1": True}


def test_another_environment_removes_nothing(world):
    world.collect(JANUARY, {"v1": V1})
    world.collect(FEBRUARY, {}, environment="feature-x")
    assert _stated(world) == {"v1": True}
    assert _stated(world, "feature-x") == {}


def test_a_copy_of_another_package_is_not_removed_by_its_guest(world):
    world.collect(JANUARY, {"finance:v1": V1})
    world.collect(FEBRUARY, {})
    assert _stated(world) == {"v1": True}


def test_a_late_manifest_of_a_guest_removes_nothing_of_another_package(world):
    world.collect(FEBRUARY, {})
    world.collect(JANUARY, {"finance:v1": V1})
    assert _stated(world) == {"v1": True}


def test_findings_are_recorded_with_their_collection(world):
    built = world.collect(
        JANUARY, {"v1": V1}, attest_yml="rules: [{path: no/such/**, permissions: [everyone]}]"
    )
    assert len(built.findings) == 1
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        rows = connection.execute(
            "select finding.file, finding.json_path, collection.collection_id = $id "
            "from attest.reader_findings as finding "
            "join attest.collections as collection using (collection_id) "
            "where collection.environment = 'prod'",
            {"id": built.recorded.collection_id},
        ).fetchall()
    assert rows == [("attest.yml", "rules[0].path", True)]


@pytest.mark.parametrize("step", ["_append_names", "append", "append_history"])
def test_all_or_nothing(world, monkeypatch, step):
    world.collect(JANUARY, {"v1": V1})
    before = world.rows()
    real, calls = getattr(recording, step), []

    def fail_the_second_time(*arguments, **named):
        calls.append(1)
        if step != "append" or len(calls) == 2:
            raise RuntimeError("the plug was pulled")
        return real(*arguments, **named)

    monkeypatch.setattr(recording, step, fail_the_second_time)
    with pytest.raises(RuntimeError):
        world.collect(FEBRUARY, {"v1": V1 | {"definition": "changed"}})
    monkeypatch.undo()
    assert world.rows() == before
    assert world.collect(FEBRUARY, {"v1": V1 | {"definition": "changed"}}).recorded.changed == 1


def test_all_or_nothing_in_one_connection(world, monkeypatch, make_manifest, make_project):
    """In a project's own file there is no copy to throw away: the transaction has to do it."""
    manifest = make_manifest(JANUARY, {"v1": V1}, own_file="own.duckdb")
    make_project(world.folder, manifest, "warehouse: own.duckdb\n")
    duckdb.connect(str(world.folder / "own.duckdb")).close()

    def fail(*_):
        raise RuntimeError("the plug was pulled")

    monkeypatch.setattr(recording, "held_by", fail)  # everything is inserted by then
    with pytest.raises(RuntimeError):
        build(world.folder)
    monkeypatch.undo()
    with duckdb.connect(str(world.folder / "own.duckdb")) as connection:
        counts = [connection.execute(f"select count(*) from main_attest.{table}").fetchall() for table in
                  ("assertions", "collections", "artifacts", "names")]  # fmt: skip
    assert counts == [[(0,)]] * 4
    assert build(world.folder).recorded.changed == 1


def test_a_text_with_everything_awkward_comes_back_as_it_was(world):
    text = "O'Brien's \"net\" — 純額\n\ttab \\ back, {{ jinja }} 🙂 $1 \u202e"
    world.collect(JANUARY, {"v1": V1 | {"definition": text}})
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        assert connection.execute("select definition from attest.assertions where stated").fetchall() == [
            (text,)
        ]


def test_a_document_removed_beside_the_same_manifest_is_no_longer_stated(world):
    """It can be younger than the manifest, or of its instant with a hash on either side of its own."""
    for number in range(4):
        document = world.folder / "docs" / f"note_{number}.md"
        document.parent.mkdir(exist_ok=True)
        document.write_text(f"---\nentity_id: note.{number}\n---\ntext {number}", encoding="utf-8")
        if number % 2:
            os.utime(document, (0, 0))
    world.collect("2024-01-01T00:00:00Z", {}, attest_yml="documents: ['docs/*.md']")
    for document in world.folder.glob("docs/*.md"):
        document.unlink()
    assert world.collect("2024-01-01T00:00:00Z", {}).recorded.no_longer_stated == 4
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        still_stated = connection.execute(
            "select count(*) from attest.recorded_assertions where environment = 'prod' and still_stated"
        ).fetchone()
    assert still_stated == (0,)


def test_a_document_that_moved_or_was_copied_is_recorded(world):
    """The same content elsewhere is another entity, and other rules can hold for it."""
    note = world.folder / "docs" / "note.md"
    note.parent.mkdir()
    note.write_text("a note", encoding="utf-8")
    rules = "documents: ['docs/**/*.md']\nrules: [{path: 'docs/board/**', permissions: [board]}]"
    at = "2024-01-01T00:00:00Z"
    world.collect(at, {}, attest_yml=rules)
    assert world.collect(at, {}).recorded.collection_id is None
    (note.parent / "board").mkdir()
    note.rename(note.parent / "board" / "note.md")
    moved = world.collect(at, {}).recorded
    assert (moved.changed, moved.no_longer_stated) == (1, 1)
    (note.parent / "copy.md").write_text("a note", encoding="utf-8")
    assert world.collect(at, {}).recorded.changed == 1
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        seen = connection.execute(
            "select entity_id, groups from attest.recorded_assertions "
            "where environment = 'prod' and still_stated order by entity_id"
        ).fetchall()
    assert seen == [("document.docs.board.note", ["board"]), ("document.docs.copy", [])]
