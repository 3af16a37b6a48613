"""`attest annotate`: YAML with blanks, suggestions, sheets both ways, and a project's own files."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
import yaml

from dbt_attest.artifacts.nodes import Node, Source
from dbt_attest.proposals.yaml_edit import CannotEdit, PropertyFile

BIN = Path(sys.executable).parent
METRICS = """\
# what the shop counts
metrics:
  - name: revenue      # in euros
    label:   Revenue

    # how it is made
    type_params: {measure: amount}
  - {name: visits, type: simple}
"""


def node(name, kind="metric", file="models/metrics.yml", **more):
    return {
        "unique_id": f"{kind}.shop.{name}",
        "resource_type": kind,
        "name": name,
        "package_name": "shop",
        "original_file_path": file,
        **more,
    }


MODELS = {
    "model.shop.orders": node(
        "orders", "model", "models/orders.sql", patch_path="shop://models/models.yml", primary_key=["order_id"],
        description="One order.", group="finance", depends_on={"nodes": ["source.shop.raw.orders"]},
    ),
    "model.shop.orders_old": node(
        "orders_old", "model", "models/orders_old.sql", deprecation_date="2025-06-30T00:00:00+02:00",
        config={"meta": {"business_term": "Order"}},
    ),
}  # fmt: skip


@pytest.fixture
def project(tmp_path, make_project, make_manifest):
    """A project with two metrics in a file, and what more is said."""

    def write(metrics=(), attest_yml="rules: [{path: '**', permissions: [everyone]}]\n", **sections):
        manifest = make_manifest("2025-02-10T09:00:00Z", {"revenue": {}, "visits": {}})
        for name in ("revenue", "visits"):
            one = manifest["metrics"][f"metric.shop.{name}"]
            one["config"] = {}
            one |= dict(metrics).get(name, {})
        folder = make_project(tmp_path / "shop", manifest | sections, attest_yml)
        (folder / "models").mkdir()
        (folder / "models" / "metrics.yml").write_text(METRICS, encoding="utf-8")
        return folder

    return write


def estate(project):
    orders = node("orders", "source", source_name="raw") | {"unique_id": "source.shop.raw.orders"}
    finance = {"name": "finance", "package_name": "shop", "owner": {"name": "Finance"}}
    board = node("board", "exposure", owner={"name": "Ann"}, depends_on={"nodes": ["model.shop.orders"]})
    reads = {"revenue": "metric.shop.visits", "visits": "model.shop.orders"}
    return project(
        {name: {"depends_on": {"nodes": [read]}} for name, read in reads.items()},
        nodes=MODELS,
        sources={"source.shop.raw.orders": orders},
        groups={"group.shop.finance": finance},
        exposures={"exposure.shop.board": board},
        # it bears the name of its model, and is not what people annotate
        semantic_models={"semantic_model.shop.orders": node("orders", "semantic_model", "models/models.yml")},
    )


def sheet_of(text, **cells):
    rows = list(csv.DictReader(io.StringIO(text)))
    written = io.StringIO()
    writer = csv.DictWriter(written, rows[0].keys(), delimiter=";")
    writer.writeheader()
    writer.writerows([row | cells.get(row["node"].rsplit(".", 1)[-1], {}) for row in rows])
    return written.getvalue()


FILLED = {"authority": "authoritative", "effective_from": "2024-01-01", "approved_by": "Council"}


def test_what_is_known_is_filled_in_and_the_rest_is_blank(attest, project):
    ran = attest(estate(project), "annotate", "orders", "--format", "json")
    (said,) = ran.json
    assert (said["node_id"], said["file"]) == ("model.shop.orders", "models/models.yml")
    assert said["annotation"] == {
        "authority": "FILL_IN",
        "effective_from": "FILL_IN",
        "approved_by": "FILL_IN",
        "owner": "Finance",
        "grain": "one row per order_id",
        "definition": "One order.",
        "sources": ["raw.orders"],
    }
    assert said["blanks"] == ["authority", "effective_from", "approved_by"]


def test_a_metric_rests_on_the_models_behind_its_metrics(attest, project):
    said = attest(estate(project), "annotate", "revenue", "--format", "json").json[0]["annotation"]
    assert said["models"] == ["orders"]


def test_the_text_is_a_property_file_and_no_blank_is_valid(attest, project):
    folder = project({"revenue": {"description": "What came in,\n\nin full."}})
    text = attest(folder, "annotate", "revenue").output
    block = yaml.safe_load(text)["metrics"][0]["config"]["meta"]["attest"]
    assert block["definition"] == "What came in,\n\nin full."
    manifest = json.loads((folder / "target" / "manifest.json").read_text(encoding="utf-8"))
    manifest["metrics"]["metric.shop.revenue"]["config"] = {"meta": {"attest": block}}
    (folder / "target" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    ran = attest(folder, "check")
    assert ran.code == 2
    assert [line.split("`")[1] for line in ran.errors.splitlines()] == [
        "approved_by",
        "authority",
        "effective_from",
    ]
    assert ran.errors.count("FILL_IN") == 3


def test_what_is_said_or_ruled_is_not_asked_again(attest, project):
    rules = "rules: [{path: '**', permissions: [everyone], authority: non_authoritative}]\n"
    ran = attest(project(attest_yml=rules), "annotate", "visits", "--format", "json")
    assert ran.json[0]["annotation"] == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("revenu", "did you mean revenue?"), ("elsewhere/**", "or a folder of them")],
)
def test_an_unknown_name_is_a_sentence(attest, project, name, expected):
    ran = attest(project(), "annotate", name)
    assert ran.code == 2
    assert expected in ran.sentence


def test_a_folder_and_a_table_by_its_bare_name_beside_a_model(attest, project):
    folder = estate(project)

    def found(*names):
        return [one["node_id"] for one in attest(folder, "annotate", *names, "--format", "json").json]

    assert found("orders", "raw.orders") == ["model.shop.orders", "source.shop.raw.orders"]
    assert len(found("models")) == 6
    assert found("models/models.yml") == ["model.shop.orders"]


def test_suggestions_have_reasons(attest, project):
    found = attest(estate(project), "annotate", "--suggest", "--format", "json").json
    said = {(one["node_id"].rpartition(".")[2], one["key"], one["value"]) for one in found}
    assert {
        ("orders", "owner", "Finance"),
        ("orders", "owner", "Ann"),
        ("orders", "supersedes", "1"),
        ("orders_old", "entity_id", "model.orders"),
        ("orders_old", "entity_id", "Order"),
        ("orders_old", "effective_to", "2025-06-30"),
    } <= said
    assert all(one["reason"] for one in found)


def test_a_sheet_there_and_back(attest, project):
    folder = project({"revenue": {"description": "What came in; all of it."}})
    sheet = attest(folder, "annotate", "--csv").output
    (folder / "sheet.csv").write_text(
        sheet_of(sheet, revenue=FILLED | {"owner": "Ann; Ben"}), encoding="utf-8-sig"
    )
    ran = attest(folder, "annotate", "--from-csv", "sheet.csv")
    block = yaml.safe_load(ran.output)["metrics"][0]["config"]["meta"]["attest"]
    assert block["owner"] == ["Ann", "Ben"]
    assert block["definition"] == "What came in; all of it."
    assert "metric.shop.visits: passed over" in ran.errors


def test_what_dbt_states_is_not_said_twice_of_what_is_only_used(attest, project):
    folder = estate(project)
    cells = {"authority": "non_authoritative", "grain": "one row per line"}
    sheet = sheet_of(attest(folder, "annotate", "model.shop.orders", "--csv").output, orders=cells)
    (folder / "sheet.csv").write_text(sheet, encoding="utf-8")
    (said,) = attest(folder, "annotate", "--from-csv", "sheet.csv", "--format", "json").json
    assert said["annotation"] == cells


def test_every_problem_of_a_sheet_is_told_with_its_row(attest, project):
    folder = project()
    sheet = attest(folder, "annotate", "--csv").output
    wrong = sheet_of(
        sheet,
        revenue=FILLED | {"effective_from": "01/02/2024"},
        visits=FILLED | {"status": "aproved", "definition": "{{ x }}"},
    )
    (folder / "sheet.csv").write_text(wrong, encoding="utf-8")
    ran = attest(folder, "annotate", "--from-csv", "sheet.csv", "--write", "--yes")
    assert ran.code == 2
    assert [line.partition(" (")[0] for line in ran.errors.splitlines()] == [
        "attest: sheet.csv:2",
        "sheet.csv:3",
        "sheet.csv:3",
    ]
    assert (folder / "models" / "metrics.yml").read_text(encoding="utf-8") == METRICS


def test_writing_adds_lines_and_changes_nothing_else(attest, project):
    folder = project()
    sheet = sheet_of(attest(folder, "annotate", "--csv").output, revenue=FILLED, visits=FILLED)
    (folder / "sheet.csv").write_text(sheet, encoding="utf-8")
    file = folder / "models" / "metrics.yml"
    file.chmod(0o640)
    ran = attest(folder, "annotate", "--from-csv", "sheet.csv", "--write")
    assert (ran.code, file.read_text(encoding="utf-8")) == (2, METRICS)
    assert "--yes" in ran.sentence
    ran = attest(folder, "annotate", "--from-csv", "sheet.csv", "--write", "--yes")
    assert ran.code == 0
    assert ran.output.startswith("--- a/models/metrics.yml\n+++ b/models/metrics.yml\n")
    assert file.read_text(encoding="utf-8") == METRICS.replace(
        "    label:   Revenue\n",
        "    label:   Revenue\n    config:\n      meta:\n        attest:\n          authority: authoritative\n"
        "          effective_from: 2024-01-01\n          approved_by: Council\n",
    ).replace(
        "type: simple}",
        "type: simple, config: {meta: {attest: {authority: authoritative, effective_from: 2024-01-01, "
        "approved_by: Council}}}}",
    )
    assert oct(file.stat().st_mode)[-3:] == "640"
    assert sorted(one.name for one in file.parent.iterdir()) == ["metrics.yml"]


def test_blanks_are_never_written(attest, project):
    ran = attest(project(), "annotate", "revenue", "--write", "--yes")
    assert (ran.code, ran.output) == (1, "Nothing to write.\n")
    assert "authority, effective_from, approved_by" in ran.sentence


def test_versions_from_what_was_recorded(attest, world):
    for at, text in (("2024-03-01", "Gross."), ("2024-05-01", "Gross."), ("2024-06-01", "Net.")):
        world.collect(f"{at}T09:00:00Z", {"revenue": {"definition": text}})
    ran = attest(world.folder, "annotate", "revenue", "--versions")
    block = yaml.safe_load(ran.output)["metrics"][0]["config"]["meta"]["attest"]
    assert [(str(one["effective_from"]), one["definition"]) for one in block["versions"]] == [
        ("FILL_IN", "Gross."),
        ("2024-06-01", "Net."),
    ]
    assert "first recorded on 2024-03-01" in ran.output
    assert "the day its text changed" in ran.output


EDITED = {
    "no newline at the end": "metrics: [{name: a}]",
    "windows": "metrics:\r\n- name: a\r\n  type: simple\r\n",
    "meta of people": "metrics:\n- name: a\n  config:\n    # theirs\n    meta:\n      owner: b   # who\n",
    "older meta": "metrics:\n- name: a\n  meta: {owner: b}\n",
    "a text of lines": "metrics:\n- name: a\n  description: |\n    x\n\n  # next\n  filter: >\n    y\n\n",
    "a text kept": "metrics:\n- name: a\n  description: |+\n    x\n\n\n- name: b\n",
    "name last": "metrics:\n-   filter: {a: 1}\n    name: a\n\n# end\n",
    "a value": "metrics:\n- name: a\n  config: {meta: {attest: {owner: b}}}  # x\n",
    "a value in a block": "metrics:\n- name: a\n  config:\n    meta:\n      attest:\n        owner: 'b' # x\n",
    "no value": "metrics:\n- name: a\n  config:\n    meta:\n      attest:\n        owner:\n",
}


@pytest.mark.parametrize("text", EDITED.values(), ids=EDITED)
def test_a_file_of_any_layout_keeps_what_it_says(text):
    file = PropertyFile(text.encode())
    file.set(Node(name="a", resource_type="metric"), {"authority": "authoritative", "owner": "Ann: x, y"})
    after = file.edited().decode()
    (one, *_) = yaml.safe_load(after)["metrics"]
    block = one["meta"].get("attest") if "meta" in one else one["config"]["meta"]["attest"]
    assert block == {"authority": "authoritative", "owner": "Ann: x, y"}
    assert ("\r\n" in text) == ("\r\n" in after)
    assert "\r\n" not in text or "\n" not in after.replace("\r\n", "")
    comments = [line for line in text.splitlines() if line.strip().startswith("#")]
    assert [line for line in after.splitlines() if line.strip().startswith("#")] == comments


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("metrics: [{name: a}, {name: a}]", "2 entries"),
        ("metrics: [{name: b}]", "no entry"),
        ("metrics: [{name: a, config: }]", "no mapping"),
        ("x: &x {c: 1}\nmetrics: [{name: a, config: *x}, {name: b, config: *x}]", "layout"),
        ("metrics: [{name: a, name: a}]", "twice"),
        ("metrics: [{name: a, config: {meta: {attest: {owner: [x,\n y]}}}}]", "several lines"),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_refused(text, why):
    with pytest.raises(CannotEdit, match=why):
        _edit(text)


def _edit(text):
    file = PropertyFile(text.encode())
    file.set(Node(name="a", resource_type="metric"), {"owner": "Ann"})
    return file.edited()


NAMED = "- name: b\n  config:\n    meta:\n      attest:\n        owner: Ann\n"
ADDED = {
    "nothing": ("", f"models:\n{indent(NAMED, '  ')}"),
    "another section": ("seeds:\n- name: a", f"seeds:\n- name: a\n\nmodels:\n{indent(NAMED, '  ').rstrip()}"),
    "a list": (
        "models:\n- name: a\n  columns:\n  - name: id  # key\n  # no more\n\n# what feeds it\nseeds: []\n",
        f"models:\n- name: a\n  columns:\n  - name: id  # key\n  # no more\n{NAMED}\n# what feeds it\nseeds: []\n",
    ),
    "entries apart": (
        "models:\n    -   name: a\n\n    -   {name: c}\n",
        "models:\n    -   name: a\n\n    -   {name: c}\n\n    -   name: b\n        config:\n          meta:\n"
        "            attest:\n              owner: Ann\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), ADDED.values(), ids=ADDED)
def test_an_entry_is_added_as_the_others_stand(before, after):
    assert _with_entry(before) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("models: [{name: a}]", "in brackets"),
        ("models:", "no list"),
        ("models: [{name: b}]", "by now"),
        ("{version: 2}", "layout"),
        ("- name: b", "no mapping"),
    ],
)
def test_an_entry_is_not_added_where_that_is_not_safe(text, why):
    with pytest.raises(CannotEdit, match=why):
        _with_entry(text)


def _with_entry(text):
    file = PropertyFile(text.encode())
    file.add(Node(name="b", resource_type="model"), {"owner": "Ann"})
    return file.edited().decode()


@pytest.mark.parametrize(
    ("described", "home"),
    [
        ({}, "models/new/_new.yml"),
        ({"models/new/a.sql": "models/new/all.yml"}, "models/new/all.yml"),
        ({"models/new/a.sql": "models/all.yml", "models/x/b.sql": "models/x/_x.yml"}, "models/all.yml"),
        ({"models/new/a.sql": "models/new/_a.yml"}, "models/new/_n.yml"),
        ({"models/x/a.sql": "models/x/_x__models.yaml"}, "models/new/_new.yml"),
        (
            {"models/x/a.sql": "models/x/_x__models.yaml", "models/y/b.sql": "models/y/_y__models.yaml"},
            "models/new/_new__models.yaml",
        ),
        (
            {"models/x/a.sql": "models/x/schema.yml", "models/y/b.sql": "models/y/schema.yml"},
            "models/new/schema.yml",
        ),
        ({"models/x/a.sql": "models/x/a.yml", "models/x/b.sql": "models/x/b.yml"}, "models/new/n.yml"),
    ],
)
def test_a_model_that_no_yaml_describes_goes_where_its_project_puts_such(attest, project, described, home):
    nodes = {
        f"model.shop.{Path(sql).stem}": node(Path(sql).stem, "model", sql, patch_path=f"shop://{yml}")
        for sql, yml in described.items()
    }
    folder = project(nodes=nodes | {"model.shop.n": node("n", "model", "models/new/n.sql")})
    sheet = "node,authority\nmodel.shop.n,non_authoritative\n"
    (folder / "sheet.csv").write_text(sheet, encoding="utf-8")
    (folder / "models" / "new").mkdir()
    ran = attest(folder, "annotate", "--from-csv", "sheet.csv", "--write", "--yes", "--format", "json").json
    assert [one["file"] for one in ran["files"]] == [home]
    assert yaml.safe_load((folder / home).read_text(encoding="utf-8"))["models"][0]["name"] == "n"


@pytest.mark.parametrize("described", [{}, {"patch_path": "shop://models/models.yml"}])
def test_an_annotation_in_sql_is_left_there(attest, project, described):
    said = {"config": {"meta": {"attest": {"owner": "Ann"}}}} | described
    folder = project(nodes={"model.shop.n": node("n", "model", "models/n.sql", **said)})
    (folder / "models" / "models.yml").write_text("models: [{name: n}]", encoding="utf-8")
    (folder / "sheet.csv").write_text("node,authority\nmodel.shop.n,non_authoritative\n", encoding="utf-8")
    ran = attest(folder, "annotate", "--from-csv", "sheet.csv", "--write", "--yes")
    assert (ran.code, ran.output) == (1, "Nothing to write.\n")
    assert "left as it is, since its annotation stands in its SQL or in dbt_project.yml." in ran.sentence


def test_a_version_and_a_table_are_found():
    text = b"""sources: [{name: raw, tables: [{name: a}, {name: b}]}]
models: [{name: m, versions: [{v: 1}, {v: 2.0}]}]"""
    file = PropertyFile(text)
    file.set(Source(name="b", source_name="raw", resource_type="source"), {"owner": "x"})
    file.set(Node(name="m", version=2.0, resource_type="model"), {"owner": "y"})
    assert file.edited() == text.replace(
        b"{name: b}", b"{name: b, config: {meta: {attest: {owner: x}}}}"
    ).replace(b"{v: 2.0}", b"{v: 2.0, config: {meta: {attest: {owner: y}}}}")


def test_dbt_and_check_accept_what_is_written(attest, tmp_path):
    for name, text in {
        "dbt_project.yml": "name: shop\nversion: 1.0.0\nprofile: shop\n",
        "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb}}}\n",
        "attest.yml": "rules: [{path: '**', permissions: [everyone]}]\n",
        "models/a.sql": "select * from {{ source('raw', 'b') }}",
        "models/bare.sql": "select * from {{ ref('a') }}",
        "seeds/rates.csv": "id,rate\n1,2\n",
        "models/models.yml": "models:\n  # the only one\n  - name: a\n    description: An A.\n"
        "    columns: [{name: id}]\n"
        "sources: [{name: raw, tables: [{name: b}]}]\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    _parse(tmp_path)
    sheet = attest(tmp_path, "annotate", "--csv").output
    cells = FILLED | {"owner": "Ann", "grain": "one row per id", "definition": "What it is: a #1."}
    (tmp_path / "sheet.csv").write_text(
        sheet_of(sheet, a=cells, b=cells, bare=cells, rates=cells), encoding="utf-8"
    )
    ran = attest(tmp_path, "annotate", "--from-csv", "sheet.csv", "--write", "--yes")
    assert ran.code == 0, ran.errors
    assert "  - name: bare\n" in (tmp_path / "models" / "models.yml").read_text(encoding="utf-8")
    assert (tmp_path / "seeds" / "_seeds.yml").exists()
    _parse(tmp_path)
    assert attest(tmp_path, "check").output.splitlines()[1:] == ["no gap"]
    assert attest(tmp_path, "annotate", "--csv").output.count("\n") == 1


def _parse(folder):
    environ = {key: value for key, value in os.environ.items() if not key.startswith("DBT_")}
    subprocess.run(
        [str(BIN / "dbt"), "--quiet", "parse"],
        cwd=folder,
        env=environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        check=True,
    )
