"""What was verified, as a person would want to read it."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.audit_check import AuditCheck
from dbt_attest.resolution.citations import FAILURES, Verdicts
from dbt_attest.resolution.reproduction import Reproduction
from dbt_attest.warehouse.rebuilding import Rebuilt

_WIDTH = 92


def rebuilt(found: Rebuilt) -> str:
    """Whether a warehouse and its archive are the same, with examples of what differs."""
    lines = [
        f"{found.warehouse} and its archive {found.archive}",
        f"  rebuilt    {found.collections} collections, {found.definitions} recorded states of definitions",
    ]
    if found.identical:
        lines.append("  identical  every answer is the same")
    for one in found.differences:
        lines.append(
            f"  differs    {safe(one.what)} ({safe(one.environment)}): {one.only_in_warehouse} only in the warehouse, "
            f"{one.only_in_rebuilt} only in the rebuilt one"
        )
        lines += [f"               {example}" for example in one.examples]
    return "\n".join(lines)


def reproduction(found: Reproduction, file: Path) -> str:
    """Whether a bundle is what its question gives, with every place that differs."""
    if not found.permitted:
        return f"{file}: not permitted any more: by today's permissions these groups may not see what it answers."
    if found.identical:
        return f"{file}: identical, the same question gives the same evidence."
    lines = [f"{file}: differs from what the same question gives."]
    for one in found.departures:
        lines += _wrapped(f"{one.place}: the bundle has {_short(one.in_bundle)}, ")
        lines += _wrapped(f"the warehouse {_short(one.in_warehouse)}", "    ")
    return "\n".join(lines)


def audit(found: AuditCheck, file: Path) -> str:
    """How many lines of an audit were decided again, with every difference."""
    again = found.lines - found.undecided
    lines = [f"{file}: {again} of {found.lines} lines decided again, {len(found.differences)} differences."]
    for one in found.differences:
        if not one.place:
            lines += _wrapped(f"line {one.line}: expected a line of an audit, found {_short(one.in_audit)}")
            continue
        lines += _wrapped(f"line {one.line}, {one.place}: the audit has {_short(one.in_audit)}, ")
        lines += _wrapped(f"the warehouse {_short(one.in_warehouse)}", "    ")
    return "\n".join(lines)


def verdicts(found: Verdicts) -> str:
    """One verdict a claim with its reasons, and the counts."""
    lines = []
    for one in found.verdicts:
        lines += textwrap.wrap(
            f"{'supported  ' if one.supported else 'fails      '}{safe(one.claim)}",
            _WIDTH,
            subsequent_indent=" " * 11,
        )
        for kind, what in one.failures:
            about = f" ({safe(what)})" if what else ""
            lines += _wrapped(f"{kind}: {FAILURES[kind]}{about}", " " * 11)
    counts, shares = found.counts(), found.shares()
    lines += ["" if lines else "No claims.", f"{counts['claims']} claims: {_share(shares['supported'])} supported, "
              f"{_share(shares['cited'])} cited; {counts['citations']} citations: "
              f"{_share(shares['correctly_cited'])} correct"]  # fmt: skip
    return "\n".join(lines)


def _share(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.0%}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return safe(text if len(text) <= 200 else text[:197] + "...")


def _wrapped(text: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
