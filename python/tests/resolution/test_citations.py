"""Claims against a bundle: each kind of failure, and what is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt_attest import InputError
from dbt_attest.resolution.citations import FAILURES, verify_citations


def _evidence(evidence_id: str, **said: Any) -> dict[str, Any]:
    return {
        "evidence_id": evidence_id, "entity": "metric.b", "role": "governing", "title": None,
        "text": "Net of tax\n and discounts", "version": "1", "status": "approved",
        "authority": "authoritative", "valid_from": "2024-01-01", "valid_to": "2024-07-01",
        "recorded_at": None, "artifact_id": "file", "content_hash": "hash", "git_commit": None, "file": None,
        "retrievable": True, "trustworthy": True, "instructional": False,
    } | said  # fmt: skip


BUNDLE = {
    "question": {"asked": "revenue", "from": "2024-05-01", "to": "2024-05-01"},
    "resolution": {"entity": "metric.b"},
    "evidence": [
        _evidence("v1"),
        _evidence("v2", valid_from="2024-07-01", valid_to=None),
        _evidence("d", status="draft", authority="non_authoritative", trustworthy=False, valid_from=None),
        _evidence("n", authority="non_authoritative", trustworthy=False, valid_from=None),
        _evidence("c", trustworthy=False, role="candidate", valid_from=None),
        _evidence("u", authority="untrusted", trustworthy=False, valid_from=None),
        _evidence("x", retrievable=False),
    ],
    "lineage": [
        {"from_node": "model.a", "to_node": "metric.b", "broken": False},
        {"from_node": "model.gone", "to_node": "model.a", "broken": True},
    ],
}


def _of(**claim: Any) -> list[str]:
    found = verify_citations({"claims": [{"claim": "so it is"} | claim]}, BUNDLE)
    return [kind for kind, _ in found.verdicts[0].failures]


def _cited(evidence_id: str, **citation: Any) -> list[dict[str, Any]]:
    return [{"evidence_id": evidence_id} | citation]


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("supported", {"citations": _cited("v1", quote="Net of tax and", artifact_id="file", content_hash="hash")}, []),
    ("by its entity", {"entity": "metric.b", "citations": _cited("v1")}, []),
    ("by the name asked", {"entity": "revenue", "citations": _cited("v1")}, []),
    ("uncited", {}, ["uncited"]),
    ("an empty list", {"citations": []}, ["uncited"]),
    ("unseen", {"citations": _cited("v9")}, ["unseen"]),
    ("not permitted", {"citations": _cited("x")}, ["not_permitted"]),
    ("another entity", {"entity": "metric.c", "citations": _cited("v1")}, ["wrong_entity"]),
    ("superseded by then", {"on": "2024-07-01", "citations": _cited("v1")}, ["superseded"]),
    ("the last day", {"on": "2024-06-30", "citations": _cited("v1")}, []),
    ("before it held", {"on": "2023-12-31", "citations": _cited("v1")}, ["not_yet_in_force"]),
    ("a draft", {"citations": _cited("d")}, ["draft"]),
    ("that a draft says so", {"applies": False, "citations": _cited("d")}, []),
    ("no authority", {"citations": _cited("n")}, ["not_authoritative"]),
    ("one of several", {"citations": _cited("c")}, ["not_in_force"]),
    ("untrusted", {"citations": _cited("u")}, ["untrusted"]),
    ("untrusted in any case", {"applies": False, "citations": _cited("u")}, ["untrusted"]),
    ("another file", {"citations": _cited("v1", artifact_id="other")}, ["artifact_differs"]),
    ("another hash", {"citations": _cited("v1", content_hash="other")}, ["content_differs"]),
    ("misquoted", {"citations": _cited("v1", quote="net of refunds")}, ["misquoted"]),
    ("half a period", {"between": ["2024-05-01", "2024-08-01"], "citations": _cited("v1")}, ["not_covered"]),
    ("a whole period", {"between": ["2024-05-01", "2024-08-01"],
                        "citations": [*_cited("v2"), *_cited("v1")]}, []),
    ("an edge", {"edges": [{"from_node": "model.a", "to_node": "metric.b"}]}, []),
    ("no such edge", {"edges": [{"from_node": "metric.b", "to_node": "model.a"}]}, ["edge_unknown"]),
    ("a broken edge", {"edges": [{"from_node": "model.gone", "to_node": "model.a"}]}, ["edge_broken"]),
    ("two failures", {"on": "2024-08-01", "citations": _cited("v1", quote="nonsense")},
     ["superseded", "misquoted"]),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "failures"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_claim(claim, failures):
    assert _of(**claim) == failures


def test_every_kind_of_failure_has_a_case():
    assert {kind for _, _, failures in CASES for kind in failures} == set(FAILURES)


def test_counts_and_shares():
    claims = [
        {"claim": "right", "citations": _cited("v1")},
        {"claim": "half", "citations": [*_cited("v1"), *_cited("v9")]},
        {"claim": "none"},
    ]
    found = verify_citations({"claims": claims}, BUNDLE)
    assert found.counts() == {
        "claims": 3,
        "supported": 1,
        "cited": 2,
        "citations": 3,
        "correct_citations": 2,
    }
    assert found.shares() == {"supported": 1 / 3, "cited": 2 / 3, "correctly_cited": 2 / 3}


def test_shares_of_nothing_are_not_whole():
    assert verify_citations({"claims": []}, BUNDLE).shares() == {
        "supported": "n/a",
        "cited": "n/a",
        "correctly_cited": "n/a",
    }
    assert verify_citations({"claims": [{"claim": "none"}]}, BUNDLE).shares()["correctly_cited"] == "n/a"


@pytest.mark.parametrize("days", [["2024-02-30", "2024-03-01"], ["2024-03-02", "2024-03-01"]])
def test_days_that_are_none(days):
    with pytest.raises(InputError, match="Claim 'so it is': expected"):
        _of(between=days, citations=_cited("v1"))


def test_through_the_command(world, attest, tmp_path):
    said = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative",
            "permissions": ["everyone"], "effective_from": "2024-01-01", "definition": "Net of tax"}  # fmt: skip
    world.collect("2025-01-10T09:00:00Z", {"v1": said})
    bundle, answer = tmp_path / "bundle.json", tmp_path / "answer.json"
    bundle.write_text(
        attest(world.folder, "resolve", "metric.b", "--on", "2024-05-01", "--bundle").output, encoding="utf-8"
    )
    claims = [{"claim": "Revenue is net of tax.", "citations": _cited("v1", quote="Net of tax")}]
    answer.write_text(json.dumps({"claims": claims}), encoding="utf-8")
    words = ["verify", str(answer), "--bundle", str(bundle)]
    ran = attest(tmp_path, *words)
    assert (ran.code, ran.output) == (
        0,
        "supported  Revenue is net of tax.\n\n1 claims: 100% supported, 100% cited; 1 citations: 100% correct\n",
    )
    answer.write_text(json.dumps({"claims": [*claims, {"claim": "And blue."}]}), encoding="utf-8")
    ran = attest(tmp_path, *words, "--format", "json")
    assert ran.code == 1
    assert ran.json["verdicts"][1] == {
        "claim": "And blue.",
        "verdict": "fails",
        "failures": [{"failure": "uncited", "about": None}],
    }
    answer.write_text('{"claims": [{"claim": "x", "citation": []}]}', encoding="utf-8")
    ran = attest(tmp_path, *words)
    assert ran.code == 2
    assert (
        "`claims[0].citation`: expected a known key, found `citation`; did you mean `citations`?"
        in ran.sentence
    )
