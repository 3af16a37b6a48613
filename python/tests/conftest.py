"""What the tests share: an empty warehouse with its resolvers, small worlds recorded in it, and the command."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt_attest.annotations import read_project_file
from dbt_attest.artifacts import read_manifest
from dbt_attest.cli.main import main
from dbt_attest.warehouse.building import Built, build
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.contract import evidence_tables
from dbt_attest.warehouse.files import connect
from dbt_attest.warehouse.recording import record

REPOSITORY = Path(__file__).resolve().parents[2]


def manifest_of(
    at: str,
    annotations: dict[str, dict[str, Any]],
    project: str = "shop",
    disabled: Iterable[str] = (),
    own_file: str | None = None,
) -> dict[str, Any]:
    """A dbt manifest written at instant `at` with one metric a definition, named like it, annotated as given.

    A name can be given with its package, `other:name`. `disabled` are names, too. `own_file` is the DuckDB
    file that the project builds, with the dbt package attest in it.
    """
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "dbt_version": "1.11.0",
            "generated_at": at,
            "invocation_id": f"invocation-{at}",
            "project_name": project,
            "adapter_type": "duckdb",
        },
        "nodes": {},
        "sources": {} if own_file is None else _evidence_source(own_file),
        "metrics": dict(_metric(name, annotation, project) for name, annotation in annotations.items()),
        "semantic_models": {},
        "exposures": {},
        "saved_queries": {},
        "groups": {},
        "disabled": {
            unique_id: [node] for unique_id, node in (_metric(one, {}, project) for one in disabled)
        },
        "macros": {},
    }


def _evidence_source(own_file: str) -> dict[str, Any]:
    unique_id = "source.attest.attest_evidence.assertions"
    return {
        unique_id: {
            "unique_id": unique_id,
            "resource_type": "source",
            "name": "assertions",
            "package_name": "attest",
            "source_name": "attest_evidence",
            "database": Path(own_file).stem,
            "schema": "main_attest",
        }
    }


def _metric(name: str, annotation: dict[str, Any], project: str) -> tuple[str, dict[str, Any]]:
    package, _, name = name.rpartition(":")
    package = package or project
    return f"metric.{package}.{name}", {
        "unique_id": f"metric.{package}.{name}",
        "resource_type": "metric",
        "name": name,
        "package_name": package,
        "original_file_path": "models/metrics.yml",
        "config": {"meta": {"attest": annotation}},
    }


def write_project(
    folder: Path, manifest: dict[str, Any], attest_yml: str | None = None, target: str = "target"
) -> Path:
    """A dbt project folder as `attest build` meets it."""
    (folder / target).mkdir(parents=True, exist_ok=True)
    (folder / "dbt_project.yml").write_text("name: shop\n", encoding="utf-8")
    (folder / target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    if attest_yml is not None:
        (folder / "attest.yml").write_text(attest_yml, encoding="utf-8")
    return folder


def row_counts(warehouse: Path, schema: str = "attest") -> dict[str, int]:
    """How many rows each evidence table of a warehouse has."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        return {
            table: connection.execute(f"select count(*) from {schema}.{table}").fetchall()[0][0]
            for table in evidence_tables()
        }


@pytest.fixture(scope="session")
def empty_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-alone warehouse with resolvers; only an environment nobody asks about was collected."""
    project = write_project(
        tmp_path_factory.mktemp("empty"), manifest_of("2000-01-01T00:00:00Z", {}, project="elsewhere")
    )
    return build(project, environment="elsewhere").warehouse


class World:
    """A project whose collections are recorded one by one into its own copy of the empty warehouse."""

    def __init__(self, folder: Path, empty_warehouse: Path) -> None:
        self.folder = folder
        self.warehouse = folder / "evidence.duckdb"
        shutil.copyfile(empty_warehouse, self.warehouse)

    def collect(
        self,
        at: str,
        annotations: dict[str, dict[str, Any]],
        *,
        attest_yml: str | None = None,
        environment: str | None = None,
        project: str = "shop",
        disabled: Iterable[str] = (),
    ) -> Built:
        """Record a manifest written at `at` that states exactly these definitions."""
        write_project(self.folder, manifest_of(at, annotations, project, disabled), attest_yml)
        return build(self.folder, environment=environment)

    @contextmanager
    def recording(self) -> Iterator[Callable[..., None]]:
        """Gives what does as `collect`, many times faster: in one connection, without the copy for readers."""
        connection = connect(self.warehouse, read_only=False)

        def record_one(
            at: str,
            annotations: dict[str, dict[str, Any]],
            *,
            attest_yml: str | None = None,
            environment: str | None = None,
            project: str = "shop",
        ) -> None:
            write_project(self.folder, manifest_of(at, annotations, project), attest_yml)
            project_file = read_project_file(self.folder / "attest.yml")
            manifest = read_manifest(self.folder / "target" / "manifest.json")
            collection, _ = collect(
                self.folder, manifest, project_file, environment or project_file.environment
            )
            record(connection, "attest", collection)

        try:
            yield record_one
        finally:
            connection.close()

    def rows(self) -> dict[str, int]:
        """How many rows each evidence table has."""
        return row_counts(self.warehouse)


@pytest.fixture(scope="session")
def world_in(empty_warehouse: Path) -> Callable[[Path], World]:
    """Makes a world in a folder, for tests that share one."""
    return lambda folder: World(folder, empty_warehouse)


@pytest.fixture
def world(tmp_path: Path, empty_warehouse: Path) -> World:
    return World(tmp_path, empty_warehouse)


@pytest.fixture
def make_manifest() -> Callable[..., dict[str, Any]]:
    return manifest_of


@pytest.fixture
def make_project() -> Callable[..., Path]:
    return write_project


@pytest.fixture
def count_rows() -> Callable[..., dict[str, int]]:
    return row_counts


@dataclass(frozen=True)
class Ran:
    """One finished command."""

    code: int
    output: str
    errors: str

    @property
    def sentence(self) -> str:
        """The only line on standard error."""
        (line,) = self.errors.strip().splitlines()
        return line

    @property
    def json(self) -> Any:
        return json.loads(self.output)


@pytest.fixture
def attest(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `attest` with these words in a folder, in this process."""
    monkeypatch.delenv("ATTEST_GROUPS", raising=False)

    def run(folder: Path, *words: str) -> Ran:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["attest", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        output, errors = capsys.readouterr()
        return Ran(int(ended.value.code or 0), output, errors)

    return run
