"""dbt's `sources.json`, v1 to v3, and dbt 2's `freshness.json`, which also covers models."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.header import Header, Opened, Reading, expectation, open_artifact
from dbt_attest.artifacts.json_file import refusal
from dbt_attest.artifacts.nodes import Freshness, Threshold
from dbt_attest.artifacts.run_results import read_instant
from dbt_attest.artifacts.sections import decode_rows
from dbt_attest.artifacts.states import outcome

_NEXT_STEP = "run `dbt source freshness` again"
_KNOWN_VERSIONS = frozenset(range(0, 4))
# Anything else, `runtime error` first, means that nothing was observed.
_OBSERVED = frozenset({"pass", "warn", "error"})
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}


class Observation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one row says; `position` is its place in the file, from 0.

    `status` is as written; `outcome` is pass, warn, error, or unknown where it could not be observed.
    Instants are UTC; `age_seconds` is as dbt wrote it.
    """

    position: int
    node_id: str
    status: str | None
    outcome: str
    max_loaded_at: datetime | None
    snapshotted_at: datetime | None
    age_seconds: float | None
    warn_after: timedelta | None
    error_after: timedelta | None
    filter: str | None
    message: str | None


class FreshnessResults(Header, frozen=True, kw_only=True, gc=False):
    """One sources.json or freshness.json; `kind` is which."""

    kind: str
    observations: list[Observation]
    findings: list[Finding]


class _Result(msgspec.Struct, gc=False):
    unique_id: str | None = None
    status: Any = None
    max_loaded_at: Any = None
    snapshotted_at: Any = None
    max_loaded_at_time_ago_in_s: float | None = None
    criteria: Freshness | None = None
    error: Any = None


def read_freshness(path: Path) -> FreshnessResults:
    """Read a sources.json or a freshness.json.

    Raises InputError, one sentence, where the file is missing, broken or something else.
    """
    try:
        return _freshness(
            path, open_artifact(path, "sources", _KNOWN_VERSIONS, _NEXT_STEP, or_kind="freshness")
        )
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        found = f"JSON that cannot be decoded ({error})"
        raise refusal(path, expectation("sources"), found, _NEXT_STEP) from None


def _freshness(path: Path, opened: Opened) -> FreshnessResults:
    reading = opened.reading
    observations: list[Observation] = []
    for position, row in decode_rows(reading, opened.sections, "results", _Result):
        if row.unique_id:
            observations.append(_observation(reading, position, row, row.unique_id))
        else:
            reading.found(f"results[{position}].unique_id", expected="a unique_id", found="none; left out")
    return FreshnessResults(
        **msgspec.structs.asdict(opened.header),
        kind="freshness" if path.name.startswith("freshness") else "sources",
        observations=observations,
        findings=sorted_findings(reading.findings),
    )


def _observation(reading: Reading, position: int, row: _Result, node_id: str) -> Observation:
    place = f"results[{position}]"
    state = outcome(row.status)
    loaded = read_instant(reading, f"{place}.max_loaded_at", row.max_loaded_at, node_id)
    criteria = row.criteria or Freshness()
    if state in _OBSERVED and loaded is None:
        # The early versions write `error` for a source that could not be asked.
        state = "unknown"
    return Observation(
        position=position,
        node_id=node_id,
        status=None if row.status is None else str(row.status),
        outcome=state if state in _OBSERVED else "unknown",
        max_loaded_at=loaded,
        snapshotted_at=read_instant(reading, f"{place}.snapshotted_at", row.snapshotted_at, node_id),
        age_seconds=row.max_loaded_at_time_ago_in_s,
        warn_after=age(criteria.warn_after),
        error_after=age(criteria.error_after),
        filter=None if criteria.filter is None else str(criteria.filter),
        # dbt-core#12812: the error of a source can be a number.
        message=None if row.error is None else str(row.error),
    )


def age(limit: Threshold | None) -> timedelta | None:
    """A limit as a duration; None where there is none, or in a unit that is not yet invented."""
    if limit is None or not limit.count or (limit.period or "").rstrip("s") not in _SECONDS:
        return None
    return timedelta(seconds=limit.count * _SECONDS[(limit.period or "").rstrip("s")])
