"""What changes the two hashes, and what never does."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_attest.annotations import Definition, ProjectFile, extract
from dbt_attest.artifacts import read_manifest

FULL = {
    "entity_id": "metric.revenue",
    "version": 2,
    "status": "current",
    "authority": "authoritative",
    "approved_by": "Ann",
    "approved_at": "2024-01-01",
    "effective_from": "2024-01-01",
    "effective_to": "2025-01-01",
    "date_basis": "booked_at",
    "owner": [{"name": "A", "effective_from": "2024-01-01"}],
    "grain": "day",
    "title": "Revenue",
    "definition": "Net of tax",
    "supersedes": ["x"],
    "describes": "y",
    "models": ["m"],
    "sources": ["raw.o"],
    "permissions": ["a"],
    "aliases": [{"alias": "Sales", "language": "en"}],
    "scope": {"region": "EU", "kind": "b2b"},
    "certified_until": "2025-01-01",
    "last_verified": "2024-05-01",
}


def hashes(project: Any, block: dict[str, Any], **keys: Any) -> tuple[str, str]:
    definition = project.metric(block, **keys).one()
    return definition.content_hash, definition.state_hash


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", "approved"),
        ("authority", None),
        ("approved_by", "B"),
        ("approved_at", "2024-01-02"),
        ("effective_from", "2024-01-02"),
        ("effective_to", None),
        ("date_basis", "x"),
        ("owner", "B"),
        ("grain", "x"),
        ("title", "x"),
        ("definition", "x"),
        ("supersedes", []),
        ("superseded_by", "z"),
        ("describes", None),
        ("models", []),
        ("sources", None),
        ("aliases", []),
        ("scope", {"region": "US"}),
        ("certified_until", None),
        ("last_verified", None),
        ("entity_type", "kpi"),
        ("evidence_id", "R"),
        ("version", 3),
        ("entity_id", "e"),
    ],
)
def test_saying_something_else_changes_both_hashes(new_project: Any, key: str, value: Any) -> None:
    before, after = hashes(new_project(), FULL), hashes(new_project(), {**FULL, key: value})
    assert before[0] != after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize("keys", [{"original_file_path": "moved.yml"}, {"label": "L"}])
def test_place_and_names_change_the_state_only(new_project: Any, keys: dict[str, Any]) -> None:
    before, after = hashes(new_project(), FULL), hashes(new_project(), FULL, **keys)
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_renamed_node_of_the_same_entity_says_the_same(new_project: Any) -> None:
    before = new_project().node("metric.shop.revenue", FULL).one()
    after = new_project().node("metric.shop.turnover", FULL).one()
    assert before.content_hash == after.content_hash
    assert before.state_hash != after.state_hash


@pytest.mark.parametrize("keys", [{"corrects": "typo"}, {"recorded_at": "2024-01-01T00:00:00Z"}])
def test_the_edit_itself_changes_the_state_only(new_project: Any, keys: dict[str, Any]) -> None:
    before, after = hashes(new_project(), FULL), hashes(new_project(), {**FULL, **keys})
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_permissions_change_neither(new_project: Any) -> None:
    values = [{**FULL, "permissions": value} for value in (["a"], ["b"], [], None, 7)]
    assert len({hashes(new_project(), block) for block in values}) == 1
    assert hashes(new_project().attest_yml("rules: [{path: '**', permissions: [z]}]"), FULL) == hashes(
        new_project(), FULL
    )


def test_newer_latest_version_of_a_model_changes_the_state_only(new_project: Any) -> None:
    def read(latest: int) -> Definition:
        project = new_project().metric({"models": "fct"})
        for version in (1, 2):
            project.node(f"model.shop.fct.v{version}", version=version, latest_version=latest)
        definition: Definition = project.definitions()["metric.shop.revenue"]
        return definition

    one, two = read(1), read(2)
    assert (one.models, two.models) == (["model.shop.fct.v1"], ["model.shop.fct.v2"])
    assert one.content_hash == two.content_hash
    assert one.state_hash != two.state_hash


def test_hashes_are_what_they_were_when_the_contract_was_written(project: Any) -> None:
    # Recorded hashes are compared with new ones for ever: this may only change with the contract's version.
    assert hashes(project, FULL) == PINNED


PINNED = (
    "023248b2b6b47b8da14b3adb6ef11bc975abf0018d1af11e857418d0ef779e38",
    "9119893ce08ff86034fb7f51522324ad4ceac71619e40fc8cf9f68310112c1c2",
)


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def read_all(nodes: dict[str, Any]) -> list[Definition]:
    metadata = {"generated_at": "2026-01-01T00:00:00Z", "project_name": "shop"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest.json"
        path.write_text(json.dumps({"metadata": metadata, "nodes": nodes}))
        return extract(read_manifest(path), ProjectFile(path=Path("attest.yml"))).definitions


@settings(max_examples=60, deadline=None)
@given(
    dates=st.lists(st.dates().map(lambda day: day.isoformat()), min_size=1, max_size=4),
    scopes=st.lists(
        st.dictionaries(st.text(min_size=1, max_size=3), st.text(max_size=3), max_size=3),
        min_size=4,
        max_size=4,
    ),
    owners=st.lists(st.text(max_size=5), max_size=3),
    rng=st.randoms(use_true_random=False),
)
def test_order_of_keys_nodes_and_versions_changes_nothing(
    dates: list[str], scopes: list[dict[str, str]], owners: list[str], rng: random.Random
) -> None:
    versions = [
        {"version": index, "effective_from": day, "scope": scopes[index], "owner": owners}
        for index, day in enumerate(dates)
    ]
    blocks = {"a": {**FULL, "entity_id": "a", "supersedes": None}, "b": {"versions": versions, "grain": "x"}}
    nodes = {
        f"model.shop.{name}": {
            "resource_type": "model",
            "name": name,
            "package_name": "shop",
            "original_file_path": "m.yml",
            "config": {"meta": {"attest": block}},
        }
        for name, block in blocks.items()
    }
    before = read_all(nodes)
    mixed: dict[str, Any] = shuffled(nodes, rng)
    rng.shuffle(mixed["model.shop.b"]["config"]["meta"]["attest"]["versions"])
    assert read_all(mixed) == before
