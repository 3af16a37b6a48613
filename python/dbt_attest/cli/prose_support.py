"""What an answer rests on, and what is known of each of these things, as a person would want to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dbt_attest.cli.prose import instant
from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.result import Support

_WARNINGS = {
    "support_not_in_force": "none of its definitions is in force on that day",
    "logic_changed": "its SQL or expression is another one than when it was recorded",
}


def support(things: Sequence[Support]) -> list[str]:
    """Each thing on a line, what is known of its lineage, runs and freshness below it."""
    lines = ["What it rests on:"]
    for one in things:
        lines.append(f"  {_thing(one)}")
        lines += [f"{'':12}{fact}" for fact in _facts(one)]
    return lines


def _thing(one: Support) -> str:
    if one.kind is None:
        return f"nothing that is recorded ({one.outcome}: {one.reason})"
    if one.outcome == "deny":
        return f"{one.kind:<9} something that these groups may not see"
    name = safe(one.node_id or one.entity_id or "")
    evidence = f"  {safe(one.evidence_id)}" if one.evidence_id else "  (no definition in force)"
    return f"{one.kind:<9} {name}{evidence}  ({one.strength})"


def _facts(one: Support) -> list[str]:
    facts = []
    if one.run_completed_at:
        run = safe((one.run_invocation_id or "")[:12])
        facts.append(
            f"last run {run} on {instant(one.run_completed_at)}: {safe(one.run_status or '')}{_tests(one)}"
        )
    elif one.evidence_class:
        facts.append(f"never run as far as is recorded, only {one.evidence_class.replace('_', ' ')}")
    if one.freshness_now:
        then = (
            f"{one.freshness_then} as of {instant(one.freshness_then_at)}"
            if one.freshness_then
            else "not observed"
        )
        facts.append(
            f"freshness then: {then}; now: {one.freshness_now} as of {instant(one.freshness_now_at)}"
        )
    if one.columns or one.columns_withheld:
        names = [safe(column["name"]) for column in one.columns or ()]
        names += ["others that these groups may not see"] if one.columns_withheld else []
        facts.append(f"columns: {', '.join(names)}")
    return facts + [f"warning ({warning}): {_WARNINGS[warning]}" for warning in one.warnings]


def _tests(one: Support) -> str:
    counts = Counter(test["outcome"] for test in one.tests or ())
    return (
        f"; tests: {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}"
        if counts
        else ""
    )
