"""`attest lineage` as people see it: text, JSON, Mermaid, exit codes and sentences."""

from __future__ import annotations

import json

import pytest

READS = {"stg": [], "fct": ["stg"], "revenue": ["fct", "gone"]}


@pytest.fixture
def shop(world, make_manifest, make_project):
    """Three metrics that read one another, one of them an end that nothing contains."""
    stated = {"permissions": ["everyone"], "authority": "authoritative", "effective_from": "2024-01-01"}
    manifest = make_manifest("2025-01-10T09:00:00Z", {name: stated | {"owner": "Ann"} for name in READS})
    for name, reads in READS.items():
        nodes = {"nodes": [f"metric.shop.{one}" for one in reads]}
        manifest["metrics"][f"metric.shop.{name}"]["depends_on"] = nodes
    make_project(world.folder, manifest, "environment: prod\n")
    return world.folder


@pytest.fixture
def built(shop, attest):
    assert attest(shop, "build").code == 0
    return shop


def test_text_lists_edges_under_the_nearer_node(built, attest):
    ran = attest(built, "lineage", "revenue")
    assert ran.code == 0
    seen = "seen 2025-01-10 09:00 UTC to 2025-01-10 09:00 UTC"
    assert ran.output.splitlines() == [
        "What metric.shop.revenue stands on:",
        "",
        "metric.shop.revenue",
        f"  ← metric.shop.fct  (metric, compiled, {seen})",
        f"  ← metric.shop.gone  (metric, compiled, {seen}, broken)",
        "",
        "metric.shop.fct",
        f"  ← metric.shop.stg  (metric, compiled, {seen})",
        "",
        "It is incomplete: an end is withheld or broken.",
    ]
    assert attest(built, "lineage", "revenue", "--up").output == ran.output


def test_down_path_and_impact(built, attest):
    down = attest(built, "lineage", "stg", "--down").output
    assert "→ metric.shop.fct" in down
    assert "incomplete" not in down
    path = attest(built, "lineage", "stg", "--path", "revenue").output.splitlines()
    assert [line.split("  (")[0].strip() for line in path] == [
        "metric.shop.stg",
        "→ metric.shop.fct",
        "→ metric.shop.revenue",
    ]
    assert attest(built, "lineage", "revenue", "--path", "stg").output.splitlines() == path
    assert attest(built, "lineage", "stg", "--impact").output.splitlines() == [
        "What stands on metric.shop.stg:",
        "  (metric.shop.fct): in force from 2024-01-01 on; owner: Ann",
        "  (metric.shop.revenue): in force from 2024-01-01 on; owner: Ann",
    ]


def test_json(built, attest):
    said = json.loads(attest(built, "lineage", "revenue", "--format", "json").output)
    assert (said["outcome"], said["node"], said["complete"]) == ("answer", "metric.shop.revenue", False)
    assert {(edge["from_node"], edge["to_node"], edge["broken"]) for edge in said["edges"]} == {
        ("metric.shop.fct", "metric.shop.revenue", False),
        ("metric.shop.gone", "metric.shop.revenue", True),
        ("metric.shop.stg", "metric.shop.fct", False),
    }
    said = json.loads(attest(built, "lineage", "stg", "--impact", "--format", "json").output)
    assert {one["node_id"] for one in said["affected"]} == {"metric.shop.fct", "metric.shop.revenue"}


def test_mermaid(built, attest):
    assert attest(built, "lineage", "fct", "--format", "mermaid").output.splitlines() == [
        "flowchart LR",
        '  n0["metric.shop.fct"]',
        '  n1["metric.shop.stg"]',
        "  n1 --> n0",
    ]


def test_no_lineage_is_an_answer_too(built, attest):
    ran = attest(built, "lineage", "stg")
    assert (ran.code, ran.output) == (0, "stg: no lineage is recorded there.\n")
    ran = attest(built, "lineage", "revenue", "--path", "gone", "--known-at", "2025-01-09")
    assert ran.code == 0
    assert "no way leads from one to the other" in ran.output


def test_an_unknown_node_has_near_names(built, attest):
    ran = attest(built, "lineage", "revenu")
    assert ran.code == 2
    assert ran.sentence == (
        "attest: expected a node that you may see, found none named revenu; did you mean metric.shop.revenue?"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--up", "--down"], "Expected one of --up, --down, --path and --impact, found several; name one."),
        (["--impact", "--format", "mermaid"], "--format mermaid: expected a graph, found --impact, which is a list."),
        (["--known-at", "2999-01-01"], "attest: Known_at lies in the future: 2999-01-01."),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_one_sentence(built, attest, words, sentence):
    ran = attest(built, "lineage", "stg", *words)
    assert ran.code == 2
    assert sentence in ran.errors
