"""What becomes a definition, and under which names and ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.annotations import Owner, ProjectFile, extract
from dbt_attest.artifacts import read_manifest

REAL = Path(__file__).parents[4] / "shared" / "artifacts"
MANIFESTS = [p for p in sorted(REAL.rglob("*manifest*.json")) if p.name != "semantic_manifest.json"]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: str(p.relative_to(REAL)))
def test_real_project_without_annotations_gives_unclassified_entities(path: Path) -> None:
    manifest = read_manifest(path)
    sections = (
        manifest.nodes,
        manifest.sources,
        manifest.metrics,
        manifest.semantic_models,
        manifest.exposures,
    )

    extraction = extract(manifest, ProjectFile(path=Path("attest.yml")))

    assert {d.node_id for d in extraction.definitions} == {
        unique_id for section in sections for unique_id in section
    }
    assert len(extraction.definitions) == sum(map(len, sections))
    assert {d.authority for d in extraction.definitions} <= {None}
    assert {d.status for d in extraction.definitions} <= {"approved"}
    assert not any(d.annotated or d.rules_taken or d.permissions for d in extraction.definitions)
    assert all(re.fullmatch("[0-9a-f]{64}", d.content_hash) for d in extraction.definitions)
    assert extraction.findings == manifest.findings


@pytest.mark.parametrize(
    ("unique_id", "entity_type"),
    [
        ("model.shop.a", "dbt_model"),
        ("seed.shop.a", "dbt_seed"),
        ("snapshot.shop.a", "dbt_snapshot"),
        ("source.shop.raw.a", "source_schema"),
        ("metric.shop.a", "metric_definition"),
        ("semantic_model.shop.a", "semantic_model"),
        ("exposure.shop.a", "exposure"),
    ],
)
def test_every_resource_is_an_entity_of_its_type(project: Any, unique_id: str, entity_type: str) -> None:
    definition = project.node(unique_id, description="Words").one()
    assert (definition.entity_id, definition.evidence_id) == (unique_id, unique_id)
    assert (definition.entity_type, definition.version, definition.definition) == (entity_type, "1", "Words")
    assert definition.node_id == unique_id


def test_tests_saved_queries_and_our_own_package_are_no_entities(project: Any) -> None:
    project.node("test.shop.t").node("analysis.shop.a").node("operation.shop.o").node("model.attest.gaps")
    project.top["saved_queries"] = {"saved_query.shop.q": {"name": "q", "package_name": "shop"}}
    assert project.extract().definitions == []


@pytest.mark.parametrize(
    ("version", "text"), [(2, "2"), (2.0, "2.0"), (3.5, "3.5"), ("2024-q1", "2024-q1"), ("2", "2")]
)
def test_dbt_version_comes_from_its_field(project: Any, version: Any, text: str) -> None:
    definition = project.node(f"model.shop.m.v{text}", version=version, alias="m_v9").one()
    assert (definition.entity_id, definition.version) == ("model.shop.m", text)
    assert definition.evidence_id == f"model.shop.m.v{text}"
    assert definition.names == ["m"]


def test_names_are_dbt_name_and_label(project: Any) -> None:
    project.metric(label="Net revenue").node("source.shop.raw.orders", name="orders")
    definitions = project.definitions()
    assert definitions["metric.shop.revenue"].names == ["revenue", "Net revenue"]
    assert definitions["source.shop.raw.orders"].names == ["orders", "raw.orders"]


def test_annotated_columns_are_entities_of_their_own(project: Any) -> None:
    columns = {
        "amount": {
            "name": "amount",
            "description": "Net",
            "config": {"meta": {"attest": {"authority": "authoritative"}}},
        },
        "old": {"name": "old", "meta": {"attest": {"definition": "attest"}}},
        "id": {"name": "id", "meta": {"x": "attest"}},
    }
    project.node("model.shop.m.v2", version=2, columns=columns)
    definitions = project.definitions()
    assert definitions.keys() == {"model.shop.m.v2", "model.shop.m.amount.v2", "model.shop.m.old.v2"}
    column = definitions["model.shop.m.amount.v2"]
    assert (column.entity_id, column.entity_type, column.names) == (
        "model.shop.m.amount",
        "dbt_column",
        ["m.amount"],
    )
    assert (column.definition, column.node_id, column.annotated) == ("Net", "model.shop.m.v2", True)


def test_file_is_the_yaml_that_annotates(project: Any) -> None:
    keys = {"original_file_path": "models\\fin\\m.sql", "patch_path": "shop://models\\fin\\_m.yml"}
    assert project.node("model.shop.m", {"grain": "row"}, **keys).one().file == "models/fin/_m.yml"
    assert project.node("model.shop.m", **keys).one().file == "models/fin/m.sql"


def test_imported_node_with_empty_paths_is_read(project: Any) -> None:
    assert project.node("model.other.m", original_file_path="", patch_path=None).one().file == "manifest.json"


def test_meta_may_be_null_anywhere(project: Any) -> None:
    project.node("model.shop.a", meta=None, config=None).node(
        "model.shop.b", config={"meta": None}, columns=None
    )
    project.node("source.shop.raw.o", meta=["x"], source_meta=None)
    project.node("model.shop.c", config={"meta": {"attest": None}})
    assert not any(definition.annotated for definition in project.extract().definitions)


def test_block_that_is_no_mapping_is_a_problem(project: Any) -> None:
    (problem,) = project.metric("authoritative").problems()
    assert problem.found == '"authoritative"'
    assert problem.node == "metric.shop.revenue"


def test_top_level_meta_and_config_meta_are_merged_and_a_difference_is_named(project: Any) -> None:
    project.metric({"grain": "day", "owner": "A"}, meta={"attest": {"grain": "week", "title": "T"}})
    definition = project.one()
    assert (definition.grain, definition.title, definition.owners) == ("day", "T", [Owner(name="A")])
    assert project.found() == ['"day" in config.meta, which was taken, and "week" in meta']


def test_table_wins_over_source_and_identity_never_comes_from_the_source(project: Any) -> None:
    source = {
        "entity_id": "x",
        "owner": "S",
        "grain": "g",
        "permissions": ["a"],
        "version": 3,
        "aliases": ["raw"],
    }
    project.node("source.shop.raw.orders", {"grain": "order"}, source_meta={"attest": source})
    # dbt gives a table without an own block the whole of its source's
    project.node("source.shop.raw.plain", source, source_meta={"attest": source})
    project.node("source.shop.raw.null", {"owner": None}, source_meta={"attest": source})
    definitions = project.definitions()
    assert definitions.keys() == {"source.shop.raw.orders", "source.shop.raw.plain", "source.shop.raw.null"}
    assert [d.grain for d in definitions.values()] == ["g", "order", "g"]
    assert [len(d.owners) for d in definitions.values()] == [0, 1, 1]
    assert all(d.permissions == ["a"] and d.aliases == [] and d.version == "1" for d in definitions.values())
    findings = project.extract().findings
    assert {(f.node_id, f.json_path) for f in findings} == {
        ("source.shop.raw", key) for key in ("aliases", "entity_id", "version")
    }


def test_metric_made_by_dbt_is_not_annotated_by_its_semantic_model(project: Any) -> None:
    block = {"authority": "authoritative", "entity_id": "metric.orders"}
    measures = [
        {"name": "amount", "create_metric": False, "config": {"meta": {"attest": block}}},
        {"name": "count", "config": {"meta": {"attest": {"owner": "M"}}}},
        {"name": "other", "config": None},
    ]
    on_semantic_model = {"depends_on": {"nodes": ["semantic_model.shop.orders"]}}
    project.node("semantic_model.shop.orders", block, measures=measures)
    project.node("metric.shop.amount", block, **on_semantic_model)
    project.node("metric.shop.count", {"owner": "M"}, **on_semantic_model)
    project.node("metric.shop.own", {"owner": "M"}, **on_semantic_model)
    definitions = project.definitions()
    assert definitions["metric.orders"].node_id == "semantic_model.shop.orders"
    assert not definitions["metric.shop.amount"].annotated
    assert not definitions["metric.shop.count"].annotated
    assert definitions["metric.shop.own"].annotated
    assert [f.json_path for f in project.extract().findings] == ["measures['count'].config.meta.attest"]


def test_two_statements_of_one_evidence_id_name_both_places(project: Any) -> None:
    project.metric({"evidence_id": "REV"}).document("docs/rev.md", "---\nevidence_id: REV\n---\ntext")
    (problem,) = project.problems()
    assert {problem.file, "models/revenue.yml"} == {"docs/rev.md", "models/revenue.yml"}
    assert "models/revenue.yml (metric.shop.revenue) states it too" in problem.expected
    assert problem.found == "REV"


def test_versions_of_a_model_that_share_one_evidence_id_are_told_where_to_write_it(project: Any) -> None:
    for version in (1, 2):
        project.node(f"model.shop.m.v{version}", {"evidence_id": "M"}, version=version)
    (problem,) = project.problems()
    assert (
        problem.suggestion == "give each version its own evidence_id or version, in the version's own block"
    )


def test_nul_character_is_replaced_and_named(project: Any) -> None:
    definition = project.metric({"grain": "a\x00b"}, description="x\x00").one()
    assert (definition.grain, definition.definition) == ("a�b", "x�")
    assert len(project.found()) == 2


@pytest.mark.parametrize(
    "text", ["O'Brien", 'week\'s "data"', "名前 🎉", "شركة", "{{ Dimension('a__b') }}", "x" * 1_000_000]
)
def test_text_survives_as_it_is(project: Any, text: str) -> None:
    definition = project.metric({"owner": text, "grain": text, "definition": text}).one()
    assert (definition.owners[0].name, definition.grain, definition.definition) == (text, text, text)


def test_keys_differing_only_by_case_are_two_keys(project: Any) -> None:
    project.metric({"scope": {"Region": "EU", "region": "US"}}, meta={"Owner": "x"})
    assert project.one().scope == {"Region": "EU", "region": "US"}
