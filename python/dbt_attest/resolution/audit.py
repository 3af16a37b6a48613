"""The audit: one JSON line for each question, written before its answer is given, to a file or a table.

A line holds what the requester was shown of the decision, by ids, and never a text: who reads the audit learns
of definitions no more than their ids. Its keys are those of `entry`; `audit_check` decides each line again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timezone
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, cast

from dbt_attest import __version__
from dbt_attest.errors import InputError
from dbt_attest.resolution.audit_file import AuditFile, lines_of_file, put_aside
from dbt_attest.resolution.audit_table import AuditTable, is_duckdb, lines_of_table
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.result import Resolution, plain

if TYPE_CHECKING:
    from dbt_attest.resolution.warehouse import Warehouse

#: Where lines are kept.
Audit: TypeAlias = AuditFile | AuditTable
#: Version of the form of a line; another one where a reader of the present one would misread it.
AUDIT_VERSION = 1
#: The verb of a warehouse that was written for groups.
FOR_GROUPS = "export for groups"
#: Lists of more ids than this are told by their number and hash, so that every line is short.
MOST_IDS = 500
#: Which rule makes a reason, under the names that `explain_on` has for them.
RULES = {
    "unknown_entity": "entity", "ambiguous_name": "entity", "unknown_node": "entity",
    "nothing_collected": "knowledge", "not_recorded_yet": "knowledge",
    "no_authority": "standing", "draft_only": "standing", "void": "standing", "no_effective_dates": "standing",
    "integrity": "supersession", "superseded_elsewhere": "supersession",
    "out_of_scope": "scope", "scope_needed": "scope", "scope_conflict": "scope",
    "in_force": "in_force", "authority_conflict": "in_force", "before_first": "in_force", "retired": "in_force",
    "removed": "in_force", "gap": "in_force", "expired": "in_force", "changes_within_period": "in_force",
    "not_permitted": "permission",
}  # fmt: skip
# What history and changes answer follows no day, but their resolution is of today.
_OF_NO_DAY = ("history", "changes")
_CLOSED = ("unknown_entity", "ambiguous_name", "not_permitted", "nothing_collected")

_P = ParamSpec("_P")
_R = TypeVar("_R")


def read_audit(path: Path, *, with_put_aside: bool = False) -> Iterator[bytes]:
    """The lines of an audit, a file or a table, as they were written; raises InputError and WarehouseError."""
    try:
        if is_duckdb(path):
            yield from lines_of_table(path)
            return
        for one in [*(put_aside(path) if with_put_aside else []), path]:
            yield from lines_of_file(one)
    except OSError as error:
        raise InputError(
            f"{path}: expected questions, one JSON line each as the audit has them, found a file that cannot "
            f"be read ({error.strerror})."
        ) from None


def audited(verb: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function that asks a warehouse write the line of its question; what it asks in turn writes none."""

    def wrap(ask: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(ask)
        def asked(*given: _P.args, **named: _P.kwargs) -> _R:
            warehouse = cast("Warehouse", given[0])
            if warehouse.audit is None:
                return ask(*given, **named)
            # a name is one wherever it was given
            question = signature(ask).bind(*given, **named)
            names, arguments = question.args[1:], question.kwargs
            with warehouse.held() as held:
                found = cast("Callable[..., _R]", ask)(held, *names, **arguments)
                line = entry(held, verb, names, arguments, found)
            # an audit may have to wait, and no build is to wait for it
            warehouse.audit.write(line)
            return found

        return asked

    return wrap


def entry(
    warehouse: Warehouse, verb: str, names: Iterable[Any], arguments: dict[str, Any], found: Any
) -> dict[str, Any]:
    """The line of one question: who asked what, of which states, what was decided by which rule, and ids."""
    requester: Requester = arguments.get("requester") or Requester()
    kept = {
        key: value for key, value in arguments.items() if key not in ("requester", "environment") and value
    }
    told = found if isinstance(found, (Resolution, dict)) else getattr(found, "resolution", found)
    if isinstance(told, Resolution) and verb in ("resolve", "attribute"):
        kept |= _days(told.on, (told.from_date, told.to_date))
    elif verb == "bundle":
        said = cast("dict[str, Any]", told)["resolution"]
        kept |= _days(said.get("on"), said.get("between"))
    kept.pop("during", None)
    environment = arguments.get("environment") or warehouse.environment or warehouse.asked_place()[1]
    ingested_at, policy_version = _state(warehouse, environment)
    outcome, reason = _decision(verb, found if verb == "attribute" else told)
    # where an export was written to is no question
    asked = [] if verb == "export" else [str(name) for name in names]
    return {
        "audit_version": AUDIT_VERSION,
        "attest_version": __version__,
        "time": datetime.now(timezone.utc).isoformat(),
        "requester": {
            "subject": requester.subject,
            "tenant": requester.tenant,
            "groups": sorted(requester.groups),
        },
        "question": {"verb": verb, "asked": asked, **_as_text(kept)},
        "environment": environment,
        "ingested_at": plain(ingested_at),
        "known_at": plain(_known_at(told)),
        "outcome": outcome,
        "reason": reason,
        "rule": RULES.get(reason or "", "lineage" if verb.startswith("lineage") else None),
        "policy_version": policy_version,
        **_ids(verb, found),
    }


def _days(on: Any, between: Any) -> dict[str, Any]:
    # a day that was not named is today, which is another day when it is decided again
    return {"on": on, "between": None} if on else {"on": None, "between": list(between)}


def _as_text(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: str(value) if isinstance(value, (date, Path)) else plain(value)
        for key, value in values.items()
        if value is not None
    }


def _state(warehouse: Warehouse, environment: str) -> tuple[datetime | None, str | None]:
    """Until when the warehouse has learned of collections, and the SHA-256 of the attest.yml that permits."""
    with warehouse.connection() as (connection, schema):
        row = connection.execute(
            "select max(ingested_at), max({g: generated_at, i: ingested_at, f: project_file_id}).f "
            f"from {schema}.collections where environment = $environment",
            {"environment": environment},
        ).fetchone()
    return row or (None, None)


def _known_at(told: Any) -> Any:
    return told["clocks"]["known_at"] if isinstance(told, dict) else getattr(told, "known_at", None)


def _decision(verb: str, told: Any) -> tuple[str | None, str | None]:
    if isinstance(told, dict):
        told = told["resolution"]
        return told["outcome"], told["reason"]
    if hasattr(told, "after"):
        told = told.after
    outcome, reason = getattr(told, "outcome", None), getattr(told, "reason", None)
    return ("answer", "recorded") if verb in _OF_NO_DAY and reason not in _CLOSED else (outcome, reason)


def _ids(verb: str, found: Any) -> dict[str, Any]:
    """The ids that the requester was shown, sorted; of rows that were written their number."""
    if isinstance(found, list):
        return {"rows": len(found)}
    if verb in ("export", FOR_GROUPS):
        return {name: value for name, value in vars(found).items() if isinstance(value, int)}
    shown: dict[str, set[str]] = {"evidence_ids": set(), "candidates": set()}
    told = found if isinstance(found, dict) else found.as_json()
    # beside its changes stands what is in force today, which is another thing on another day
    _collect(told["changes"] if verb in _OF_NO_DAY else told, shown)
    return {name: _bounded(sorted(ids)) for name, ids in shown.items()}


def _collect(value: Any, shown: dict[str, set[str]]) -> None:
    if isinstance(value, list):
        for one in value:
            _collect(one, shown)
    elif isinstance(value, dict):
        ids = (value.get(key) for key in ("evidence_id", "evidence_id_before", "ended_by"))
        shown["evidence_ids"] |= {one for one in ids if isinstance(one, str)}
        for key, inner in value.items():
            if key == "candidates":
                shown["candidates"] |= {
                    (one.get("evidence_id") or one["entity"]) if isinstance(one, dict) else one
                    for one in inner
                }
            elif key not in ("question", "requester"):
                _collect(inner, shown)


def _bounded(ids: list[str]) -> Any:
    if len(ids) <= MOST_IDS:
        return ids
    return {"count": len(ids), "sha256": hashlib.sha256("\n".join(ids).encode()).hexdigest()}
