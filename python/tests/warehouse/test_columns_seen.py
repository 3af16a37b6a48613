"""Of a model whose columns differ in permission, only those that the requester may see; others only where disclosed."""

from __future__ import annotations

import pytest

GOVERNED = {"authority": "authoritative", "effective_from": "2024-01-01", "permissions": ["everyone"]}
UPPER, MODEL = "model.shop.report", "model.shop.orders"
POLICIES = "policies: {board: {groups: [board], existence: hidden}}\n"


def _column(name, permissions=None):
    meta = {} if permissions is None else {"meta": {"attest": {"permissions": permissions}}}
    return {name: {"name": name, "data_type": "text", "config": meta}}


@pytest.fixture
def rests_on_orders(shop, node):
    """Records a report on orders with these columns; gives what support_on says of the columns to a group."""

    def record(columns, open_to="everyone", catalog=None):
        orders = GOVERNED | {"permissions": [open_to]}
        nodes = {
            UPPER: node(UPPER, depends_on={"nodes": [MODEL]}, config={"meta": {"attest": GOVERNED}}),
            MODEL: node(MODEL, columns=columns, config={"meta": {"attest": orders}}),
        }
        (shop.folder / "attest.yml").write_text(POLICIES)
        shop.manifest(sources={}, exposures={}, nodes=nodes)
        if catalog:
            real = {name: {"name": name, "type": "INT", "index": place} for place, name in enumerate(catalog)}
            shop.write("catalog", nodes={MODEL: {"columns": real}}, sources={}, errors=None)
        shop.record()

        def seen(*groups):
            ((columns, others),) = shop.rows(
                "select columns, columns_withheld from "
                f"support_on('{UPPER}', '2025-01-01', groups := {list(groups)}::varchar[])"
            )
            return None if columns is None else [one["name"] for one in columns], others

        return seen

    return record


def test_columns_by_who_asks(rests_on_orders):
    seen = rests_on_orders(
        _column("id")
        | _column("amount", ["everyone"])
        | _column("Salary", ["finance"])
        | _column("plan", ["board"])
    )
    assert seen() == (["amount", "id"], True)
    assert seen("finance") == (["Salary", "amount", "id"], False)
    assert seen("board") == (["amount", "id", "plan"], True)
    assert seen("finance", "board") == (["Salary", "amount", "id", "plan"], False)


def test_a_hidden_column_is_one_that_does_not_exist(rests_on_orders):
    assert rests_on_orders(_column("plan", ["board"]))() == rests_on_orders({})() == (None, False)


def test_the_catalog_names_them_otherwise_and_has_fewer(rests_on_orders):
    seen = rests_on_orders(
        _column("id") | _column("salary", ["finance"]) | _column("gone"), catalog=["SALARY", "ID", "more"]
    )
    assert seen() == (["ID", "more"], True)
    assert seen("finance") == (["SALARY", "ID", "more"], False)


def test_of_a_model_that_is_withheld_nothing_is_told(rests_on_orders):
    seen = rests_on_orders(_column("id"), open_to="finance")
    assert seen() == (None, None)
    assert seen("finance") == (["id"], False)


def test_an_open_column_opens_no_table(rests_on_orders, shop):
    seen = rests_on_orders(_column("id") | _column("amount", ["everyone"]), open_to="finance")
    assert seen() == (None, None)
    assert seen("finance") == (["amount", "id"], False)
    asked = "select outcome, from_node, to_node from lineage_upstream('{}', groups := {}::varchar[])"
    assert shop.rows(asked.format(UPPER, [])) == [("deny", None, UPPER)]
    assert shop.rows(asked.format(UPPER, ["finance"])) == [("answer", MODEL, UPPER)]
