"""Readiness in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_attest.cli.prose_check import workflow_command
from dbt_attest.cli.prose_demand import plain_cell, questions_text
from dbt_attest.cli.terminal import safe

if TYPE_CHECKING:
    from dbt_attest.resolution.readiness import Condition, Readiness, Repair


def text(found: Readiness) -> str:
    """For people: the verdict, the share of entities that meet each condition, and what to repair first."""
    lines = [safe(_verdict(found)), ""]
    lines += [f"  {one.name:15} {_share(one)}" for one in found.conditions]
    if found.repairs:
        lines += ["", "What would unlock most:"]
        for number, one in enumerate(found.repairs, start=1):
            lines += [f"  {number}. {safe(one.repair)}", f"     {one.condition}, {safe(_concerned(one))}"]
    return "\n".join(lines)


def markdown(found: Readiness) -> str:
    """The same as tables."""
    lines = [f"### attest check: {plain_cell(_verdict(found))}", "", "| condition | met |", "|---|---|"]
    lines += [f"| {one.name} | {_share(one).strip()} |" for one in found.conditions]
    if found.repairs:
        lines += ["", "| what would unlock most | condition | for |", "|---|---|---|"]
        for one in found.repairs:
            lines.append(f"| {plain_cell(one.repair)} | {one.condition} | {plain_cell(_concerned(one))} |")
    return "\n".join(lines)


def github(found: Readiness) -> str:
    """The verdict as one annotation of the workflow."""
    first = f" First: {found.repairs[0].repair}" if found.repairs else ""
    severity = "notice" if found.is_ready else "error"
    return workflow_command(severity, None, None, "readiness", f"{_verdict(found)}{first}")


def _verdict(found: Readiness) -> str:
    verdict = "ready" if found.is_ready else "not ready"
    return f"{found.domain} ({found.environment}): {verdict}; {found.ready} of {found.entities} entities are ready"


def _share(one: Condition) -> str:
    if not one.of:
        return "not applicable"
    # rounded down: 100 % is all of them
    return f"{100 * one.met // one.of:3} %  {one.met} of {one.of}"


def _concerned(one: Repair) -> str:
    names = ", ".join(one.entities[:3]) + (
        f" and {len(one.entities) - 3} more" if len(one.entities) > 3 else ""
    )
    ready = f"; makes {one.makes_ready} ready" if one.makes_ready else ""
    asked = f"; {questions_text(one.questions)}" if one.questions else ""
    return f"for {len(one.entities)} of them ({names}){ready}{asked}"
