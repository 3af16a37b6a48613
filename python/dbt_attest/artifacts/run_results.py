"""dbt's `run_results.json`, v1 to v6 and dbt 2's: what an invocation did to each node and what it proves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.header import Header, Opened, Reading, expectation, open_artifact
from dbt_attest.artifacts.instants import parse_instant
from dbt_attest.artifacts.json_file import refusal
from dbt_attest.artifacts.sections import decode_rows
from dbt_attest.artifacts.states import outcome

_NEXT_STEP = "run dbt again"
_KNOWN_VERSIONS = frozenset(range(1, 7))
# Commands that write results and build nothing (OpenMetadata#26785); `show` selects a few rows to look at.
_BUILDS_NOTHING = frozenset({"compile", "generate", "docs", "list", "ls", "parse", "show", "debug", "deps"})
_EXECUTES = frozenset({"run", "build", "test", "seed", "snapshot", "run-operation"})
# `clone` puts another environment's relations in place.
_REUSES = frozenset({"clone"})
_SKIPPED = frozenset({"skipped", "no-op"})
_TOO_MANY = 2**63  # for a bigint
_RAN = frozenset({"pass", "fail", "warn", "partial success", "runtime error"})


class Execution(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one row says; `position` is its place in the file, from 0.

    `evidence` is executed, compile_only, empty, reused or skipped; only `executed` supports a claim.
    `status` is as written, `outcome` the same in one spelling. `node_id` may name a test, an operation, a
    saved query or, None, nothing. Instants are UTC.
    """

    position: int
    node_id: str | None
    resource_type: str | None
    evidence: str
    status: str | None
    outcome: str
    failures: int | None
    batches_successful: int | None
    batches_failed: int | None
    message: str | None
    relation_name: str | None
    started_at: datetime | None
    completed_at: datetime | None
    execution_seconds: float | None


class RunResults(Header, frozen=True, kw_only=True, gc=False):
    """One run_results.json. `command` is dbt's, in its own word (`generate` is `dbt docs generate`)."""

    command: str | None
    executions: list[Execution]
    findings: list[Finding]


class _Timing(msgspec.Struct, gc=False):
    started_at: Any = None
    completed_at: Any = None


class _Result(msgspec.Struct, gc=False):
    unique_id: str | None = None
    status: Any = None
    timing: list[_Timing] | None = None
    execution_time: float | None = None
    failures: int | float | str | None = None
    message: Any = None
    relation_name: str | None = None
    adapter_response: Any = None
    batch_results: Any = None


def read_run_results(path: Path) -> RunResults:
    """Read a run_results.json.

    Raises InputError, one sentence, where the file is missing, broken or something else.
    """
    try:
        return _run_results(open_artifact(path, "run_results", _KNOWN_VERSIONS, _NEXT_STEP))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        found = f"JSON that cannot be decoded ({error})"
        raise refusal(path, expectation("run_results"), found, _NEXT_STEP) from None


def _run_results(opened: Opened) -> RunResults:
    args = msgspec.json.decode(opened.sections.get("args") or b"{}")
    args = args if isinstance(args, dict) else {}
    command = _command(args)
    reading = opened.reading
    if command is None or command not in _EXECUTES | _BUILDS_NOTHING | _REUSES:
        expected = "a dbt command, which says whether anything was executed"
        found = "none" if command is None else command
        reading.found("args.which", expected=expected, found=f"{found}; judged row by row")
    rows = decode_rows(reading, opened.sections, "results", _Result)
    return RunResults(
        **msgspec.structs.asdict(opened.header),
        command=command,
        executions=[_execution(reading, position, row, command, args) for position, row in rows],
        findings=sorted_findings(reading.findings),
    )


def _command(args: Mapping[str, Any]) -> str | None:
    """The command by any of its names: `which`, dbt 2's `command`, the first versions' `rpc_method`."""
    for key in ("which", "command", "rpc_method"):
        value = args.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip().lower().replace(".", " ").split()[-1].replace("_", "-")
    return None


def _execution(
    reading: Reading, position: int, row: _Result, command: str | None, args: Mapping[str, Any]
) -> Execution:
    place = f"results[{position}]"
    node_id = row.unique_id or None
    if row.status is None:
        reading.found(f"{place}.status", expected="a status", found="none", node=node_id)
    batches = row.batch_results if isinstance(row.batch_results, dict) else {}
    started, completed = _span(reading, place, row, node_id)
    return Execution(
        position=position,
        node_id=node_id,
        resource_type=node_id.split(".", 1)[0] if node_id else None,
        evidence=_evidence(row, command, args),
        status=None if row.status is None else str(row.status),
        outcome=outcome(row.status),
        failures=_count(reading, f"{place}.failures", row.failures, node_id),
        batches_successful=_length(batches.get("successful")),
        batches_failed=_length(batches.get("failed")),
        message=None if row.message is None else str(row.message),
        relation_name=row.relation_name or None,
        started_at=started,
        completed_at=completed,
        execution_seconds=row.execution_time,
    )


def _evidence(row: _Result, command: str | None, args: Mapping[str, Any]) -> str:
    state = outcome(row.status)
    if command in _BUILDS_NOTHING:
        return "compile_only"
    if state in _SKIPPED:
        return "skipped"
    if state == "reused" or command in _REUSES:
        return "reused"
    if args.get("empty") is True:
        return "empty"
    # Where no command says so, only what a warehouse answered shows that it was asked.
    if command in _EXECUTES or state in _RAN or row.adapter_response:
        return "executed"
    return "compile_only"


def _span(
    reading: Reading, place: str, row: _Result, node_id: str | None
) -> tuple[datetime | None, datetime | None]:
    """From the start of the first step to the end of the last; dbt 2 can leave steps open."""
    found: dict[str, list[datetime]] = {"started_at": [], "completed_at": []}
    for index, step in enumerate(row.timing or ()):
        for key, instants in found.items():
            instant = read_instant(reading, f"{place}.timing[{index}].{key}", getattr(step, key), node_id)
            if instant is not None:
                instants.append(instant)
    return min(found["started_at"], default=None), max(found["completed_at"], default=None)


def read_instant(reading: Reading, place: str, value: object, node_id: str | None) -> datetime | None:
    """An instant in UTC in any form that dbt writes; None where there is none, noted where it is none."""
    if value is None or value == "":
        return None
    try:
        return parse_instant(str(value))[0]
    except ValueError:
        reading.found(place, expected="an instant", found=repr(value)[:80], node=node_id)
        return None


def _count(reading: Reading, place: str, value: object, node_id: str | None) -> int | None:
    try:
        number = None if value is None else int(float(str(value)))
        if number is None or abs(number) < _TOO_MANY:
            return number
    except (ValueError, OverflowError):
        pass
    reading.found(place, expected="a number", found=repr(value)[:80], node=node_id)
    return None


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, list) else None
