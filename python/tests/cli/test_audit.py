"""The audit: a line for every question, with ids and no text, bounded, never lost, and decided again."""

from __future__ import annotations

import json
import multiprocessing
import os

import pytest

from dbt_attest import InputError, Requester, open
from dbt_attest.resolution import lineage
from dbt_attest.resolution.audit import FOR_GROUPS, MOST_IDS, entry
from dbt_attest.resolution.audit_check import check_audit
from dbt_attest.resolution.audit_file import AuditFile
from dbt_attest.resolution.settings import DEFAULT_AUDIT, read_settings
from dbt_attest.warehouse.exporting import Exported

JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))
V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["readers"],
      "effective_from": "2024-01-01", "definition": "CANARY words", "title": "CANARY title", "owner": "CANARY",
      "models": ["model.shop.m"], "aliases": ["sales"]}  # fmt: skip
V2 = V1 | {"evidence_id": "v2", "effective_from": "2024-07-01", "supersedes": ["v1"], "aliases": None}
DENIED = V1 | {
    "entity_id": "metric.denied",
    "evidence_id": "CANARY.d1",
    "permissions": ["board"],
    "aliases": None,
}
HIDDEN = DENIED | {"entity_id": "metric.hidden", "evidence_id": "CANARY.h1", "permissions": ["secret"]}
ATTEST_YML = "audit: logs/audit.jsonl\npolicies: {secret: {groups: [secret], existence: hidden}}\n"
WHO = ("--groups", "readers", "--subject", "ann")
#: What is asked, and the verb, outcome, reason and rule of its line.
ASKED = {
    ("resolve", "sales", "--on", "2024-03-01", "--explain", "--support"): ("resolve", "answer", "in_force", "in_force"),
    ("resolve", "metric.b"): ("resolve", "answer", "in_force", "in_force"),
    ("resolve", "metric.b", "--during", "2024", "--known-at", "2025-03-01"): (
        "resolve", "split", "changes_within_period", "in_force"),
    ("resolve", "metric.denied"): ("resolve", "deny", "not_permitted", "permission"),
    ("resolve", "metric.hidden"): ("resolve", "abstain", "unknown_entity", "entity"),
    ("resolve", "metric.b", "--bundle"): ("bundle", "answer", "in_force", "in_force"),
    ("resolve", "metric.b", "--attribute", "owner"): ("attribute", "answer", "recorded", None),
    ("resolve", "metric.b", "--attribute", "grain", "--on", "2024-03-01"): ("attribute", "abstain", "not_stated", None),
    ("resolve", "metric.denied", "--attribute", "owner"): ("attribute", "deny", "not_permitted", "permission"),
    ("timeline", "metric.b"): ("timeline", "split", "changes_within_period", "in_force"),
    ("timeline", "metric.b", "--history"): ("history", "answer", "recorded", None),
    ("timeline", "metric.b", "--changes"): ("changes", "answer", "recorded", None),
    ("timeline", "metric.b", "--diff", "2024-03-01", "2024-08-01"): ("differences", "answer", "in_force", "in_force"),
    ("lineage", "v2"): ("lineage up", "answer", "recorded", "lineage"),
    ("lineage", "v2", "--impact"): ("lineage impact", "abstain", "no_impact", "lineage"),
    ("lineage", "metric.denied", "--down"): ("lineage down", "deny", "not_permitted", "permission"),
    ("export",): ("export", None, None, None),
}  # fmt: skip


@pytest.fixture(scope="module")
def shared(world_in, tmp_path_factory):
    world = world_in(tmp_path_factory.mktemp("audited"))
    world.collect(JANUARY, {"b1": V1}, attest_yml=ATTEST_YML)
    world.collect(FEBRUARY, {"b1": V1, "b2": V2, "d": DENIED, "h": HIDDEN}, attest_yml=ATTEST_YML)
    return world


def _lines(world):
    text = (world.folder / "logs" / "audit.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_question_is_a_line_and_is_decided_again(shared, attest):
    path = shared.folder / "logs" / "audit.jsonl"
    path.unlink(missing_ok=True)
    for words in ASKED:
        assert attest(shared.folder, *words, *WHO).code in (0, 2)
    lines = _lines(shared)
    assert [(one["question"]["verb"], one["outcome"], one["reason"], one["rule"]) for one in lines] == list(
        ASKED.values()
    )
    text = path.read_text(encoding="utf-8")
    assert "CANARY" not in text
    assert {tuple(one["requester"]["groups"]) for one in lines} == {("readers",)}
    assert {one["requester"]["subject"] for one in lines} == {"ann"}
    assert all(one["ingested_at"] and one["policy_version"] and one["environment"] == "prod" for one in lines)
    assert lines[5]["evidence_ids"] == ["v1", "v2"]
    assert lines[2]["evidence_ids"] == ["v1", "v2"]
    assert lines[3]["evidence_ids"] == lines[4]["evidence_ids"] == []
    assert attest(shared.folder, "verify", str(path)).output.endswith(
        "17 of 17 lines decided again, 0 differences.\n"
    )


def test_what_was_learned_later_changes_no_line_and_what_was_changed_by_hand_is_told(world, attest):
    world.collect(JANUARY, {"b1": V1}, attest_yml=ATTEST_YML)
    for _ in range(2):
        attest(world.folder, "resolve", "metric.b", *WHO)
    world.collect(FEBRUARY, {"b1": V1 | {"permissions": ["board"]}, "b2": V2}, attest_yml=ATTEST_YML)
    attest(world.folder, "resolve", "metric.b", *WHO)
    path = world.folder / "logs" / "audit.jsonl"
    assert attest(world.folder, "verify", str(path), "--format", "json").json == {
        "identical": True, "lines": 3, "undecided": 0, "differences": []}  # fmt: skip
    forged = path.read_text(encoding="utf-8").splitlines()
    forged[1] = forged[1].replace('"outcome": "answer"', '"outcome": "deny"')
    other = world.folder / "forged.jsonl"
    other.write_text("\n".join([*forged, "not JSON"]) + "\n", encoding="utf-8")
    for groups, theirs in (("readers", "answer"), ("others", "something that you may not see")):
        ran = attest(world.folder, "verify", str(other), "--groups", groups, "--format", "json")
        assert ran.code == 1
        (second, last) = ran.json["differences"]
        assert (second["line"], second["place"], second["in_audit"]) == (2, "outcome", "deny")
        assert second["in_warehouse"].startswith(theirs)
        assert (last["line"], last["place"]) == (4, "")
    assert "line 2, outcome: the audit has deny" in attest(world.folder, "verify", str(other)).output


def test_a_question_that_cannot_be_audited_is_not_answered(shared, attest):
    logs = shared.folder / "logs"
    kept = shared.folder / "kept"
    logs.replace(kept)
    logs.write_text("a file where the folder was", encoding="utf-8")
    try:
        ran = attest(shared.folder, "resolve", "metric.b", *WHO)
        assert (ran.code, ran.output) == (2, "")
        assert "expected an audit that can be written" in ran.sentence
        with pytest.raises(InputError, match="expected an audit"):
            lineage.upstream(open(shared.warehouse), "metric.b", requester=Requester(["readers"]))
    finally:
        logs.unlink()
        kept.replace(logs)


def test_asked_from_another_folder_and_in_python(shared, attest, tmp_path):
    before = len(_lines(shared))
    attest(tmp_path, "resolve", "metric.b", "--warehouse", str(shared.warehouse), *WHO)
    open(shared.warehouse).history(entity="metric.b", requester=Requester(["readers"], "bob", tenant="eu"))
    assert {tuple(one["question"]["asked"]) for one in _lines(shared)[before:]} == {("metric.b",)}
    assert [(one["question"]["verb"], one["requester"]["subject"], one["requester"]["tenant"])
            for one in _lines(shared)[before:]] == [("resolve", "ann", None), ("history", "bob", "eu")]  # fmt: skip


def test_it_is_bounded(tmp_path):
    audit = AuditFile(tmp_path / "audit.jsonl", max_bytes=100, keep=2)
    for number in range(20):
        audit.write({"line": number, "padding": "x" * 20})
    files = {path.name: path.read_text().splitlines() for path in tmp_path.glob("audit*")}
    assert set(files) == {"audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"}
    kept = [json.loads(line)["line"] for name in sorted(files, reverse=True) for line in files[name]]
    assert kept == list(range(20 - len(kept), 20))
    assert all(sum(len(line) + 1 for line in lines) <= 100 for lines in files.values())
    assert oct((tmp_path / "audit.jsonl").stat().st_mode)[-3:] == "600"


def test_one_that_is_there_is_for_whom_it_was_made_for(tmp_path):
    audit = AuditFile(tmp_path / "audit.jsonl", max_bytes=100)
    audit.path.touch()
    audit.path.chmod(0o660)
    for _ in range(5):
        audit.write({"padding": "x" * 60})
    assert {oct(one.stat().st_mode)[-3:] for one in tmp_path.iterdir()} == {"660"}


@pytest.mark.parametrize("name", ["line\u2028here", "a\rb", "\x1b[31m", "\u202e", '"}\n{"', "größe"])
def test_a_name_of_any_characters_is_one_line(shared, attest, name):
    path = shared.folder / "logs" / "audit.jsonl"
    path.unlink(missing_ok=True)
    attest(shared.folder, "resolve", name, *WHO)
    (line,) = path.read_bytes().rstrip(b"\n").split(b"\n")
    assert json.loads(line)["question"]["asked"] == [name]
    assert attest(shared.folder, "verify", str(path)).code == 0


def test_what_is_no_text_is_told(shared, attest):
    for words in (
        ("resolve", "a\udcff"),
        ("resolve", "metric.b", "--groups", "readers", "--subject", "a\udcff"),
    ):
        ran = attest(shared.folder, *words)
        assert (ran.code, ran.output) == (2, "")
        assert "Expected who asks and what to be text in UTF-8" in ran.sentence


def test_a_line_is_short_whatever_it_shows(shared):
    class Long:
        outcome, reason = "answer", "recorded"

        def as_json(self):
            return {"edges": [{"evidence_id": f"e{number}"} for number in range(MOST_IDS + 1)]}

    said = entry(open(shared.warehouse), "lineage up", ["e0"], {}, Long())["evidence_ids"]
    assert (said["count"], len(said["sha256"])) == (MOST_IDS + 1, 64)


def test_a_warehouse_for_groups_is_a_line_and_no_decision(shared, tmp_path):
    path, asked = tmp_path / "audit.jsonl", open(shared.warehouse)
    asker = {"requester": Requester(subject="ann"), "environment": "prod"}
    AuditFile(path).write(entry(asked, FOR_GROUPS, ["readers"], asker, Exported(1, 2, 3)))
    (line,) = (json.loads(one) for one in path.read_text().splitlines())
    assert (line["question"], line["definitions"], line["masks"]) == (
        {"verb": "export for groups", "asked": ["readers"]}, 2, 3)  # fmt: skip
    checked = check_audit(asked, path, Requester())
    assert (checked.lines, checked.undecided, checked.identical) == (1, 1, True)


def _write(path, name):
    audit = AuditFile(path, max_bytes=20_000, keep=50)
    for number in range(200):
        audit.write({"from": name, "number": number, "padding": "x" * 300})


def test_two_processes_mix_and_lose_no_line(tmp_path):
    path = tmp_path / "audit.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(path, name)) for name in ("one", "two")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = [json.loads(line) for file in tmp_path.glob("audit*") for line in file.read_text().splitlines()]
    assert sorted((one["from"], one["number"]) for one in lines) == [
        (name, number) for name in ("one", "two") for number in range(200)
    ]
    assert os.path.getsize(path) <= 20_000  # noqa: PTH202


@pytest.mark.parametrize(
    "value",
    ["true", "[a]", "{max_bytes: 5}", "{file: a, max_bytes: 0}", "{file: a, kept: 1}", "{file: a, keep: x}",
     "{table: a, keep: 2}", "{file: a, table: b}", "{table: 1}"],
)  # fmt: skip
def test_a_setting_that_is_none(tmp_path, attest, value):
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (tmp_path / "attest.yml").write_text(f"audit: {value}\n")
    ran = attest(tmp_path, "resolve", "metric.b")
    assert ran.code == 2
    assert "`audit`: expected off, a file" in ran.sentence


MEMBERSHIP = "membership: {file: groups.csv, max_age: 1d}\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", None),
        ("audit: off\n", None),
        (MEMBERSHIP, DEFAULT_AUDIT),
        (MEMBERSHIP + "audit:\n", DEFAULT_AUDIT),
        (MEMBERSHIP + "audit: off\n", None),
        (MEMBERSHIP + "audit: false\n", None),
        (MEMBERSHIP + "audit: 'off'\n", None),
        (MEMBERSHIP + "audit: other.jsonl\n", "other.jsonl"),
    ],
)
def test_it_is_on_by_default_where_others_ask(tmp_path, said, expected):
    (tmp_path / "attest.yml").write_text(said)
    audit = read_settings(tmp_path / "attest.yml").audit
    assert audit == (None if expected is None else AuditFile(tmp_path / expected))


def test_the_default_is_written_and_checked(world, attest):
    world.collect(JANUARY, {"b1": V1}, attest_yml=MEMBERSHIP)
    attest(world.folder, "resolve", "metric.b", "--groups", "readers")
    open(world.warehouse).resolve("metric.b", requester=Requester(["readers"], "bob"))
    path = world.folder / DEFAULT_AUDIT
    assert [json.loads(line)["requester"]["subject"] for line in path.read_bytes().splitlines()] == [
        None,
        "bob",
    ]
    assert attest(world.folder, "verify", str(path)).output.endswith(
        "2 of 2 lines decided again, 0 differences.\n"
    )


@pytest.mark.parametrize("value", ["evidence.duckdb", "{table: evidence.duckdb}"])
def test_the_warehouse_is_no_audit(world, attest, value):
    world.collect(JANUARY, {"b1": V1}, attest_yml=f"audit: {value}\n")
    before = world.warehouse.read_bytes()
    ran = attest(world.folder, "resolve", "metric.b")
    assert ran.code == 2
    assert "`audit`: expected a file of its own, found the warehouse" in ran.sentence
    assert world.warehouse.read_bytes() == before
