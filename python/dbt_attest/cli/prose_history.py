"""A history as a person would want to read it."""

from __future__ import annotations

import textwrap
from itertools import groupby

from dbt_attest.cli.prose import instant, reason, subject
from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.history import Change, History

_WIDTH = 92
_LABELS = {"logic_hash": "SQL or expression", "definition": "definition"}


def history(found: History) -> str:
    """Every change with its instant, file and commit, the earliest first."""
    said = found.resolution
    if not found.changes:
        why = reason(said) if said.entity is None or said.outcome == "deny" else "nothing was recorded"
        return f"{subject(said)}: no history ({why})."
    lines = [f"{subject(said)}: what was asserted, as known at {instant(said.known_at)}"]
    for (known_from, source), changes in groupby(found.changes, lambda one: (one.known_from, _source(one))):
        lines += ["", f"{instant(known_from)}  {source}"]
        for evidence_id, of_one in groupby(changes, lambda one: one.evidence_id):
            lines += _definition(evidence_id, list(of_one))
    return "\n".join(lines)


def _source(change: Change) -> str:
    kind = change.artifact_kind or "artifact"
    said = f"{kind} {(change.artifact_id or '')[:12]}"
    if change.git_commit is None:
        return said
    written = f" of {change.authored_at:%Y-%m-%d}" if change.authored_at else ""
    return f"commit {change.git_commit[:10]}{written}, {said}"


def _definition(evidence_id: str, changes: list[Change]) -> list[str]:
    whole = {change.change for change in changes if change.attribute is None}
    what = "added" if "added" in whole else "no longer stated" if "removed" in whole else "changed"
    file = f", in {safe(changes[0].file)}" if changes[0].file and what == "added" else ""
    lines = [f"  {safe(evidence_id)}  {what}{file}"]
    for change in changes:
        if change.attribute is None or (what == "added" and change.attribute == "file"):
            continue
        lines += _attribute(change)
    return lines


def _attribute(change: Change) -> list[str]:
    name = change.attribute or ""
    label = _LABELS.get(name, name.replace("_", " "))
    before, after = (value and safe(_short(name, value)) for value in (change.before, change.after))
    if before is None:
        return _wrapped(f"{label}: ", after or "")
    if after is None:
        return _wrapped(f"{label}: ", f"none any more; it was {before}")
    if len(before) + len(after) < 60:
        return _wrapped(f"{label}: ", f"{before} → {after}")
    return [*_wrapped(f"{label} was: ", before), *_wrapped(f"{label} now: ", after)]


def _short(attribute: str, value: str) -> str:
    return value[:12] if attribute.endswith("_hash") else " ".join(value.split())


def _wrapped(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        lead + text, _WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False
    )
