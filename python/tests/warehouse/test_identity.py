"""Which rows are of which node: names that meet, versions of every form, renamed, disabled and imported nodes."""

from __future__ import annotations

import pytest

JANUARY, FEBRUARY = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2))
STATED = {"authority": "authoritative", "effective_from": "2024-01-01", "permissions": ["everyone"]}
NODES = "select distinct node_id from {} where stated order by all"


def annotated(**keys):
    return {"config": {"meta": {"attest": STATED | keys}}}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ('"db"."main"."orders"', '"db"."main"."orders"'),
        ('"db"."main"."orders"', '"DB"."MAIN"."ORDERS"'),
        ("`db`.`main`.`Orders`", "`db`.`main`.`orders`"),
    ],
    ids=["one relation", "upper case", "another case"],
)
def test_two_nodes_on_one_relation_are_two(shop, node, one, two):
    ids = ("model.shop.a", "model.shop.b")
    column = {"id": {"name": "id"}}
    nodes = {
        unique_id: node(unique_id, alias="orders", relation_name=relation, columns=column, raw_code=unique_id)
        for unique_id, relation in zip(ids, (one, two), strict=True)
    }
    shop.manifest(nodes=nodes, sources={}, exposures={}, groups={})
    real = {"columns": {"ID": {"name": "ID", "type": "INT", "index": 1}}}
    shop.write("catalog", nodes=dict.fromkeys(ids, real), sources={}, errors=None)
    rows = [{"unique_id": unique_id, "status": "success", "relation_name": one} for unique_id in ids]
    shop.run_results(JANUARY, "one", *rows)
    assert shop.record() == []
    for table in ("assertions", "columns"):
        assert shop.rows(NODES.format(table)) == [(unique_id,) for unique_id in ids]
    assert shop.rows("select node_id from executions order by all") == [(unique_id,) for unique_id in ids]
    assert shop.rows("select count(distinct logic_hash) from assertions") == [(2,)]


def test_names_and_keys_that_differ_only_by_case_are_several(shop, node):
    both = {"Id": {"name": "Id", "description": "one"}, "id": {"name": "id", "description": "two"}}
    nodes = {unique_id: node(unique_id, columns=both, **annotated(scope={"EU": "a", "eu": "b"}))
             for unique_id in ("model.shop.Orders", "model.shop.orders")}  # fmt: skip
    shop.manifest(nodes=nodes)
    assert shop.record() == []
    assert shop.rows(
        "select node_id, column_name, description from columns where source = 'yaml' order by all"
    ) == [
        (unique_id, name, said) for unique_id in nodes for name, said in (("Id", "one"), ("id", "two"))
    ]  # fmt: skip
    assert shop.rows("select scope from assertions where node_id like '%rders' and authority is not null") == [
        ({"EU": "a", "eu": "b"},), ({"EU": "a", "eu": "b"},)
    ]  # fmt: skip
    asked = "select outcome, entity from definition_on('model.shop.Orders', '2025-01-01', scope := {})"
    assert shop.rows(asked.format("map {'EU': 'a', 'eu': 'b'}")) == [("answer", "model.shop.Orders")]
    assert shop.rows(asked.format("map {'EU': 'b', 'eu': 'a'}")) == [("abstain", "model.shop.Orders")]


def test_one_name_in_two_packages_is_two_entities(shop, node):
    nodes = {
        unique_id: node(unique_id, **annotated()) for unique_id in ("model.shop.orders", "model.base.orders")
    }
    shop.manifest(nodes=nodes)
    assert shop.record() == []
    asked = "select outcome, entity, len(candidates) from definition_on('{}', '2025-01-01')"
    assert shop.rows(asked.format("model.base.orders")) == [("answer", "model.base.orders", 0)]
    assert shop.rows(asked.format("orders")) == [("clarify", None, 2)]


@pytest.mark.parametrize(
    ("version", "text"), [(2, "2"), ("2", "2"), (2.0, "2.0"), (2.1, "2.1"), ("2024-q1", "2024-q1")]
)
def test_versions_of_every_form(shop, node, version, text):
    unique_id = f"model.shop.fct.v{text}"
    keys = {"version": version, "latest_version": version, "alias": "fct_v9"}
    reader = node("model.shop.r", depends_on={"nodes": [unique_id]})
    shop.manifest(nodes={unique_id: node(unique_id, name="fct", **keys), "model.shop.r": reader})
    assert shop.record() == []
    assert shop.rows(
        "select entity_id, evidence_id, version, latest_version, names from assertions where node_id like '%fct%'"
    ) == [("model.shop.fct", unique_id, text, text, ["fct"])]
    assert (unique_id, "model.shop.r") in shop.rows("select from_node, to_node from lineage_edges")


def test_a_renamed_model_with_its_entity_id_goes_on(shop, node):
    said = annotated(entity_id="entity.orders", definition="All orders")
    for at, name in ((JANUARY, "orders"), (FEBRUARY, "fct_orders")):
        shop.manifest(at, nodes={f"model.shop.{name}": node(f"model.shop.{name}", **said)})
        shop.record()
    assert shop.rows(
        "select node_id, removed_on, still_stated from recorded_assertions "
        "where entity_id = 'entity.orders' order by known_from"
    ) == [("model.shop.orders", None, True), ("model.shop.fct_orders", None, True)]
    asked = "select evidence_id, node_id, warnings from definition_on('entity.orders', '2025-01-01')"
    assert shop.rows(asked) == [("entity.orders", "model.shop.fct_orders", [])]


@pytest.mark.parametrize("form", ["lists", "list"])
def test_a_disabled_version_is_neither_stated_nor_absent(shop, node, form):
    ids = [f"model.shop.fct.v{number}" for number in (1, 2)]
    nodes = {unique_id: node(unique_id, name="fct", version=int(unique_id[-1]), **annotated(effective_from=
             f"202{3 + int(unique_id[-1])}-01-01")) for unique_id in ids}  # fmt: skip
    shop.manifest(JANUARY, nodes=nodes)
    shop.record()
    off = [nodes[ids[0]]]
    disabled = off if form == "list" else {ids[0]: off}
    shop.manifest(FEBRUARY, nodes={ids[1]: nodes[ids[1]]}, disabled=disabled)
    shop.record()
    in_force = "select evidence_id, warnings from definition_on('model.shop.fct', '2024-06-01')"
    assert shop.rows(in_force) == [(ids[0], [])]


def test_a_node_that_is_disabled_and_stated_is_stated(shop, node):
    one = node("model.shop.fct", **annotated(definition="stated"))
    off = one | annotated(definition="switched off")
    shop.manifest(nodes={"model.shop.fct": one}, disabled={"model.shop.fct": [off, off]})
    assert shop.record() == []
    assert shop.rows("select definition, stated from assertions where node_id = 'model.shop.fct'") == [
        ("stated", True)
    ]
    assert shop.rows("select disabled from collections where environment = 'prod'") == [(["catalog"],)]


def test_nodes_imported_from_another_project(shop, node):
    """dbt-loom puts them in with empty paths and without SQL; they are that project's."""
    imported = {"original_file_path": "", "path": "", "patch_path": None, "raw_code": "", "checksum": None,
                "version": 2, "name": "fct", "access": "public", **annotated(definition="theirs")}  # fmt: skip
    theirs = "model.upstream.fct.v2"
    nodes = {
        theirs: node(theirs, **imported),
        "model.shop.r": node("model.shop.r", depends_on={"nodes": [theirs]}),
    }
    shop.manifest(nodes=nodes)
    assert shop.record() == []
    found = "select file, package_name, project_name, evidence_id, logic_hash from assertions where node_id = '{}'"
    assert shop.rows(found.format(theirs)) == [("manifest.json", "upstream", "shop", theirs, None)]
    assert (theirs, "model.shop.r") in shop.rows("select from_node, to_node from lineage_edges")
    # this project no longer imports it: that removes nothing of another project
    shop.manifest(FEBRUARY, nodes={"model.shop.r": node("model.shop.r")})
    shop.record()
    assert shop.rows(f"select stated from assertions where node_id = '{theirs}'") == [(True,)]
