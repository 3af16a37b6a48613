"""How answers changed, and where two differ, as a person would want to read it."""

from __future__ import annotations

import textwrap
from datetime import date
from itertools import groupby
from typing import Any

from dbt_attest.cli.prose import bounds, instant, reason, subject
from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.changes import AnswerChange, Changes
from dbt_attest.resolution.differences import Differences

_WIDTH = 92
_FIRST, _LAST = date(1, 1, 1), date(9999, 12, 31)


def changes(found: Changes) -> str:
    """Every change with its instant, days and cause, the earliest first."""
    said = found.resolution
    if not found.changes:
        why = reason(said) if said.entity is None or said.outcome == "deny" else "nothing was ever an answer"
        return f"{subject(said)}: no changes ({why})."
    lines = [f"{subject(said)}: how its answers changed, as known at {instant(said.known_at)}"]
    for known_at, at_once in groupby(found.changes, lambda one: one.known_at):
        lines += ["", f"From {instant(known_at)}"]
        for change in at_once:
            days = bounds(change.from_date or _FIRST, change.to_date or _LAST)
            lines.append(f"  {days}  {_answer(change)}")
            lines += [
                f"{'':27}because {safe(one['evidence_id'])} was {one['change']} ({one['artifact_id'][:12]})"
                for one in change.because
            ]
    return "\n".join(lines)


def _answer(change: AnswerChange) -> str:
    before = _said(change.outcome_before, change.reason_before, change.evidence_id_before)
    after = _said(change.outcome, change.reason, change.evidence_id)
    if before == after:
        hashes = ((one or "")[:12] for one in (change.content_hash_before, change.content_hash))
        return f"{after}, with another content: {' → '.join(hashes)}"
    return f"{before} → {after}"


def _said(outcome: str, why: str, evidence_id: str | None) -> str:
    return safe(evidence_id) if evidence_id else f"{outcome}: {why}"


def differences(found: Differences) -> str:
    """Every attribute that differs, with both values."""
    before, after = found.before, found.after
    if after.on:
        compared = f"{before.on} and {after.on}"
    else:
        compared = f"what was known at {instant(before.known_at)} and at {instant(after.known_at)}"
    if not found.differences:
        why = f" ({reason(after)})" if after.entity is None or after.outcome == "deny" else ""
        return f"{subject(after)}: no difference between {compared}{why}."
    lines = [f"{subject(after)}: {compared}"]
    for one in found.differences:
        lines += [] if after.on else ["", bounds(one.from_date, one.to_date).strip()]
        for name, (first, second) in one.attributes.items():
            lines += _attribute(name.replace("_", " "), _text(first), _text(second))
    return "\n".join(lines)


def _attribute(label: str, first: str, second: str) -> list[str]:
    if len(first) + len(second) < 60:
        return _wrapped(f"{label}: {first} → {second}")
    return [*_wrapped(f"{label} was: {first}"), *_wrapped(f"{label} is: {second}")]


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{safe(key)}={safe(item)}" for key, item in sorted(value.items()))
    if isinstance(value, list):
        return ", ".join(safe(item) for item in value)
    return safe(" ".join(str(value).split()))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
