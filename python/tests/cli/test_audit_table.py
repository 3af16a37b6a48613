"""The audit in a table: the lines of the file as rows, bounded, never lost, decided again and counted."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from dbt_attest import InputError, WarehouseError
from dbt_attest.resolution.audit import read_audit
from dbt_attest.resolution.audit_table import AuditTable
from dbt_attest.warehouse import files

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["readers"],
      "effective_from": "2024-01-01", "definition": "CANARY words"}  # fmt: skip
WHO = ("--groups", "readers", "--subject", "ann")


def lines(path):
    return [json.loads(line) for line in read_audit(path)]


def test_questions_are_rows_are_decided_again_and_counted(world, attest):
    world.collect("2025-01-10T09:00:00Z", {"b1": V1}, attest_yml="audit: {table: logs/audit.duckdb}\n")
    for words in (("resolve", "metric.b"), ("resolve", "turnover"), ("timeline", "metric.b", "--history")):
        attest(world.folder, *words, *WHO)
    path = world.folder / "logs" / "audit.duckdb"
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert b"CANARY" not in path.read_bytes()
    assert oct(path.stat().st_mode)[-3:] == "600"
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute(
            "select subject, groups, verb, asked, environment, outcome, reason, rule, "
            "time = cast(json_extract_string(line, '$.time') as timestamptz) from audit"
        ).fetchall()
    assert rows == [
        ("ann", ["readers"], "resolve", ["metric.b"], "prod", "answer", "in_force", "in_force", True),
        ("ann", ["readers"], "resolve", ["turnover"], "prod", "abstain", "unknown_entity", "entity", True),
        ("ann", ["readers"], "history", ["metric.b"], "prod", "answer", "recorded", None, True),
    ]
    assert attest(world.folder, "verify", str(path)).output.endswith(
        "3 of 3 lines decided again, 0 differences.\n"
    )
    for words in ((), ("--demand", str(path))):
        (asked,) = attest(world.folder, "check", *words, "--format", "json").json["demand"]["unanswered"]
        assert (asked["asked"], asked["questions"]) == ("turnover", 1)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "update audit set line = replace(line, '\"answer\"', '\"deny\"') where verb = 'resolve'"
        )
    ran = attest(world.folder, "verify", str(path), "--format", "json")
    assert ran.code == 1
    assert [(one["line"], one["in_audit"]) for one in ran.json["differences"]] == [(1, "deny")]


def test_it_forgets_the_oldest_and_stays_small(tmp_path):
    audit = AuditTable(tmp_path / "audit.duckdb", max_bytes=10_000)
    for number in range(120):
        audit.write({"line": number, "padding": "x" * 200})
    kept = [one["line"] for one in lines(audit.path)]
    assert 35 < len(kept) < 48
    assert kept == list(range(120 - len(kept), 120))
    assert audit.path.stat().st_size < 1_000_000
    AuditTable(audit.path, max_bytes=10).write({"line": "longer than that"})
    assert lines(audit.path) == [{"line": "longer than that"}]


def _write(path, name):
    for number in range(20):
        AuditTable(path).write({"from": name, "number": number})


def test_processes_and_threads_wait_for_each_other_and_lose_no_line(tmp_path):
    path = tmp_path / "audit.duckdb"
    writers = [
        multiprocessing.get_context("fork").Process(target=_write, args=(path, name)) for name in (1, 2)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda name: _write(path, name), (3, 4, 5)))
    assert sorted((one["from"], one["number"]) for one in lines(path)) == [
        (name, number) for name in range(1, 6) for number in range(20)
    ]


def _hold(path, held, free):
    with duckdb.connect(str(path)):
        held.set()
        free.wait()


def test_a_question_is_not_answered_while_somebody_keeps_the_file(tmp_path, monkeypatch):
    audit = AuditTable(tmp_path / "audit.duckdb")
    audit.write({"line": 1})
    context = multiprocessing.get_context("fork")
    held, free = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(audit.path, held, free))
    holder.start()
    try:
        assert held.wait(10)
        patient = files.connect
        monkeypatch.setattr(
            files, "connect", lambda path, read_only: patient(path, read_only=read_only, patience=0.2)
        )
        with pytest.raises(WarehouseError, match=r"waited 0 s while .* holds the file"):
            audit.write({"line": 2})
    finally:
        free.set()
        holder.join()
    audit.write({"line": 3})
    assert lines(audit.path) == [{"line": 1}, {"line": 3}]


def test_one_that_is_there_is_for_whom_it_was_made_for(tmp_path):
    audit = AuditTable(tmp_path / "audit.duckdb")
    audit.write({"line": 1})
    audit.path.chmod(0o660)
    audit.write({"line": 2})
    assert oct(audit.path.stat().st_mode)[-3:] == "660"


def test_another_file_is_left_as_it_is(tmp_path, attest):
    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute("create table facts (day date)")
    before = other.read_bytes()
    with pytest.raises(InputError, match="it holds something else"):
        AuditTable(other).write({"line": 1})
    with pytest.raises(InputError, match="expected the table audit that"):
        lines(other)
    assert attest(tmp_path, "verify", str(other)).code == 2
    assert (other.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (before, [other.name])
    with pytest.raises(InputError, match="expected an audit that can be written"):
        AuditTable(tmp_path).write({"line": 1})
