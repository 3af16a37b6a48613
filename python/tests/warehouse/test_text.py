"""Awkward text in every place that has text: it comes back as it was, or is named."""

from __future__ import annotations

import pytest

JANUARY = "2025-01-10T09:00:00Z"
MODEL = "model.shop.orders"
TEXTS = {
    "quotes": "O'Brien's \"net\" `x` $1 $$ ; -- \\ {{ ref('x') }} %s",
    "emoji": "🎉 👩‍👩‍👧 é é",
    "right to left": "شركة\u200f עברית \u202e",
    "lines": "one\r\n\ttwo\u2028three",
    "a megabyte": "né " * 350_000 + "end",
}
PLACES = {
    "assertions": ["definition", "grain", "owners[1].name", "names[2]"],
    "columns": ["description"],
    "claims": ["value"],
    "exposures": ["label", "description", "url", "owner_name", "owner_email"],
    "groups": ["owner_name"],
    "executions": ["message"],
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_comes_back_as_it_was(shop, node, text):
    shop.manifest(
        nodes={MODEL: node(MODEL, description=text, columns={"c": {"name": "c", "description": text}},
                           config={"meta": {"owner": text, "attest": {"grain": text, "owner": text}}})},
        metrics={"metric.shop.m": node("metric.shop.m", label=text, type="derived", description=text,
                                       type_params={"expr": text, "metrics": []}, filter=text)},
        exposures={"exposure.shop.e": node("exposure.shop.e", label=text, description=text, url=text,
                                           owner={"name": text, "email": text})},
        groups={"group.shop.g": {"name": "g", "package_name": "shop", "owner": {"name": text}}},
    )  # fmt: skip
    shop.run_results(JANUARY, "one", {"unique_id": MODEL, "status": "error", "message": text})
    assert shop.record() == []
    for table, columns in PLACES.items():
        for column in columns:
            sql = f"select count(*) filter ({column} = $text) from attest.{table}"
            (count,) = shop.connection.execute(sql, {"text": text}).fetchone()
            assert count > 0, (table, column)


def test_an_object_longer_than_duckdb_reads_by_itself(shop, node):
    """Its own limit is 16 MB; a manifest of 33 MB is no trouble, since DuckDB never reads it."""
    shop.manifest(nodes={MODEL: node(MODEL, description="x" * 17_000_000)})
    assert shop.record() == []
    assert shop.rows("select length(definition) from assertions where node_id like 'model%'") == [
        (17_000_000,)
    ]


def test_nul_is_replaced_and_named_by_file_and_place(shop, node):
    nul = "a\0b"
    shop.manifest(
        nodes={
            MODEL: node(MODEL, description=nul, columns={nul: {"name": nul}}, config={"meta": {"owner": nul}})
        },
        exposures={"exposure.shop.e": node("exposure.shop.e", label=nul, owner={"name": nul})},
        groups={},
    )
    shop.run_results(JANUARY, "one", {"unique_id": MODEL, "status": "error", "message": nul})
    shop.record()
    named = "select file, json_path from reader_findings where found like 'a NUL%' order by all"
    assert shop.rows(named) == [
        ("models/e.yml", "exposures['exposure.shop.e'].label"),
        ("models/e.yml", "exposures['exposure.shop.e'].owner.name"),
        ("models/orders.yml", f"nodes['{MODEL}'].columns['a�b']"),
        ("models/orders.yml", f"nodes['{MODEL}'].columns['a�b'].name"),
        ("models/orders.yml", f"nodes['{MODEL}'].config.meta.owner"),
        ("models/orders.yml", f"nodes['{MODEL}'].description"),
        ("run_results.json", "results[0].message"),
    ]
    for table, column in (("assertions", "definition"), ("columns", "column_name"), ("claims", "value"),
                          ("exposures", "label"), ("executions", "message")):  # fmt: skip
        assert ("a�b",) in shop.rows(f"select {column} from {table}"), table
