"""A draft of `versions` from what was recorded of a node: one for each day on which its logic or text changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dbt_attest.annotations.schema import BLANK
from dbt_attest.errors import InputError
from dbt_attest.proposals.proposal import TEMPLATE, Proposal, ordered
from dbt_attest.resolution.recorded_states import RecordedState

_OF_ONE_VERSION = ("effective_from", "definition", "models", "sources", "version")


def with_versions(proposal: Proposal, states: Iterable[RecordedState]) -> Proposal:
    """The proposal with a version for each of these states, the earliest first, dated by their commits.

    When the first one began nobody recorded: its day is a blank. Raises InputError where the annotation has
    `versions` already, or nothing was recorded.
    """
    node_id = proposal.node.unique_id
    if "versions" in proposal.keys:
        raise InputError(
            f"--versions: expected a node without `versions`, found them in the annotation of {node_id}; "
            "`attest timeline --history` tells what was recorded."
        )
    found = _one_a_day(states)
    if not found:
        raise InputError(
            f"--versions: expected something recorded of {node_id}, found nothing; run `attest build`, or "
            "`attest build --from-git` for the past."
        )
    newest = {key: proposal.keys[key] for key in ("models", "sources") if key in proposal.keys}
    versions: list[dict[str, Any]] = []
    reasons = {key: reason for key, reason in proposal.reasons.items() if key not in _OF_ONE_VERSION}
    before: RecordedState | None = None
    for number, state in enumerate(found, start=1):
        text = (state.definition or "").strip()
        version: dict[str, Any] = {"version": number}
        version["effective_from"] = BLANK if before is None else state.day.isoformat()
        reasons[f"versions[{number - 1}].effective_from"] = _reason(before, state)
        if text and not TEMPLATE.search(text):
            version["definition"] = text
        versions.append(version | (newest if number == len(found) else {}))
        before = state
    shared = {key: value for key, value in proposal.keys.items() if key not in _OF_ONE_VERSION}
    unknown = {key: what for key, what in proposal.unknown.items() if key != "definition"}
    return replace(proposal, keys=ordered(shared | {"versions": versions}), reasons=reasons, unknown=unknown)


def _one_a_day(states: Iterable[RecordedState]) -> list[RecordedState]:
    """The last state of each day, where it says something else than the one before."""
    by_day = {state.day: state for state in states}
    found: list[RecordedState] = []
    for day in sorted(by_day):
        if not found or found[-1].says != by_day[day].says:
            found.append(by_day[day])
    return found


def _reason(before: RecordedState | None, state: RecordedState) -> str:
    commit = f", commit {state.git_commit[:12]}" if state.git_commit else ""
    if before is None:
        return f"the first day it holds; first recorded on {state.day}{commit}"
    changed = [
        what
        for what, is_changed in (
            ("text", before.definition != state.definition),
            ("logic", before.logic_hash != state.logic_hash),
        )
        if is_changed
    ]
    return f"correct it: the day its {' and '.join(changed)} changed{commit}"
