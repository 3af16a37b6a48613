"""A dbt project made of the few things a test cares about, from the files to the extraction."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.annotations import Definition, Extraction, extract, read_documents, read_project_file
from dbt_attest.artifacts import read_manifest
from dbt_attest.errors import AnnotationErrors, Problem

CHANGED = 1_767_225_600  # 2026-01-01T00:00:00Z, as the manifest's generated_at
GENERATED_AT = "2026-01-01T00:00:00Z"
SECTIONS = {
    "source": "sources",
    "metric": "metrics",
    "semantic_model": "semantic_models",
    "exposure": "exposures",
}


class Project:
    """Collects nodes, documents and attest.yml; `extract()` reads them all as `attest build` does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sections: dict[str, dict[str, Any]] = {"nodes": {}, "groups": {}}
        self.globs = ["docs/**/*.md"]
        self.top: dict[str, Any] = {}

    def node(self, unique_id: str, attest: Any = None, **keys: Any) -> Project:
        kind, package, *rest = unique_id.split(".")
        name = rest[0] if keys.get("version") is not None else rest[-1]
        node = {
            "unique_id": unique_id,
            "resource_type": kind,
            "package_name": package,
            "name": name,
            "original_file_path": f"models/{name}.yml",
            "description": "",
            "config": {"meta": {} if attest is None else {"attest": attest}},
        }
        if kind == "source":
            node["source_name"] = rest[0]
        self.sections.setdefault(SECTIONS.get(kind, "nodes"), {})[unique_id] = {**node, **keys}
        return self

    def metric(self, attest: Any = None, **keys: Any) -> Project:
        return self.node("metric.shop.revenue", attest, **keys)

    def attest_yml(self, text: str) -> Project:
        self._write("attest.yml", text)
        return self

    def document(self, path: str, text: str) -> Project:
        self._write(path, text)
        return self

    def _write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (CHANGED, CHANGED))

    def extract(self) -> Extraction:
        metadata = {
            "generated_at": GENERATED_AT,
            "project_name": "shop",
            "dbt_schema_version": "/dbt/manifest/v12.json",
        }
        path = self.folder / "manifest.json"
        path.write_text(json.dumps({"metadata": metadata, **self.sections, **self.top}))
        project_file = read_project_file(self.folder / "attest.yml")
        return extract(read_manifest(path), project_file, read_documents(self.folder, self.globs))

    def definitions(self) -> dict[str, Definition]:
        return {definition.evidence_id: definition for definition in self.extract().definitions}

    def one(self) -> Definition:
        (definition,) = self.extract().definitions
        return definition

    def found(self) -> list[str]:
        return [finding.found for finding in self.extract().findings]

    def problems(self) -> list[Problem]:
        with pytest.raises(AnnotationErrors) as error:
            self.extract()
        return error.value.problems


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def new_project(tmp_path: Path) -> Callable[[], Project]:
    """For comparing several projects in one test."""
    made: list[Project] = []

    def make() -> Project:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Project(folder))
        return made[-1]

    return make
