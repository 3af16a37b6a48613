"""Markdown documents as evidence."""

from __future__ import annotations

import os
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.annotations import read_documents
from dbt_attest.errors import AnnotationErrors

WIKI = """---
entity_id: wiki.revenue
evidence_id: WIKI.REVENUE.OLD
entity_type: wiki
status: superseded
authority: non_authoritative
effective_from: 2019-01-01
superseded_by: METRIC.REVENUE.v1
permissions: [analytics_readers]
---

```
# no heading
```
# Revenue, as it was #

Gross amount.
"""


def test_front_matter_holds_the_annotation_keys(project: Any) -> None:
    definition = project.document("docs/wiki/revenue.md", WIKI).one()
    assert (definition.evidence_id, definition.entity_type) == ("WIKI.REVENUE.OLD", "wiki")
    assert (definition.effective_from, definition.status) == (date(2019, 1, 1), "superseded")
    assert (definition.superseded_by, definition.links_elsewhere) == (["METRIC.REVENUE.v1"], True)
    assert definition.title == "Revenue, as it was"
    assert definition.definition is not None
    assert definition.definition.endswith("Gross amount.")
    assert (definition.node_id, definition.file, definition.package_name) == (
        None,
        "docs/wiki/revenue.md",
        "shop",
    )
    assert definition.annotated


@pytest.mark.parametrize("text", ["# Note\nwords", "---\n---\n# Note\nwords", "﻿# Note\r\nwords"])
def test_document_without_keys_is_unclassified(project: Any, text: str) -> None:
    definition = project.document("docs/notes/my.note.md", text).one()
    assert (definition.entity_id, definition.evidence_id) == (
        "document.docs.notes.my.note",
        "document.docs.notes.my.note",
    )
    assert (definition.entity_type, definition.authority, definition.title) == ("document", None, "Note")
    assert definition.definition == "# Note\nwords"
    assert not definition.annotated


def test_declared_text_and_title_win(project: Any) -> None:
    definition = project.document("docs/a.md", "---\ntitle: T\ndefinition: D\n---\n# H\nbody").one()
    assert (definition.title, definition.definition) == ("T", "D")


def test_document_can_hold_versions(project: Any) -> None:
    entries = "  - {version: 1, effective_from: 2024-01-01}\n  - {version: 2, effective_from: 2025-01-01}\n"
    text = f"---\nentity_id: p\nversions:\n{entries}---\n"
    first, second = project.document("docs/a.md", text).extract().definitions
    assert (first.evidence_id, second.evidence_id, second.supersedes) == ("p.v1", "p.v2", ["p.v1"])
    assert first.definition is None


def test_impossible_date_is_our_message(project: Any) -> None:
    (problem,) = project.document("docs/a.md", "---\neffective_from: 2024-02-30\n---\n").problems()
    assert (problem.file, problem.node, problem.key) == ("docs/a.md", None, "effective_from")
    assert problem.found == '"2024-02-30"'


def test_recorded_at_is_compared_with_the_document_s_own_time(project: Any) -> None:
    project.document("docs/a.md", "---\nrecorded_at: 2025-12-31T00:00:00Z\n---\n")
    assert project.one().declared_recorded_at == datetime(2025, 12, 31, tzinfo=timezone.utc)
    os.utime(project.folder / "docs/a.md", (0, 0))
    (problem,) = project.problems()
    assert "1970-01-01" in problem.expected


def test_rules_reach_documents(project: Any) -> None:
    project.attest_yml("rules: [{path: docs/notes/**, max_authority: untrusted}]")
    assert (
        project.document("docs/notes/n.md", "---\nauthority: authoritative\n---\n").one().authority
        == "untrusted"
    )


def test_documents_are_sorted_and_read_once(tmp_path: Path) -> None:
    for name in (
        "b.md",
        "a.md",
        "sub/c.MD",
        "x.txt",
        ".hidden/d.md",
        "target/e.md",
        "dbt_packages/p/README.md",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("x")
    (tmp_path / "folder.md").mkdir()
    documents = read_documents(tmp_path, ["**/*", "*.md", "a.md"])
    assert [document.path for document in documents] == ["a.md", "b.md", "sub/c.MD"]
    assert all(document.generated_at.utcoffset() is not None for document in documents)


@pytest.mark.parametrize(
    "pattern", ["docs/**", "docs", "docs/", "./docs/*/*.md", "docs\\**\\*.md", "docs/in/ü.md"]
)
def test_patterns_mean_what_they_mean_in_rules(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "docs/in").mkdir(parents=True)
    (tmp_path / "docs/in/u\u0308.md").write_text("x")
    if pattern.endswith(".md") and "*" not in pattern:
        pattern = "docs/in/u\u0308.md"
    assert [document.path for document in read_documents(tmp_path, [pattern])] == ["docs/in/\u00fc.md"]


def test_relative_project_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert [document.path for document in read_documents(Path(), ["*.md"])] == ["a.md"]


def test_everything_that_cannot_be_read_is_named_at_once(tmp_path: Path) -> None:
    docs = tmp_path / "project" / "docs"
    docs.mkdir(parents=True)
    (tmp_path / "secret.md").write_text("secret")
    (docs / "link.md").symlink_to(tmp_path / "secret.md")
    (docs / "broken.md").symlink_to(docs / "nowhere.md")
    (docs / "latin.md").write_bytes("Umsätze".encode("latin-1"))
    (docs / "open.md").write_text("---\nowner: x\n")
    (docs / "list.md").write_text("---\n- a\n---\n")
    (docs / "twice.md").write_text("---\nowner: x\nowner: y\n---\n")
    (docs / "good.md").write_text("fine")
    with pytest.raises(AnnotationErrors) as error:
        read_documents(tmp_path / "project", ["docs/*.md", "../*.md", "/etc/*.md"])
    problems = [(problem.file, problem.found) for problem in error.value.problems]
    assert problems == [
        ("attest.yml", "../*.md"),
        ("attest.yml", "/etc/*.md"),
        ("docs/broken.md", "a file that cannot be read (No such file or directory)"),
        ("docs/latin.md", "other bytes at position 3"),
        ("docs/link.md", "a symbolic link that leads out of it"),
        ("docs/list.md", '["a"]'),
        ("docs/open.md", "only the first of them"),
        ("docs/twice.md", "the key `owner` is there twice in line 2, column 1"),
    ]
    assert len(str(error.value).splitlines()) == len(problems)
