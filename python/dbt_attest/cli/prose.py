"""Resolutions as a person would want to read them, ready to be pasted into a mail."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.result import Resolution

_WIDTH = 92

#: What each reason of a non-answer means, as the middle of a sentence; `{about}` is filled by `reason`.
_REASONS = {
    "nothing_collected": "nothing has been collected in environment {environment} yet: run `attest build`",
    "unknown_entity": "no entity of that name is known",
    "ambiguous_name": "several entities bear that name: {candidates}",
    "not_recorded_yet": "nothing was recorded about it by then",
    "out_of_scope": "its definitions hold only in other scopes",
    "no_authority": "nothing with authority defines it",
    "draft_only": "there are only drafts of it",
    "void": "its definitions were declared void",
    "no_effective_dates": "no approved definition says from when it holds",
    "before_first": "its first definition begins later{neighbours}",
    "retired": "it was retired{neighbours}",
    "removed": "it is no longer stated{neighbours}",
    "superseded_elsewhere": "the definition of another entity replaced it{by}",
    "expired": "its last definition had ended{neighbours}",
    "gap": "the day lies between two definitions{neighbours}",
    "not_permitted": "these groups may not see it",
    "scope_needed": "the answer depends on where: {candidates}; say it with --scope",
    "scope_conflict": "several definitions of different scope apply: {candidates}",
    "authority_conflict": "several definitions with authority apply at once: {candidates}",
    "integrity": "definitions replace one another in a circle: {candidates}",
}

_WARNINGS = {
    "retroactive": "when the day asked had ended, another definition applied: the past was rewritten",
    "corrected": "the text was corrected after the day asked",
    "backdated": "it was recorded with an earlier date than the file that states it",
    "same_instant": "two files of one instant say different things; the order of their hashes decided",
    "removed": "the project no longer states it",
    "certification_expired": "its certification had expired",
    "unverified": "nobody has verified it for longer than attest.yml allows",
    "successor_undated": "a successor is approved but says no date",
    "status_contradiction": "its declared status contradicts its dates",
    "logic_changed": "the SQL or expression behind it is another one than when it was recorded",
    "stale_collection": "the evidence is older than attest.yml allows: run `attest build`",
}

_LEADS = {
    "abstain": "No answer",
    "clarify": "More is needed for an answer",
    "deny": "Not permitted",
    "review": "A person has to decide",
}


def prose(found: Resolution) -> str:
    """The answer to one question as a paragraph, with the reason where there is no answer."""
    lines = _head(found)
    if found.support is not None:
        from dbt_attest.cli.prose_support import support

        lines += ["", *support(found.support)]
    lines += _footer(found)
    if found.explanation is not None:
        from dbt_attest.cli.prose_explanation import explanation

        lines += ["", explanation(found.explanation)]
    return "\n".join(lines)


def timeline(found: Resolution) -> str:
    """All segments, one line each."""
    lines = [f"{subject(found)}, as known at {instant(found.known_at)}"]
    lines += _segment_lines(found)
    lines += _footer(found)
    return "\n".join(lines)


def _head(found: Resolution) -> list[str]:
    if found.outcome == "answer":
        return _answer(found)
    if found.outcome == "split":
        return [
            f"{subject(found)} {_when(found)} has no single definition:",
            *_segment_lines(found),
        ]
    lead = f"{subject(found)} {_when(found)}. {_LEADS[found.outcome]} ({found.outcome}: {found.reason}): "
    lines = textwrap.wrap(lead + reason(found) + ".", _WIDTH)
    if len(found.segments) > 1:
        lines += _segment_lines(found)
    if found.withheld:
        lines.append("Others take part that these groups may not see.")
    if found.owner:
        lines.append(f"Whom to ask: {safe(found.owner)}.")
    return lines


def _answer(found: Resolution) -> list[str]:
    interval = f"in force {_interval(found.valid_from, found.valid_to)}"
    basis = f" by {safe(found.date_basis)}" if found.date_basis else ""
    assumed = " (today, since no day was asked)" if found.assumed_today else ""
    lines = textwrap.wrap(
        f"{subject(found)} {_when(found)}{assumed}: {safe(found.evidence_id or '')}, "
        f"version {safe(found.version or '1')}, {interval}{basis}.",
        _WIDTH,
    )
    if found.definition:
        lines += ["", *_indented(found.definition), ""]
    approval = " on ".join(filter(None, [safe(found.approved_by or ""), _day(found.approved_at)]))
    facts = [
        f"Approved by {approval}." if found.approved_by else "Nobody is named as having approved it.",
        f"Owner: {safe(found.owner)}." if found.owner else "",
        f"Grain: {safe(found.grain)}." if found.grain else "",
        f"Rests on {', '.join(safe(name) for name in [*(found.models or []), *(found.sources or [])])}."
        if found.models or found.sources
        else "",
        _before_and_after(found),
    ]
    return lines + textwrap.wrap(" ".join(filter(None, facts)), _WIDTH)


def _before_and_after(found: Resolution) -> str:
    said = []
    for neighbour in found.neighbours:
        if found.valid_from and neighbour["valid_from"] < found.valid_from:
            said.append(f"Before it, {_interval(neighbour['valid_from'], neighbour['valid_to'])}: "
                        f"{safe(neighbour['evidence_id'])}.")  # fmt: skip
        elif neighbour["evidence_id"] != found.evidence_id:
            said.append(f"After it, {_interval(neighbour['valid_from'], neighbour['valid_to'])}: "
                        f"{safe(neighbour['evidence_id'])}.")  # fmt: skip
    return " ".join(said)


def _footer(found: Resolution) -> list[str]:
    lines = []
    if found.conflicts:
        lines += ["", "Beside it, and not used:"]
        lines += [
            f"  {safe(one['evidence_id'])} ({one['status']}, {one['authority'].replace('_', '-')})"
            for one in found.conflicts
        ]
    if found.warnings:
        lines += ["", *(f"Warning ({warning}): {_WARNINGS[warning]}." for warning in found.warnings)]
    if found.outcome == "answer":
        lines += [
            "",
            f"As known at {instant(found.known_at)}; recorded {instant(found.recorded_at)}; "
            f"{safe(found.file or '')} in artifact {(found.artifact_id or '')[:12]}, "
            f"content {(found.content_hash or '')[:12]}.",
        ]
    return lines


def _segment_lines(found: Resolution) -> list[str]:
    lines = []
    for part in found.segments:
        what = safe(part.evidence_id) if part.evidence_id else f"{part.outcome}: {part.reason}"
        lines.append(f"  {bounds(part.from_date, part.to_date)}  {what}")
    return lines


def bounds(first: date, last: date) -> str:
    """Two days, both inclusive; the first and last that dates have are left blank."""
    shown_first = "          " if first == date(1, 1, 1) else first.isoformat()
    shown_last = "          " if last == date(9999, 12, 31) else last.isoformat()
    return f"{shown_first} – {shown_last}"


def reason(found: Resolution) -> str:
    """Why there is no answer, as the middle of a sentence."""
    neighbours = "; ".join(
        f"{safe(one['evidence_id'])} {_interval(one['valid_from'], one['valid_to'])}"
        for one in found.neighbours
    )
    candidates = ", ".join(_candidate(one) for one in found.candidates)
    if found.reason == "no_authority" and found.neighbours:
        return f"the definition that replaced the last one lost its authority ({neighbours})"
    by = found.ended_by
    return _REASONS[found.reason].format(
        environment=safe(found.environment),
        neighbours=f" ({neighbours})" if neighbours else "",
        candidates=candidates or "none that these groups may see",
        by=f": {safe(by)}" if by else "",
    )


def _candidate(one: Mapping[str, Any]) -> str:
    name = safe(one["evidence_id"] or one["entity"])
    scope = ", ".join(f"{safe(key)}={safe(value)}" for key, value in sorted(one["scope"].items()))
    return f"{name} ({scope})" if scope else name


def subject(found: Resolution) -> str:
    """The title and name of what was asked about."""
    name = safe(found.entity or found.asked)
    return f"{safe(found.title)} ({name})" if found.title else name


def _when(found: Resolution) -> str:
    if found.on:
        return f"on {_day(found.on)}"
    return f"from {_day(found.from_date)} to {_day(found.to_date)}"


def _interval(first: date | None, before: date | None) -> str:
    """From valid_from and the exclusive valid_to, in words with the last day inclusive."""
    since = f"from {_day(first)}"
    return f"{since} to {_day(before - timedelta(days=1))}" if before else f"{since} on"


def _day(day: date | None) -> str:
    return f"{day.day} {day:%B} {day.year}" if day else ""


def instant(at: datetime | None) -> str:
    """An instant in UTC, to the minute."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "any time"


def _indented(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in safe(text, keep="\n").splitlines():
        lines += textwrap.wrap(paragraph, _WIDTH, initial_indent="  ", subsequent_indent="  ") or [""]
    return lines
