"""Whatever is wrong: one clear sentence, the right exit code, nothing recorded."""

from __future__ import annotations

import hashlib

import duckdb
import pytest

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["readers"],
      "effective_from": "2024-01-01", "definition": "first"}  # fmt: skip
JANUARY, FEBRUARY = "2025-01-10T09:00:00Z", "2025-02-10T09:00:00Z"


def _broken(folder, content):
    (folder / "target" / "manifest.json").write_bytes(content)


BROKEN_MANIFESTS = {
    "missing": (None, "no such file"),
    "empty": (b"", "an empty file"),
    "not JSON": (b"nodes: {}", "text that is not JSON"),
    "cut off": (b'{"metadata": {"generated_at": "2025', "JSON that is cut off in the middle"),
    "a list": (b"[1]", "JSON that is a list"),
    "gzip": (b"\x1f\x8b\x08rest", "a gzip file"),
    "run results": (
        b'{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json"},'
        b' "results": []}',
        "a dbt run_results.json",
    ),
    "no instant": (b'{"metadata": {}, "nodes": {}}', "generated_at"),
}


@pytest.mark.parametrize(("content", "found"), BROKEN_MANIFESTS.values(), ids=BROKEN_MANIFESTS)
@pytest.mark.parametrize("collected", [True, False], ids=["into a warehouse", "into none"])
def test_a_broken_manifest(world, attest, collected, content, found):
    world.collect(JANUARY, {"v1": V1})
    if content is None:
        (world.folder / "target" / "manifest.json").unlink()
    else:
        _broken(world.folder, content)
    before = world.rows()
    if not collected:
        world.warehouse.unlink()
    ran = attest(world.folder, "build")
    assert ran.code == 2
    assert ran.output == ""
    assert "manifest.json: expected a dbt manifest.json" in ran.sentence
    assert found in ran.sentence
    if collected:
        assert world.rows() == before
    else:
        assert not world.warehouse.exists()


BAD_ANNOTATIONS = {
    "unknown key": ({"efective_from": "2025-01-01"}, ["`efective_from`", "effective_from"]),
    "impossible date": ({"effective_from": "2025-02-30"}, ["`effective_from`", "2025-02-30"]),
    "unknown status": ({"status": "aproved"}, ["`status`", "approved", "aproved"]),
    "retired without an end": ({"status": "retired"}, ["effective_to"]),
    "recorded later than the artifact": ({"recorded_at": "2030-01-01T00:00:00Z"}, ["`recorded_at`"]),
}


@pytest.mark.parametrize(("change", "said"), BAD_ANNOTATIONS.values(), ids=BAD_ANNOTATIONS)
def test_a_bad_annotation(world, attest, make_project, make_manifest, change, said):
    world.collect(JANUARY, {"v1": V1})
    before = world.rows()
    make_project(world.folder, make_manifest(FEBRUARY, {"v1": V1 | change}))
    ran = attest(world.folder, "build")
    assert ran.code == 2
    assert [
        part for part in ["models/metrics.yml", "metric.shop.v1", *said] if part not in ran.sentence
    ] == []
    assert world.rows() == before


def test_all_problems_at_once(world, attest, make_project, make_manifest):
    bad = {
        "v1": V1 | {"efective_from": "2025-01-01", "effective_to": "2025-13-01"},
        "v2": V1 | {"evidence_id": "v2", "aliases": 5},
    }
    make_project(world.folder, make_manifest(FEBRUARY, bad), "environmnt: prod\n")
    before = world.rows()
    ran = attest(world.folder, "build")
    assert ran.code == 2
    assert "environmnt" in ran.errors
    (world.folder / "attest.yml").write_text("environment: prod\n", encoding="utf-8")
    ran = attest(world.folder, "build")
    assert ran.code == 2
    assert len(ran.errors.strip().splitlines()) == 3
    assert [key for key in ("efective_from", "2025-13-01", "`aliases`") if key not in ran.errors] == []
    assert world.rows() == before


def test_a_build_outside_of_a_project(attest, tmp_path):
    ran = attest(tmp_path, "build")
    assert ran.code == 2
    assert "dbt_project.yml" in ran.sentence
    assert list(tmp_path.iterdir()) == []


UNREADABLE = {
    "text": ("expected a DuckDB file", lambda path: path.write_text("no database")),
    "a folder": ("found a folder", lambda path: path.mkdir()),
    "another DuckDB file": (
        "another DuckDB file",
        lambda path: _database(path, "create table t as select 1 as a"),
    ),
    "a newer contract": (
        "version 99",
        lambda path: _database(
            path,
            "create schema attest; "
            "create table attest.contract_versions as select 99 as version, now() as applied_at",
        ),
    ),
}


def _database(path, sql):
    with duckdb.connect(str(path)) as connection:
        connection.execute(sql)


def _content(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else sorted(path.iterdir())


@pytest.mark.parametrize(("said", "make"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("own", [False, True], ids=["stand-alone", "in the project"])
def test_a_build_into_an_unreadable_warehouse(tmp_path, attest, make_project, make_manifest, said, make, own):
    if own and said == "another DuckDB file":
        pytest.skip("a project's own file holds whatever the project builds")
    path = tmp_path / "evidence.duckdb"
    make(path)
    before = _content(path)
    make_project(tmp_path, make_manifest(JANUARY, {"v1": V1}, own_file="evidence.duckdb" if own else None))
    if own and said == "version 99":
        _database(
            path,
            "create schema main_attest; "
            "create table main_attest.contract_versions as from attest.contract_versions",
        )
        before = _content(path)
    ran = attest(tmp_path, "build")
    assert ran.code == 3
    assert str(path) in ran.sentence
    assert said in ran.sentence
    assert _content(path) == before


@pytest.mark.parametrize("verb", [["resolve", "metric.b"], ["timeline", "metric.b"], ["status"]])
@pytest.mark.parametrize(
    ("said", "make"),
    [
        *UNREADABLE.values(),
        ("found no file", str),
        ("without evidence tables", lambda path: _database(path, "create table t as select 1 as a")),
    ],
    ids=[*UNREADABLE, "no file", "no evidence"],
)
def test_a_question_to_an_unreadable_warehouse(tmp_path, attest, verb, said, make):
    path = tmp_path / "evidence.duckdb"
    make(path)
    ran = attest(tmp_path, *verb)
    assert ran.code == 3
    assert "evidence.duckdb" in ran.sentence
    assert {"another DuckDB file": "without evidence tables"}.get(said, said) in ran.sentence


def test_a_question_to_a_warehouse_without_resolvers(tmp_path, attest, make_project, make_manifest):
    duckdb.connect(str(tmp_path / "own.duckdb")).close()
    make_project(
        tmp_path, make_manifest(JANUARY, {"v1": V1}, own_file="own.duckdb"), "warehouse: own.duckdb\n"
    )
    assert attest(tmp_path, "build").code == 0
    ran = attest(tmp_path, "resolve", "metric.b")
    assert ran.code == 3
    assert "run `dbt build`" in ran.sentence


@pytest.fixture
def asked(world):
    world.collect(
        JANUARY, {"v1": V1, "secret": V1 | {"entity_id": "metric.bb", "evidence_id": "s", "permissions": []}}
    )
    return world


BAD_QUESTIONS = {
    "no date": (["--on", "yesterday"], "expected a date such as 2025-06-30, found yesterday"),
    "impossible date": (["--on", "2025-02-30"], "found 2025-02-30"),
    "no period": (["--during", "2025-Q5"], "expected a year, quarter or month"),
    "period backwards": (["--between", "2025-02-01", "2025-01-01"], "ends before it begins"),
    "two kinds of date": (["--on", "2025-01-01", "--during", "2025"], "found several"),
    "half a period": (["--between", "2025-02-01", ""], "expected a date"),
    "no instant": (["--known-at", "then"], "expected known_at as an instant"),
    "the future": (["--known-at", "2999-01-01"], "future"),
    "scope without value": (["--scope", "region"], "expected KEY=VALUE such as region=EU, found 'region'"),
    "scope without key": (["--scope", "=EU"], "expected KEY=VALUE"),
    "scope twice": (["--scope", "region=EU", "--scope", "region=US"], "expected one value of region"),
    "support of a period": (["--during", "2025", "--support"], "for one day"),
}


@pytest.mark.parametrize(("words", "said"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_a_bad_question(asked, attest, words, said):
    ran = attest(asked.folder, "resolve", "metric.b", "--groups", "readers", *words)
    assert ran.code == 2
    assert ran.output == ""
    assert said.lower() in ran.sentence.lower()


def test_an_unknown_entity_is_told_near_names_that_the_requester_may_see(asked, attest):
    for verb in ("resolve", "timeline"):
        ran = attest(asked.folder, verb, "metric.bbb", "--groups", "readers")
        assert ran.code == 2
        assert "unknown_entity" in ran.output
        assert "did you mean metric.b?" in ran.sentence
        ran = attest(asked.folder, verb, "metric.bbb")
        assert ran.code == 2
        assert "`attest status`" in ran.sentence


BAD_PROJECT_FILES = {
    "no YAML": ("warehouse: [", "not YAML"),
    "no mapping": ("- warehouse", "`key: value` lines"),
    "no text": ("warehouse: 5", "`warehouse`"),
}


@pytest.mark.parametrize(("text", "said"), BAD_PROJECT_FILES.values(), ids=BAD_PROJECT_FILES)
def test_a_question_beside_a_bad_project_file(asked, attest, text, said):
    (asked.folder / "attest.yml").write_text(text, encoding="utf-8")
    ran = attest(asked.folder, "resolve", "metric.b")
    assert ran.code == 2
    assert "attest.yml" in ran.sentence
    assert said in ran.sentence
    assert attest(asked.folder, "build").code == 2


def test_a_question_from_a_folder_below(asked, attest):
    below = asked.folder / "models" / "marts"
    below.mkdir(parents=True)
    ran = attest(
        below, "resolve", "metric.b", "--groups", "readers", "--on", "2025-01-01", "--format", "json"
    )
    assert (ran.code, ran.json["evidence_id"]) == (0, "v1")
