"""Who asks: groups of the caller, or of the membership file that attest.yml names, and only as fresh as it allows."""

from __future__ import annotations

import os
import time

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


@pytest.mark.parametrize("value", ["groups.csv", "{file: groups.csv}", "{file: groups.csv, max_age: soon}"])
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
