"""Who asks: groups of the caller, or of the membership that attest.yml names, and only as fresh as it allows."""

from __future__ import annotations

import os
import time

import duckdb
import pytest

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["readers"],
      "effective_from": "2024-01-01"}  # fmt: skip
ATTEST_YML = "membership: {file: groups.csv, max_age: 1d}\n"
ASK = ("resolve", "metric.b", "--on", "2024-06-01", "--format", "json")


@pytest.fixture(scope="module")
def shared(world_in, tmp_path_factory):
    world = world_in(tmp_path_factory.mktemp("membership"))
    world.collect("2025-01-10T09:00:00Z", {"v1": V1}, attest_yml=ATTEST_YML)
    return world.folder


@pytest.fixture
def members(shared):
    """Writes the file; `age` in hours."""

    def write(content, age=0):
        path = shared / "groups.csv"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content, encoding="utf-8")
            os.utime(path, (time.time() - 3600 * age,) * 2)
        return shared

    return write


CSV = "\ufeffsubject,group,note\nann,finance,x\nann, readers ,\nbob,finance,\n"


@pytest.mark.parametrize(
    ("content", "age", "subject", "outcome", "warned"),
    [
        (CSV, 1, "ann", "answer", False),
        (CSV, 1, "bob", "deny", False),
        (CSV, 1, "nobody we know", "deny", False),
        (CSV, 25, "ann", "deny", True),
        (CSV, -2, "ann", "deny", True),
        (None, 0, "ann", "deny", True),
    ],
    ids=["member", "other group", "unknown", "too old", "from the future", "missing"],
)
def test_the_groups_of_a_subject(members, attest, content, age, subject, outcome, warned):
    ran = attest(members(content, age), *ASK, "--subject", subject)
    assert (ran.code, ran.json["outcome"]) == (0, outcome)
    assert ("counts as absent" in ran.errors) is warned


def test_the_subject_of_the_environment(members, attest, monkeypatch):
    monkeypatch.setenv("ATTEST_SUBJECT", "ann")
    assert attest(members(CSV), *ASK).json["outcome"] == "answer"


def test_groups_are_not_joined_with_those_of_the_file(members, attest, monkeypatch):
    monkeypatch.setenv("ATTEST_GROUPS", "readers")
    ran = attest(members(CSV), *ASK, "--subject", "bob")
    assert ran.code == 2
    assert "expected none beside --subject bob" in ran.sentence
    monkeypatch.delenv("ATTEST_GROUPS")
    assert attest(members(CSV), *ASK, "--groups", "readers").json["outcome"] == "answer"


def test_without_a_membership_file_a_subject_is_only_a_name(members, attest, tmp_path):
    warehouse = str(members(CSV) / "evidence.duckdb")
    ran = attest(tmp_path, *ASK, "--subject", "ann", "--groups", "readers", "--warehouse", warehouse)
    assert ran.json["outcome"] == "answer"
    ran = attest(tmp_path, *ASK, "--subject", "ann", "--warehouse", warehouse)
    assert ran.json["outcome"] == "deny"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("who,group\nann,readers\n", "found who, group; name them so"),
        ("", "found nothing"),
        ("subject,group\nann,\n", "found line 2 without both"),
        ('subject,group\nann,"readers\n', "found text that is none"),
    ],
)
def test_a_file_that_is_no_membership(members, attest, content, found):
    ran = attest(members(content), *ASK, "--subject", "ann")
    assert ran.code == 2
    assert "expected a CSV file with the columns subject and group" in ran.sentence
    assert found in ran.sentence


@pytest.mark.parametrize(
    "value",
    ["groups.csv", "{file: groups.csv}", "{file: groups.csv, max_age: soon}", "{table: memberships, max_age: 1d}",
     "{table: a.b, file: groups.csv, max_age: 1d}", "{max_age: 1d}", "{file: groups.csv, max_age: 9999999999w}"],
)  # fmt: skip
def test_a_setting_that_is_none(members, attest, value):
    folder = members(CSV)
    before = (folder / "attest.yml").read_text()
    (folder / "attest.yml").write_text(f"membership: {value}\n")
    try:
        for words in ([*ASK, "--subject", "ann"], ["build"]):
            ran = attest(folder, *words)
            assert ran.code == 2
            assert "membership" in ran.errors
            assert "expected" in ran.errors
    finally:
        (folder / "attest.yml").write_text(before)


@pytest.mark.parametrize(("content", "age", "code"), [(CSV, 3, 0), (CSV, 30, 1), (None, 0, 1)])
def test_status_shows_the_lag(members, attest, content, age, code):
    folder = members(content, age)
    ran = attest(folder, "status", "--format", "json")
    assert (ran.code, ran.json["needs_a_person"]) == (code, bool(code))
    said = ran.json["membership"]
    assert (said["absent"], said["max_age"]) == (bool(code), 86400)
    if content:
        assert (said["subjects"], said["age"] // 3600) == (2, age)
    text = attest(folder, "status")
    assert text.code == code
    assert ("counts as absent" in text.output) is bool(code)
    assert "ann" not in text.output


@pytest.fixture
def table(shared):
    """Makes the table or view people.memberships; `rows` is SQL. Without it there is none."""
    before = (shared / "attest.yml").read_text()
    (shared / "attest.yml").write_text("membership: {table: people.memberships, max_age: 1d}\n")

    def make(rows):
        with duckdb.connect(str(shared / "evidence.duckdb")) as connection:
            connection.execute("set timezone = 'America/Los_Angeles'")
            connection.execute("drop schema if exists people cascade")
            connection.execute("create schema people")
            if rows:
                connection.execute(f"create {rows}")
        return shared

    yield make
    make(None)
    (shared / "attest.yml").write_text(before)


def _rows(age, now="now()"):
    """A table whose newest row is `age` hours old."""
    return f"""
        table people.memberships as
        select person as subject, team as "group", 1 as note,
          {now} - interval '{age} hours' - interval (older) hours as observed_at
        from (values ('ann', 'finance', 0), ('ann', ' readers ', 100), ('bob', 'finance', 1)) as a(person, team, older)
        """


@pytest.mark.parametrize(
    ("rows", "subject", "outcome", "warned"),
    [
        (_rows(1), "ann", "answer", False),
        (_rows(1, "now() at time zone 'utc'"), "ann", "answer", False),
        (_rows(1), "bob", "deny", False),
        (_rows(1), "nobody we know", "deny", False),
        (_rows(25), "ann", "deny", True),
        (_rows(-2), "ann", "deny", True),
        ("table people.memberships (subject text, \"group\" text, observed_at timestamp)", "ann", "deny", True),
        (None, "ann", "deny", True),
        ("view people.memberships as select 'ann' as Subject, 'readers' as \"group\", now() as observed_at", "ann",
         "answer", False),
    ],
    ids=["member", "in UTC", "other group", "unknown", "too old", "from the future", "empty", "missing", "a view"],
)  # fmt: skip
def test_the_groups_of_a_subject_in_a_table(table, attest, rows, subject, outcome, warned):
    folder = table(rows)
    ran = attest(folder, *ASK, "--subject", subject)
    assert (ran.code, ran.json["outcome"]) == (0, outcome)
    assert ("counts as absent" in ran.errors) is warned
    status = attest(folder, "status", "--format", "json")
    assert (status.code, status.json["membership"]["absent"]) == (int(warned), warned)


def test_status_shows_the_lag_of_a_table(table, attest):
    said = attest(table(_rows(3)), "status", "--format", "json").json["membership"]
    assert (said["file"], said["table"], said["subjects"], said["age"] // 3600) == (
        None,
        "people.memberships",
        2,
        3,
    )
    text = attest(table(_rows(3)), "status").output
    assert "Membership: 2 subjects in people.memberships, 3h old, at most 24h." in text
    assert "a stand-alone warehouse has none" in attest(table(None), "status").output


def test_the_table_is_that_of_the_project_whatever_warehouse_is_asked(table, attest, tmp_path):
    folder = table(_rows(1))
    other = tmp_path / "other.duckdb"
    other.write_bytes((folder / "evidence.duckdb").read_bytes())
    table(None)
    assert attest(folder, *ASK, "--subject", "ann", "--warehouse", str(other)).json["outcome"] == "deny"


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ("'ann' as subject, now() as observed_at", "found subject, observed_at; name them so"),
        ("'ann' as subject, '' as \"group\", now() as observed_at", "found a row without both"),
        ("null as subject, 'readers' as \"group\", now() as observed_at", "found a row without both"),
        ("'ann' as subject, 'readers' as \"group\", 'soon' as observed_at", "found one that cannot be read"),
        ("'ann' as subject, 'readers' as \"group\", null as observed_at", "found a row without an instant"),
        (
            "'ann' as subject, 'readers' as \"group\", timestamp 'infinity' as observed_at",
            "without an instant",
        ),
        (
            "'ann' as subject, 'readers' as \"group\", timestamp '250000-01-01' as observed_at",
            "without an instant",
        ),
    ],
)
def test_a_table_that_is_no_membership(table, attest, columns, found):
    ran = attest(table(f"view people.memberships as select {columns}"), *ASK, "--subject", "ann")
    assert ran.code == 2
    assert (
        "people.memberships: expected a table with the columns subject, group and observed_at" in ran.sentence
    )
    assert found in ran.sentence
