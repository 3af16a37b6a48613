"""The reasoning behind an answer, step by step, as a person would want to read it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import groupby

from dbt_attest.cli.prose import instant
from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.result import Step

_WIDTH = 92

_HEADINGS = {
    "entity": "Which entity the name means",
    "knowledge": "What was known of its definitions",
    "standing": "Which of them had standing: approved, authoritative and dated",
    "supersession": "What ended them",
    "scope": "Where they apply",
    "in_force": "What was in force on the day",
    "permission": "What these groups may see",
    "outcome": "Hence",
    "warning": "With warnings",
}

_NAMED_BY = {
    "id": "by its id",
    "alias": "by an alias",
    "dbt_name": "by its dbt name",
    "id_not_stated": "by its id, though nothing of it is stated",
}

_DETAILS = {
    "draft": "a draft",
    "void": "declared void",
    "unclassified": "nobody said whether it has authority",
    "non_authoritative": "not authoritative",
    "untrusted": "untrusted",
    "no_effective_dates": "no date from when it holds",
    "no_authority": "never approved with authority",
    "scope": "its scope is not part of that one's",
    "yields_to_what_is_stated": "it yields to what is still stated",
    "yields_to_narrower_scope": "a narrower scope wins",
    "yields_to_integrity": "others replace one another in a circle",
    "scope_needed": "the request does not say where",
    "scope_conflict": "neither scope holds the other",
    "authority_conflict": "nothing ranks one over the other",
    "integrity": "they replace one another in a circle",
}

_SENTENCES = {
    "meant": "{entity}, {named}",
    "ambiguous": "{entity}, {named}: one of several",
    "not_meant": "not {entity}, which bears it {named}",
    "known": "{evidence_id}: recorded {recorded_at} (assertion {detail})",
    "not_recorded_yet": "{evidence_id}: not recorded until {recorded_at}",
    "standing": "{evidence_id}: yes, {stated}",
    "no_standing": "{evidence_id}: no, {detail}",
    "link_counts": "{other} replaces {evidence_id}: {said}, and that counts",
    "link_does_not_count": "{other} would replace {evidence_id}: {said}, and that does not count: {flaw}",
    "ended": "{evidence_id}: ends before {valid_to}, {ended}",
    "successor_undated": "{evidence_id}: {other} replaces it but says no date, and ends nothing",
    "cycle": "{evidence_id}: {other} and it replace one another, and neither ends",
    "ends_nothing": "{evidence_id}: {other} does not end it: {detail}",
    "applies": "{evidence_id}: applies to {detail}",
    "does_not_apply": "{evidence_id}: not here, only to {detail}",
    "never_in_force": "{evidence_id}: never, nothing of its time is left",
    "begins_later": "{evidence_id}: only later, {interval}",
    "ended_before": "{evidence_id}: no longer, {interval}",
    "covers": "{evidence_id}: {interval}, but {detail}",
    "competes": "{evidence_id}: {interval}, and so are others: {detail}",
    "governs": "{evidence_id}: {interval}, and it governs",
    "permitted": "{evidence_id}: yes, {permitted}",
    "withheld": "something that decides is withheld from them",
}

_ENDS = {
    "expired": "the last day it states",
    "retired": "when it was retired",
    "removed": "when it was no longer stated",
    "superseded": "when {other} begins",
    "superseded_elsewhere": "when {other} of another entity begins",
    "no_authority": "when {other} begins, which lost its authority since",
}


def explanation(steps: Sequence[Step]) -> str:
    """Every step under the heading of its rule."""
    lines = []
    for rule, of_rule in groupby(steps, lambda step: step.rule):
        lines.append(f"{_HEADINGS[rule]}:")
        for step in of_rule:
            lines += textwrap.wrap(
                _sentence(step), _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
            )
    return "\n".join(lines)


def _sentence(step: Step) -> str:
    if step.rule == "outcome":
        evidence = f", {safe(step.evidence_id)}" if step.evidence_id else ""
        return f"{step.finding}: {step.detail}{evidence}"
    if step.rule == "warning":
        return step.finding
    detail, other = step.detail or "", safe(step.other_evidence_id or "")
    said, _, flaw = detail.partition(": ")
    sentence = _SENTENCES[step.finding]
    if step.finding == "covers" and not detail:
        sentence = "{evidence_id}: {interval}"
    return sentence.format(
        entity=safe(step.entity or ""),
        evidence_id=safe(step.evidence_id or ""),
        other=other,
        named=_NAMED_BY.get(detail, ""),
        recorded_at=instant(step.recorded_at),
        detail=_DETAILS.get(detail, safe(detail)),
        stated=f"{_interval(step.valid_from, step.valid_to)} as stated, status {safe(detail)}",
        said=f"{other if said == 'supersedes' else safe(step.evidence_id or '')} says so",
        flaw=_DETAILS.get(flaw, flaw),
        valid_to=step.valid_to or "",
        ended=_ENDS.get(detail, detail).format(other=other),
        interval=_interval(step.valid_from, step.valid_to),
        permitted=_permitted(detail),
    )


def _permitted(detail: str) -> str:
    """By which group, and where that stands; a group's name can have a colon of its own."""
    group, colon, place = detail.rpartition(": ")
    said = "its annotation" if place == "annotation" else safe(place)
    return f"by group {safe(group)}, as {said} says" if colon else f"by group {safe(detail)}"


def _interval(first: date | None, before: date | None) -> str:
    since = f"from {first}" if first else "undated"
    return f"{since} to {before - timedelta(days=1)}" if before else f"{since} on"
