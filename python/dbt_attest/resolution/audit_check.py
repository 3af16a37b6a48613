"""Deciding each line of an audit again, at its states of knowledge and of the warehouse, for its requester."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution import lineage
from dbt_attest.resolution.attributes import resolve_attribute
from dbt_attest.resolution.audit import AUDIT_VERSION, FOR_GROUPS, entry, read_audit
from dbt_attest.resolution.audit_table import is_duckdb
from dbt_attest.resolution.bundle import bundle
from dbt_attest.resolution.differences import differences
from dbt_attest.resolution.held import Held
from dbt_attest.resolution.openlineage import events
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.timeline_file import write_timeline
from dbt_attest.resolution.warehouse import Warehouse

#: What is decided; time and release are of the line itself.
COMPARED = (
    "outcome", "reason", "rule", "known_at", "policy_version", "evidence_ids", "candidates", "rows", "entities",
)  # fmt: skip
_WITHHELD = "something that you may not see, not being in these groups"
_KEYS = {"audit_version", "requester", "question", "environment", "ingested_at", "outcome", "reason"}


@dataclass(frozen=True)
class AuditDifference:
    """One key of one line (from 1) that is decided otherwise, with both values; `place` is empty for a line
    that is none. `in_warehouse` is a sentence where whoever verifies is not in all groups of the line."""

    line: int
    place: str
    in_audit: Any
    in_warehouse: Any


@dataclass(frozen=True)
class AuditCheck:
    """How many lines there are, how many of them are no decisions (exports for groups, which are judged when they
    are asked), and where deciding the others again came out otherwise."""

    lines: int
    undecided: int
    differences: tuple[AuditDifference, ...]

    @property
    def identical(self) -> bool:
        """Whether every line was decided as it says."""
        return not self.differences

    def as_json(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return {
            "identical": self.identical,
            "lines": self.lines,
            "undecided": self.undecided,
            "differences": [vars(one) for one in self.differences],
        }


def is_audit(path: Path) -> bool:
    """Whether a file is a DuckDB file, as only audits in tables are, or its first line one of an audit."""
    try:
        if is_duckdb(path):
            return True
        with path.open(encoding="utf-8") as lines:
            first = json.loads(lines.readline(1_000_000))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "audit_version" in first


def check_audit(warehouse: Warehouse, path: Path, requester: Requester) -> AuditCheck:
    """Decide every line again; values of the warehouse are shown where `requester` is in the line's groups.

    Raises InputError where the file cannot be read, WarehouseError where the warehouse cannot be asked.
    """
    read = {number: _read(line) for number, line in enumerate(read_audit(path), start=1)}
    said = {number: one for number, one in read.items() if isinstance(one, dict)}
    found = {
        number: [AuditDifference(number, "", one, "no question")]
        for number, one in read.items()
        if isinstance(one, str)
    }
    # a copy of the warehouse serves all lines of one state
    order = sorted(
        (number for number in said if said[number]["question"]["verb"] != FOR_GROUPS),
        key=lambda number: (said[number]["environment"], str(said[number]["ingested_at"])),
    )
    with warehouse.connection() as (_, schema):
        pass
    state = None
    again: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        for number in order:
            line = said[number]
            if state != (line["environment"], line["ingested_at"]):
                state = (line["environment"], line["ingested_at"])
                stack.close()
                held = _at(stack, warehouse, schema, *state)
                again = {}
            key = json.dumps([line["question"], line["requester"]], sort_keys=True)
            if key not in again:
                again[key] = _decide(held, line)
            theirs = set(line["requester"]["groups"]) <= {*requester.groups, "everyone"}
            found[number] = list(_departures(number, line, again[key], shown=theirs))
    undecided = sum(one["question"]["verb"] == FOR_GROUPS for one in said.values())
    return AuditCheck(len(read), undecided, tuple(one for number in sorted(found) for one in found[number]))


def _read(line: bytes) -> dict[str, Any] | str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "text that is no line of an audit"
    if not isinstance(value, dict) or not value.keys() >= _KEYS:
        return "JSON that is no line of an audit"
    if value["audit_version"] != AUDIT_VERSION:
        return f"a line of audit version {value['audit_version']}"
    question, who = value["question"], value["requester"]
    if (
        not isinstance(question, dict)
        or question.get("verb") not in {*_ASK, FOR_GROUPS}
        or not isinstance(who, dict)
    ):
        return "a question that this release does not know"
    if not isinstance(who.get("groups"), list) or not isinstance(question.get("asked"), list):
        return "JSON that is no line of an audit"
    return value


def _at(
    stack: ExitStack, warehouse: Warehouse, schema: str, environment: str, ingested_at: str | None
) -> Warehouse:
    from dbt_attest.warehouse.pinned import pinned

    connection = stack.enter_context(pinned(warehouse.path, schema, environment, ingested_at))
    held = Held(connection, schema, warehouse)
    held.environment = environment
    return held


def _decide(held: Warehouse, line: Mapping[str, Any]) -> dict[str, Any]:
    question = dict(line["question"])
    verb, names = question.pop("verb"), question.pop("asked")
    if isinstance(question.get("between"), list):
        question["between"] = tuple(question["between"])
    arguments = question | {"requester": Requester(line["requester"]["groups"])}
    try:
        decided = entry(held, verb, names, arguments, _ASK[verb](held, *names, **arguments))
    except (InputError, TypeError) as error:
        return {"outcome": None, "reason": f"no answer: {error}"}
    told: dict[str, Any] = json.loads(json.dumps(decided))
    return told


def _departures(
    number: int, line: Mapping[str, Any], again: Mapping[str, Any], *, shown: bool
) -> Iterator[AuditDifference]:
    for key in COMPARED:
        if line.get(key) != again.get(key):
            yield AuditDifference(number, key, line.get(key), again.get(key) if shown else _WITHHELD)


def _export(held: Warehouse, **arguments: Any) -> Any:
    with TemporaryDirectory(prefix="attest-audit-") as folder:
        return write_timeline(held, Path(folder) / "timeline.csv", "csv", **arguments)


_ASK: dict[str, Callable[..., Any]] = {
    "resolve": Warehouse.resolve,
    "attribute": resolve_attribute,
    "timeline": Warehouse.timeline,
    "history": Warehouse.history,
    "changes": Warehouse.changes,
    "differences": differences,
    "bundle": bundle,
    "export": _export,
    "openlineage": lambda held, **arguments: list(events(held, **arguments)),
    "lineage up": lineage.upstream,
    "lineage down": lineage.downstream,
    "lineage path": lineage.path,
    "lineage impact": lineage.impact,
}
