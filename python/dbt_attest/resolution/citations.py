"""Checking an answer's claims against the evidence bundle that it was written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from dbt_attest.errors import InputError

#: Why a claim fails, in the order in which reasons are told.
FAILURES = {
    "uncited": "no evidence is cited",
    "unseen": "the bundle does not hold the cited evidence",
    "not_permitted": "the requester may not see the cited evidence",
    "wrong_entity": "the cited evidence is about another entity",
    "untrusted": "the cited evidence is untrusted",
    "draft": "the cited evidence is a draft, or void",
    "not_authoritative": "the cited evidence is not authoritative",
    "superseded": "the cited evidence no longer held on the day",
    "not_yet_in_force": "the cited evidence did not hold yet on the day",
    "not_in_force": "nothing says that the cited evidence was in force",
    "not_covered": "no cited evidence holds on some of the days",
    "artifact_differs": "the cited file is not the one that says so",
    "content_differs": "the cited hash is not that of the text",
    "misquoted": "the quoted words are not in the cited text",
    "edge_unknown": "the bundle does not hold the lineage edge",
    "edge_broken": "the lineage edge has an end that no artifact contains",
}


@dataclass(frozen=True)
class Verdict:
    """What was found about one claim: supported where `failures` is empty.

    Each failure is a key of FAILURES and the evidence_id, edge or days that it is about.
    """

    claim: str
    failures: tuple[tuple[str, str | None], ...]
    citations: int
    correct_citations: int

    @property
    def supported(self) -> bool:
        """Whether everything that the claim needs is in the bundle and says so."""
        return not self.failures


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on all claims of an answer, in their order."""

    verdicts: tuple[Verdict, ...]

    def as_json(self) -> dict[str, Any]:
        """The verdicts as JSON values."""
        return {
            "verdicts": [
                {
                    "claim": one.claim,
                    "verdict": "supported" if one.supported else "fails",
                    "failures": [{"failure": kind, "about": about} for kind, about in one.failures],
                }
                for one in self.verdicts
            ],
            "counts": self.counts(),
            "shares": self.shares(),
        }

    def counts(self) -> dict[str, int]:
        """How many claims there are, are supported and cite anything; citations, and correct ones."""
        return {
            "claims": len(self.verdicts),
            "supported": sum(one.supported for one in self.verdicts),
            "cited": sum("uncited" not in dict(one.failures) for one in self.verdicts),
            "citations": sum(one.citations for one in self.verdicts),
            "correct_citations": sum(one.correct_citations for one in self.verdicts),
        }

    def shares(self) -> dict[str, float | str]:
        """Supported and cited of all claims, correct of all citations; "n/a" of none."""
        counts = self.counts()
        pairs = {
            "supported": ("supported", "claims"),
            "cited": ("cited", "claims"),
            "correctly_cited": ("correct_citations", "citations"),
        }
        return {
            name: counts[part] / counts[whole] if counts[whole] else "n/a"
            for name, (part, whole) in pairs.items()
        }


def verify_citations(answer: Mapping[str, Any], bundle: Mapping[str, Any]) -> Verdicts:
    """Check every claim of an answer; both of their published forms.

    Raises InputError where a claim's days are none.
    """
    evidence = {one["evidence_id"]: one for one in bundle["evidence"]}
    return Verdicts(tuple(_verdict(claim, bundle, evidence) for claim in answer["claims"]))


def _verdict(claim: Mapping[str, Any], bundle: Mapping[str, Any], evidence: Mapping[str, Any]) -> Verdict:
    first, last = _days(claim, bundle)
    failures: list[tuple[str, str | None]] = []
    citations, edges = claim.get("citations", []), claim.get("edges", [])
    correct = 0
    for citation in citations:
        one = evidence.get(citation["evidence_id"])
        found = list(_of_citation(citation, one, claim, bundle, first, last)) if one else ["unseen"]
        correct += not found
        failures += [(kind, citation["evidence_id"]) for kind in found]
    if not citations and not edges:
        failures.append(("uncited", None))
    if citations and claim.get("applies", True) and not failures:
        cited = [evidence[citation["evidence_id"]] for citation in citations]
        if hole := _hole(cited, first, last):
            failures.append(("not_covered", hole.isoformat()))
    held = {(edge["from_node"], edge["to_node"]): edge for edge in bundle["lineage"]}
    for edge in edges:
        found_edge = held.get((edge["from_node"], edge["to_node"]))
        if found_edge is None or found_edge["broken"]:
            kind = "edge_unknown" if found_edge is None else "edge_broken"
            failures.append((kind, f"{edge['from_node']} → {edge['to_node']}"))
    order = list(FAILURES)
    return Verdict(
        claim["claim"],
        tuple(sorted(failures, key=lambda failure: order.index(failure[0]))),
        len(citations),
        correct,
    )


def _days(claim: Mapping[str, Any], bundle: Mapping[str, Any]) -> tuple[date, date]:
    asked = bundle["question"]
    first, last = claim.get("between", [claim.get("on", asked["from"]), claim.get("on", asked["to"])])
    try:
        days = date.fromisoformat(first), date.fromisoformat(last)
    except ValueError:
        raise InputError(
            f"Claim {claim['claim']!r}: expected days such as 2025-06-30, found {first} and {last}."
        ) from None
    if days[1] < days[0]:
        raise InputError(
            f"Claim {claim['claim']!r}: expected a period, found one that ends before it begins."
        )
    return days


def _of_citation(
    citation: Mapping[str, Any],
    one: Mapping[str, Any],
    claim: Mapping[str, Any],
    bundle: Mapping[str, Any],
    first: date,
    last: date,
) -> Iterator[str]:
    if not one["retrievable"]:
        yield "not_permitted"
        return
    entity = claim.get("entity")
    if entity is not None and entity != one["entity"]:
        asked = bundle["question"]["asked"]
        if entity != asked or bundle["resolution"].get("entity") not in (None, one["entity"]):
            yield "wrong_entity"
    if one["authority"] == "untrusted":
        yield "untrusted"
    elif claim.get("applies", True):
        yield from _no_authority(one)
        yield from _not_then(one, first, last)
    if citation.get("artifact_id", one["artifact_id"]) != one["artifact_id"]:
        yield "artifact_differs"
    if citation.get("content_hash", one["content_hash"]) != one["content_hash"]:
        yield "content_differs"
    quote = " ".join(citation.get("quote", "").split())
    if quote and quote not in " ".join((one["text"] or "").split()):
        yield "misquoted"


def _no_authority(one: Mapping[str, Any]) -> Iterator[str]:
    if one["status"] in ("draft", "void"):
        yield "draft"
    elif one["authority"] != "authoritative":
        yield "not_authoritative"
    elif not one["trustworthy"]:
        yield "not_in_force"


def _not_then(one: Mapping[str, Any], first: date, last: date) -> Iterator[str]:
    if one["valid_from"] is None:
        return
    since, before = _interval(one)
    if before <= first:
        yield "superseded"
    elif last < since:
        yield "not_yet_in_force"


def _interval(one: Mapping[str, Any]) -> tuple[date, date]:
    """Its days, the second one exclusive; open is the last day that dates have."""
    return (
        date.fromisoformat(one["valid_from"]),
        date.fromisoformat(one["valid_to"]) if one["valid_to"] else date.max,
    )


def _hole(cited: list[Mapping[str, Any]], first: date, last: date) -> date | None:
    """The first day of the claim on which nothing cited holds."""
    day = first
    for since, before in sorted(_interval(one) for one in cited if one["valid_from"]):
        if since > day:
            break
        day = max(day, before)
    return day if day <= last else None
