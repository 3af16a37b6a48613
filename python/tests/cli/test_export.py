"""`attest export`: the answers of all days in a file, for the groups of its readers."""

from __future__ import annotations

import csv
import io

import duckdb
import pytest

REVENUE = {
    "v1": {"entity_id": "metric.revenue", "effective_from": "2024-01-01", "authority": "authoritative"},
    "v2": {
        "entity_id": "metric.revenue", "effective_from": "2024-07-01", "supersedes": ["v1"], "version": 2,
        "authority": "authoritative",
    },
    "O'Plan": {
        "entity_id": "metric.o'plan, net", "effective_from": "2025-01-01", "effective_to": "2025-12-31",
        "authority": "authoritative", "permissions": ["finance", "o'group"],
    },
    "merger": {
        "entity_id": "metric.merger", "effective_from": "2025-01-01", "authority": "authoritative",
        "permissions": ["board"],
    },
    "eu": {
        "entity_id": "metric.regional", "effective_from": "2024-01-01", "authority": "authoritative",
        "scope": {"region": "EU"},
    },
}  # fmt: skip
REVENUE = {name: {"evidence_id": name} | said for name, said in REVENUE.items()}
ATTEST_YML = (
    "environment: prod\nrules: [{path: '**', permissions: [everyone]}]\n"
    "policies: {board: {groups: [board], existence: hidden}}\n"
)
COLUMNS = [
    "entity_id",
    "valid_from",
    "valid_to",
    "outcome",
    "reason",
    "evidence_id",
    "version",
    "content_hash",
]
ALL = ("", "")


@pytest.fixture(scope="module")
def folder(world_in, tmp_path_factory):
    world = world_in(tmp_path_factory.mktemp("exported"))
    first = {name: said for name, said in REVENUE.items() if name != "v2"}
    world.collect("2024-01-01T09:00:00Z", first, attest_yml=ATTEST_YML)
    world.collect("2024-06-10T09:00:00Z", REVENUE, attest_yml=ATTEST_YML)
    (world.folder / "seeds").mkdir()
    return world.folder


def brief(text: str) -> list[tuple[str, ...]]:
    """Without the two that are not to be read: version and content_hash."""
    header, *rows = csv.reader(io.StringIO(text))
    assert header == COLUMNS
    return [tuple(row[:6]) for row in rows]


PUBLIC = [
    ("metric.o'plan, net", *ALL, "deny", "not_permitted", ""),
    ("metric.regional", "", "2024-01-01", "abstain", "before_first", ""),
    ("metric.regional", "2024-01-01", "", "clarify", "scope_needed", ""),
    ("metric.revenue", "", "2024-01-01", "abstain", "before_first", ""),
    ("metric.revenue", "2024-01-01", "2024-07-01", "answer", "in_force", "v1"),
    ("metric.revenue", "2024-07-01", "", "answer", "in_force", "v2"),
]


def test_what_everyone_may_see_with_denials_and_without_what_is_hidden(attest, folder):
    ran = attest(folder, "export")
    assert ran.code == 0
    assert brief(ran.output) == PUBLIC
    assert "merger" not in ran.output
    versions = {row["evidence_id"]: row["version"] for row in csv.DictReader(io.StringIO(ran.output))}
    assert versions == {"": "", "v1": "1", "v2": "2"}


def test_groups_scope_and_known_at_are_those_of_the_export(attest, folder, monkeypatch):
    monkeypatch.setenv("ATTEST_GROUPS", "nobody else")
    asked = ("--groups", "o'group, board", "--scope", "region=EU", "--known-at", "2024-06-01")
    found = brief(attest(folder, "export", *asked).output)
    assert found == [
        ("metric.merger", "", "2025-01-01", "abstain", "before_first", ""),
        ("metric.merger", "2025-01-01", "", "answer", "in_force", "merger"),
        ("metric.o'plan, net", "", "2025-01-01", "abstain", "before_first", ""),
        ("metric.o'plan, net", "2025-01-01", "2026-01-01", "answer", "in_force", "O'Plan"),
        ("metric.o'plan, net", "2026-01-01", "", "abstain", "expired", ""),
        ("metric.regional", "", "2024-01-01", "abstain", "before_first", ""),
        ("metric.regional", "2024-01-01", "", "answer", "in_force", "eu"),
        ("metric.revenue", "", "2024-01-01", "abstain", "before_first", ""),
        ("metric.revenue", "2024-01-01", "", "answer", "in_force", "v1"),
    ]


def test_the_formats_say_the_same_by_ending_or_by_option(attest, folder):
    for name in ("seeds/timeline.csv", "timeline.parquet", "timeline.json"):
        (folder / name).write_text("what stood there before", encoding="utf-8")
        ran = attest(folder, "export", name)
        assert (ran.code, ran.output, ran.sentence) == (0, "", f"{name}: 6 rows of 3 entities")
    assert brief((folder / "seeds/timeline.csv").read_text(encoding="utf-8")) == PUBLIC
    with duckdb.connect() as connection:
        read = [
            connection.execute(f"select {', '.join(COLUMNS)} from '{folder / name}'").fetchall()
            for name in ("timeline.parquet", "timeline.json", "seeds/timeline.csv")
        ]
        types = connection.execute(f"describe from '{folder / 'timeline.parquet'}'").fetchall()
    assert len(read[0]) == 6
    assert [[*map(str, row)] for row in read[0]] == [[*map(str, row)] for row in read[1]]
    assert [[*map(str, row)] for row in read[0]] == [[*map(str, row)] for row in read[2]]
    assert [(row[0], row[1]) for row in types] == [
        (name, "DATE" if name.startswith("valid") else "VARCHAR") for name in COLUMNS
    ]
    printed = attest(folder, "export", "--format", "json")
    assert [row["evidence_id"] for row in printed.json if row["outcome"] == "answer"] == ["v1", "v2"]
    assert sorted(path.name for path in folder.glob("*.partial")) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["seeds/timeline.txt"],
            "expected a file name that ends in .csv, .parquet, .json, found timeline.txt",
        ),
        (
            ["evidence.duckdb"],
            "expected a file name that ends in .csv, .parquet, .json, found evidence.duckdb",
        ),
        (
            ["evidence.duckdb", "--format", "csv"],
            "expected a file name that ends in .csv, found evidence.duckdb",
        ),
        (["nowhere/timeline.csv"], "expected an existing folder around it"),
        (["--known-at", "2999-01-01"], "lies in the future: 2999-01-01"),
        (["--known-at", "last June"], "known_at as an instant such as 2025-06-30T12:00:00Z, found last June"),
        (["--scope", "region"], "--scope: expected KEY=VALUE"),
    ],
)
def test_what_cannot_be_written_is_told_in_a_sentence(attest, folder, words, sentence):
    before = (folder / "evidence.duckdb").read_bytes()
    ran = attest(folder, "export", *words)
    assert ran.code == 2
    assert sentence in ran.sentence
    assert (folder / "evidence.duckdb").read_bytes() == before


def test_parquet_needs_a_file(attest, folder):
    ran = attest(folder, "export", "--format", "parquet")
    assert ran.code == 2
    assert "expected a file to write to, found none; name OUT." in ran.errors


def test_an_environment_where_nothing_was_collected_has_a_header_and_no_rows(attest, folder):
    ran = attest(folder, "export", "--environment", "staging")
    assert ran.output.strip().split(",") == COLUMNS
