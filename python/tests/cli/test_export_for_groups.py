"""`attest export --for-groups`: a warehouse to hand to others, with what they may see and nothing else."""

from __future__ import annotations

import duckdb
import pytest

from dbt_attest import Requester, open

RESTRICTED = ["secret", "verborgen", "grp_other"]
V1 = {"entity_id": "metric.b", "authority": "authoritative", "permissions": ["grp_own"], "owner": "visible owner",
      "effective_from": "2024-01-01", "definition": "visible words"}  # fmt: skip
SECRET = {
    "entity_id": "metric.b", "authority": "authoritative", "permissions": ["grp_other"], "aliases": ["secret alias"],
    "effective_from": "2024-07-01", "definition": "secret words", "owner": "secret owner", "grain": "secret grain",
    "title": "secret title", "approved_by": "secret approver", "supersedes": ["v1"], "models": ["secret_model"],
}  # fmt: skip
STATES = {
    "v1": V1 | {"evidence_id": "v1"},
    "secret_v2": SECRET | {"evidence_id": "secret_v2"},
    "v3": V1 | {"evidence_id": "v3", "effective_from": "2025-01-01", "supersedes": ["secret_v2"]},
    "denied": SECRET | {"evidence_id": "secret_d", "entity_id": "metric.denied", "supersedes": []},
    "verborgen": SECRET
    | {"evidence_id": "verborgen", "entity_id": "metric.verborgen", "permissions": ["grp_other_hidden"]},
}
ATTEST_YML = "policies: {grp_other_hidden: {groups: [grp_other], existence: hidden}}\n"


@pytest.fixture(scope="module")
def shared(world_in, tmp_path_factory):
    """The exported file, beside a warehouse that also holds things that are nobody's business."""
    world = world_in(tmp_path_factory.mktemp("exported"))
    world.collect("2024-01-01T09:00:00Z", {"v1": STATES["v1"]}, attest_yml=ATTEST_YML)
    world.collect("2025-02-01T09:00:00Z", STATES, attest_yml=ATTEST_YML)
    with duckdb.connect(str(world.warehouse)) as connection:
        connection.execute(
            "create schema secret_marts; create table secret_marts.secret_salaries as select 'secret row' as text;"
            "create view attest.secret_view as select text from secret_marts.secret_salaries;"
            "create view secret_marts.on_it as select * from attest.secret_view;"
            "create macro attest.secret_macro(x) as x + 1; create macro secret_rows() as table select 1 as secret;"
            "create type secret_type as enum ('secret'); create sequence secret_numbers;"
        )
    return world


@pytest.fixture(scope="module")
def out(shared):
    return shared.folder / "own.duckdb"


@pytest.fixture
def exported(shared, out, attest):
    if not out.exists():
        ran = attest(shared.folder, "export", "--for-groups", "grp_own", str(out))
        assert (ran.code, ran.output) == (0, "")
        # of metric.b the withheld version, its end of v1, and the way to it from v3; that metric.denied exists
        assert ran.sentence == f"{out}: 2 definitions of 1 entities, 4 masks"
    return out


def everything_in(path):
    """All that a DuckDB file holds, as text: a string may be compressed in its bytes."""
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute("select schema_name, table_name from duckdb_tables()").fetchall()
        held = [connection.execute(f'from "{schema}"."{table}"').fetchall() for schema, table in tables]
        held += [
            connection.execute(f"from {listed} where not internal").fetchall()
            for listed in (
                "duckdb_tables()",
                "duckdb_views()",
                "duckdb_functions()",
                "duckdb_types()",
                "duckdb_schemas()",
            )
        ]
        held.append(connection.execute("from duckdb_sequences()").fetchall())
        return repr(held).replace(str(path), "")


def test_nothing_restricted_in_the_bytes(exported):
    held = exported.read_bytes().replace(str(exported).encode(), b"") + everything_in(exported).encode()
    assert b"visible words" in exported.read_bytes()
    assert b"metric.denied" in held
    for text in RESTRICTED:
        assert text.encode() not in held


@pytest.mark.parametrize("name", ["metric.b", "metric.denied", "metric.verborgen", "secret alias", "b"])
@pytest.mark.parametrize("on", ["2024-03-01", "2024-08-01", "2025-03-01"])
def test_it_answers_as_the_full_one(shared, exported, name, on):
    here, there = (
        open(path)
        .resolve(name, on=on, requester=Requester(["grp_own"]), support=True, explain=True)
        .as_json()
        for path in (shared.warehouse, exported)
    )
    assert here == there


# what is withheld beside, behind and around what is seen, each in an entity of its own
SEEN = {"authority": "authoritative", "permissions": ["grp_own"], "effective_from": "2024-01-01"}
HIDDEN = {"permissions": ["grp_other_hidden"]}
AROUND = {
    "metric.two_groups": {"two_groups": {"permissions": ["grp_own", "grp_other"]}},
    "metric.beside": {"beside": {}, "secret_beside": SECRET | {"supersedes": []}},
    "metric.uncovered": {
        "uncovered": {"effective_to": "2024-04-30"},
        "verborgen_uncovered": SECRET | HIDDEN | {"supersedes": []},
    },
    "metric.circle": {
        "circle": {"effective_to": "2024-04-30"},
        "secret_one": SECRET | {"supersedes": ["secret_other"]},
        "secret_other": SECRET | {"supersedes": ["secret_one"]},
    },
    "metric.elsewhere": {"elsewhere": {"superseded_by": ["verborgen_end"]}},
    "metric.verborgen": {"verborgen_end": SECRET | HIDDEN | {"supersedes": []}},
    "metric.supersedes": {"earlier": {}, "later": {"effective_from": "2024-07-01"}},
    "metric.superseded_by": {
        "first": {"effective_from": "2023-01-01", "effective_to": "2023-12-31"},
        "before": {},
        "after": {"effective_from": "2024-07-01"},
    },
}  # fmt: skip
# of two of these evidence_ids another project states another entity, and that one follows the other
AROUND_ELSEWHERE = {
    "metric.verborgen_later": {"later": SECRET | HIDDEN | {"effective_from": "2024-09-01", "supersedes": ["earlier"]}},
    "metric.verborgen_before": {
        "before": SECRET | HIDDEN | {"supersedes": ["first"], "superseded_by": ["after"]},
    },
}  # fmt: skip


def test_what_is_withheld_around_what_is_seen(world, attest):
    for project, stated in (("shop", AROUND), ("elsewhere", AROUND_ELSEWHERE)):
        said = [
            SEEN | said | {"entity_id": entity_id, "evidence_id": evidence_id}
            for entity_id, definitions in stated.items()
            for evidence_id, said in definitions.items()
        ]
        annotations = {f"n{number}": one for number, one in enumerate(said)}
        world.collect("2025-02-01T09:00:00Z", annotations, attest_yml=ATTEST_YML, project=project)
    out = world.folder / "own.duckdb"
    assert attest(world.folder, "export", "--for-groups", "grp_own", str(out)).code == 0
    held = everything_in(out)
    assert not [text for text in RESTRICTED if text in held]
    with duckdb.connect(str(out), read_only=True) as connection:
        links = connection.execute(
            "select links_elsewhere from attest.assertions where evidence_id = 'elsewhere'"
        )
        assert links.fetchall() == [(False,)]
    for entity_id in AROUND:
        full, exported = (
            open(path)
            .resolve(entity_id, on="2024-08-01", requester=Requester(["grp_own"]), explain=True)
            .as_json()
            for path in (world.warehouse, out)
        )
        assert full == exported


def test_who_is_in_no_group_sees_nothing(exported, attest):
    ran = attest(exported.parent, "resolve", "metric.b", "--warehouse", str(exported), "--format", "json")
    assert (ran.json["outcome"], ran.json["reason"]) == ("deny", "not_permitted")


def test_a_folder_of_parquet_files(shared, attest):
    folder = shared.folder / "own"
    for _ in range(2):
        assert (
            attest(shared.folder, "export", "--for-groups", "grp_own", "own", "--format", "parquet").code == 0
        )
    read = "select evidence_id, definition from read_parquet($file) where definition is not null"
    found = duckdb.execute(read, {"file": str(folder / "assertions.parquet")}).fetchall()
    assert sorted(set(found)) == [("v1", "visible words"), ("v3", "visible words")]
    for file in folder.iterdir():
        rows = repr(duckdb.execute("from read_parquet($file)", {"file": str(file)}).fetchall())
        held = file.read_bytes() + rows.encode()
        assert not [text for text in RESTRICTED if text.encode() in held]
    (folder / "mine.txt").write_text("something")
    ran = attest(shared.folder, "export", "--for-groups", "grp_own", "own", "--format", "parquet")
    assert (ran.code, (folder / "mine.txt").read_text()) == (2, "something")


def test_an_export_is_replaced_and_nothing_else(shared, exported, attest):
    before = exported.read_bytes()
    assert attest(shared.folder, "export", "--for-groups", "grp_own", str(exported)).code == 0
    assert exported.read_bytes() != before
    for name, content in (("other.duckdb", b"mine"), ("empty.duckdb", b"")):
        other = shared.folder / name
        other.write_bytes(content)
        ran = attest(shared.folder, "export", "--for-groups", "grp_own", name)
        assert (ran.code, other.read_bytes()) == (2, content)
        assert "found something else" in ran.sentence
    ran = attest(shared.folder, "export", "--for-groups", "grp_own", "evidence.duckdb")
    assert (ran.code, "found something else" in ran.sentence) == (2, True)
    assert not list(shared.folder.glob(".own*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected a file to write to, found none"),
        (["out.csv"], "expected a file name that ends in .duckdb"),
        (["out.duckdb", "--format", "csv"], "expected parquet or none"),
        (["out.duckdb", "--known-at", "2025-01-01"], "--known-at: expected none with --for-groups"),
        (["out.duckdb", "--groups", "x"], "--groups: expected none with --for-groups"),
        (["nowhere/out.duckdb"], "expected an existing folder around it"),
    ],
)
def test_what_is_not_understood(shared, attest, words, said):
    ran = attest(shared.folder, "export", "--for-groups", "grp_own", *words)
    assert ran.code == 2
    assert said in " ".join(ran.errors.split())
