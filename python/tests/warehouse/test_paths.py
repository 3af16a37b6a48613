"""Paths as they come: with backslashes, of letters beyond ASCII, and of a project folder that is relative."""

from __future__ import annotations

import unicodedata

import duckdb
import pytest

from dbt_attest.warehouse.building import build

JANUARY = "2025-01-10T09:00:00Z"
MODEL = "model.shop.orders"
RULES = "rules: [{path: 'models/finance/**', permissions: [finance]}]\n"


@pytest.mark.parametrize("prefix", ["", "shop://"])
def test_backslashes_are_slashes_and_rules_match_them(shop, node, prefix):
    """cosmos#1601: artifacts that were written on Windows."""
    (shop.folder / "attest.yml").write_text(RULES)
    paths = {
        "original_file_path": "models\\finance\\orders.sql",
        "patch_path": f"{prefix}models\\finance\\_m.yml",
    }
    shop.manifest(nodes={MODEL: node(MODEL, config={"meta": {"attest": {"grain": "row"}}}, **paths)})
    assert shop.record() == []
    assert shop.rows("select file, permissions from assertions where node_id = 'model.shop.orders'") == [
        ("models/finance/_m.yml", ["finance"])
    ]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_file_names_beyond_ascii(shop, node, form):
    name = unicodedata.normalize(form, "Größen-é-注文")
    (shop.folder / "attest.yml").write_text(
        f"documents: ['docs/**/*.md']\nrules: [{{path: 'docs/{name}/**', permissions: [finance]}}]\n", "utf-8"
    )
    document = shop.folder / "docs" / name / f"{name}.md"
    document.parent.mkdir(parents=True)
    document.write_text("---\nentity_id: note\n---\ntext", encoding="utf-8")
    shop.manifest(nodes={MODEL: node(MODEL, original_file_path=f"models/{name}.sql")})
    assert shop.record() == []
    stated = shop.rows(
        "select file, permissions from assertions where stated and entity_type in ('document', 'dbt_model')"
    )
    found = {unicodedata.normalize("NFC", file): groups for file, groups in stated}
    name = unicodedata.normalize("NFC", name)
    assert found == {f"docs/{name}/{name}.md": ["finance"], f"models/{name}.sql": []}


@pytest.mark.parametrize("place", [".", "shop", "../here/shop"])
def test_a_project_folder_that_is_relative(
    tmp_path, monkeypatch, empty_warehouse, make_project, make_manifest, place
):
    here = tmp_path / "here"
    project = here if place == "." else here / "shop"
    yml = "archive: .attest/artifacts\ndocuments: ['docs/*.md']\n"
    make_project(project, make_manifest(JANUARY, {"v1": {"definition": "x"}}), yml)
    (project / "docs").mkdir()
    (project / "docs" / "note.md").write_text("a note")
    (project / "evidence.duckdb").write_bytes(empty_warehouse.read_bytes())
    monkeypatch.chdir(here)
    folder = type(here)(place)
    assert build(folder).recorded.changed == 2
    assert build(folder.resolve()).recorded.collection_id is None
    with duckdb.connect(str(project / "evidence.duckdb"), read_only=True) as connection:
        paths = connection.execute(
            "select path from attest.artifacts where collection_id in "
            "(select collection_id from attest.collections where environment = 'prod') order by all"
        ).fetchall()
    assert paths == [("attest.yml",), ("docs/note.md",), ("target/manifest.json",)]
    assert (project / ".attest" / "artifacts").is_dir()
