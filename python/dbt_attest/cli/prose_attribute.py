"""An attribute in words: the value, and what every place says about it."""

from __future__ import annotations

from dbt_attest.cli.prose import instant, prose
from dbt_attest.cli.terminal import safe
from dbt_attest.resolution.attributes import Attribute, Claim

_NOT_STATED = {
    "not_stated": "no place states it",
    "cleared": "it was stated before, and is no longer",
    "not_stated_for_the_day": "it is stated for other days",
}


def attribute(found: Attribute) -> str:
    """A sentence with the value, then a line for each place that states it, the believed ones first."""
    if found.resolution.outcome != "answer":
        return prose(found.resolution)
    day = found.resolution.from_date
    name = found.attribute.capitalize()
    of_what = f"{name} of {safe(found.resolution.evidence_id or '')} ({safe(found.resolution.entity or '')})"
    if found.value is None:
        lines = [f"{of_what} on {day.day} {day:%B %Y}: none; {_NOT_STATED[found.reason]}."]
    else:
        lines = [f"{of_what} on {day.day} {day:%B %Y}: {safe(found.value).rstrip('.')}."]
    if found.value_then is not None:
        lines.append(f"As known when that day had ended it was {safe(found.value_then)}.")
    if found.claims:
        lines += ["", *(line for claim in found.claims for line in _claim(claim))]
    return "\n".join(lines)


def _claim(claim: Claim) -> list[str]:
    verdict = "believed" if claim.believed else "not believed"
    days = ""
    if claim.effective_from or claim.effective_to:
        days = f", from {claim.effective_from or 'the beginning'} to {claim.effective_to or 'today and on'}"
    by = " ".join(part for part in (claim.collector, (claim.source_version or "")[:12]) if part)
    facts = [f"said on {instant(claim.observed_at)}"]
    facts += [f"read from {safe(by)}"] if by else []
    facts += ["certified"] if claim.certified else []
    value = safe(" ".join(claim.stated_value.split()))
    return [
        f"  {claim.source:<11} {safe(claim.place)}: {value}{days} ({verdict})",
        f"{'':14}{', '.join(facts)}",
    ]
