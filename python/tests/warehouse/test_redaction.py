"""A redacted text is gone: from every byte of the warehouse and the archive, and whatever is read again."""

from __future__ import annotations

import gzip
import json

import duckdb
import pytest

from dbt_attest import Requester, open
from dbt_attest.warehouse.building import build, build_past
from dbt_attest.warehouse.contract import evidence_tables

JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))
SECRET = "hünter2-CANARY"
TEXT = f'Revenue.\n\nThe "password" of the\taccount is {SECRET} — don\'t tell'
V1 = {"entity_id": "metric.b", "evidence_id": "v1@eu", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": TEXT, "title": "Revenue"}  # fmt: skip
OTHER = V1 | {"entity_id": "metric.c", "evidence_id": "c1", "definition": "words that stay"}
ATTEST_YML = "archive: .attest/artifacts\ndocuments: ['docs/*.md']\n"
NOTE = (
    '---\nentity_id: wiki.b\npermissions: [everyone]\ndefinition: >\n  Revenue. The "password" of the account is\n'
    f"  {SECRET} — don't tell\n---\nbody\n"
)


@pytest.fixture
def leaked(world):
    """Two collections, of which the second corrects the text, and one of another environment."""
    with duckdb.connect(str(world.warehouse)) as connection:
        connection.execute("delete from attest.collections")  # of the empty warehouse, which has no archive
    (world.folder / "docs").mkdir()
    (world.folder / "docs" / "note.md").write_text(NOTE, encoding="utf-8")
    world.collect(JANUARY, {"b": V1, "c": OTHER}, attest_yml=ATTEST_YML)
    world.collect(MARCH, {"b": V1 | {"definition": "corrected words"}, "c": OTHER}, attest_yml=ATTEST_YML)
    world.collect(FEBRUARY, {"b": V1}, environment="branch", attest_yml=ATTEST_YML)
    return world


def _rows(warehouse):
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        return {
            table: str(connection.execute(f"from attest.{table}").fetchall()) for table in evidence_tables()
        }


def _where_it_is(world):
    """The files and tables that still have a part of the secret."""
    archive = world.folder / ".attest" / "artifacts"
    contents = {path.name: gzip.decompress(path.read_bytes()) for path in archive.rglob("*.gz")}
    contents |= {path.name: path.read_bytes() for path in archive.rglob("*.json*")}
    contents |= {path.name: path.read_bytes() for path in world.folder.glob("*evidence*") if path.is_file()}
    found = {name for name, content in contents.items() if b"CANARY" in content or b"nter2" in content}
    return found | {table for table, rows in _rows(world.warehouse).items() if "CANARY" in rows}


def _redact(world, attest, *words, named="v1@eu", why="leaked in January"):
    return attest(world.folder, "build", "--redact", named, "--why", why, *words)


def test_it_is_gone_and_stays_gone(leaked, attest, tmp_path):
    assert _where_it_is(leaked)
    before = open(leaked.warehouse).resolve("metric.b", on="2024-06-01", known_at=JANUARY)
    assert before.definition == TEXT
    ran = _redact(leaked, attest)
    assert ran.code == 0, ran.errors
    assert _where_it_is(leaked) == set()

    # what is not the text stays
    now = open(leaked.warehouse).resolve("metric.b", on="2024-06-01", known_at=JANUARY)
    assert now.definition.startswith("redacted ")
    assert (now.valid_from, now.title, now.recorded_at) == (
        before.valid_from,
        before.title,
        before.recorded_at,
    )
    assert (
        open(leaked.warehouse).resolve("metric.b").definition.startswith("redacted ")
    )  # every version of it
    assert open(leaked.warehouse).resolve("metric.c").definition == "words that stay"
    assert open(leaked.warehouse).resolve("wiki.b", requester=Requester()).reason == "no_authority"
    with duckdb.connect(str(leaked.warehouse), read_only=True) as connection:
        rows = connection.execute("select text_hash, why, redacted_at from attest.redactions").fetchall()
    assert {(why, at is not None) for _, why, at in rows} == {("leaked in January", True)}
    assert now.definition.split()[1] in {text_hash[:12] for text_hash, _, _ in rows}

    # the same files, and new ones that still have it
    counts = leaked.rows()
    for at in (FEBRUARY, "2025-04-10T09:00:00Z"):
        leaked.collect(at, {"b": V1}, environment="branch", attest_yml=ATTEST_YML)
        assert _where_it_is(leaked) == set()
    assert leaked.rows()["assertions"] == counts["assertions"]

    # rebuilt, and from the archive into a new file
    assert attest(leaked.folder, "verify", "--rebuild").code == 0
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "dbt_project.yml").write_text("name: shop\n")
    build_past(tmp_path / "new", [leaked.folder / ".attest" / "artifacts"])
    rebuilt = tmp_path / "new" / "evidence.duckdb"
    assert b"CANARY" not in rebuilt.read_bytes()
    assert "leaked in January" in _rows(rebuilt)["redactions"]


def test_one_version_alone(leaked, attest):
    versions = open(leaked.warehouse)
    first = versions.resolve("metric.b", known_at=JANUARY).content_hash
    assert _redact(leaked, attest, named=f"v1@eu@{first[:10]}").code == 0
    assert versions.resolve("metric.b").definition == "corrected words"
    assert _where_it_is(leaked) == set()


def test_in_a_projects_own_file(tmp_path, attest, make_project, make_manifest):
    with duckdb.connect(str(tmp_path / "own.duckdb")) as connection:
        connection.execute(
            "create table facts as select 1 as amount; create view twice as select amount * 2 as t from facts"
        )
    manifest = make_manifest(JANUARY, {"b": V1}, own_file="own.duckdb")
    make_project(tmp_path, manifest, "warehouse: own.duckdb\narchive: kept\n")
    build(tmp_path)
    assert b"CANARY" in (tmp_path / "own.duckdb").read_bytes()
    ran = attest(tmp_path, "build", "--redact", "v1@eu", "--why", "leaked")
    assert ran.code == 0, ran.errors
    assert b"CANARY" not in (tmp_path / "own.duckdb").read_bytes()
    with duckdb.connect(str(tmp_path / "own.duckdb"), read_only=True) as connection:
        assert connection.execute("from twice").fetchall() == [(2,)]
        assert connection.execute("select count(*) from main_attest.redactions").fetchall() == [(1,)]


WRONG = {
    "unknown": ({"named": "nothing"}, "expected a definition with a text, found none"),
    "another version": ({"named": "c1@abcdef"}, "expected a definition with a text, found none"),
    "the text as reason": ({"why": TEXT}, "which would stay"),
    "no reason": ({"why": ""}, "expected both or none"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG)
def test_what_is_not_understood(leaked, attest, words, said):
    ran = _redact(leaked, attest, **words)
    assert ran.code == 2
    assert said in ran.errors
    assert SECRET in _rows(leaked.warehouse)["assertions"]


def test_an_archive_that_lacks_a_collection(leaked, attest):
    collections = leaked.folder / ".attest" / "artifacts" / "collections"
    next(collections.glob("*.json")).unlink()
    ran = _redact(leaked, attest)
    assert (ran.code, "found 1 of 3 missing" in ran.sentence) == (2, True)
    assert SECRET in _rows(leaked.warehouse)["assertions"]
    (leaked.folder / "attest.yml").write_text("documents: ['docs/*.md']\n")
    assert "expected an archive" in _redact(leaked, attest).sentence


def test_twice(leaked, attest):
    assert _redact(leaked, attest, named="c1").code == 0
    ran = _redact(leaked, attest, named="c1")
    assert (ran.code, "redacted already" in ran.sentence) == (2, True)
    assert json.loads((leaked.folder / ".attest" / "artifacts" / "redactions.jsonl").read_text())["why"]
