"""A user's dbt project that has the package installed, and a helper that puts evidence into its tables.

A dbt call costs seconds, so one project is installed and built once a session (twice: before and after
something was collected), and a test that changes anything works on a copy of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[3]
SHOP = Path(__file__).parent / "shop"
DBT = Path(sys.executable).with_name("dbt")
SCHEMA = "main_attest"


@dataclass(frozen=True)
class DbtRun:
    """One finished dbt command: exit code and everything it printed."""

    code: int
    output: str


@dataclass(frozen=True)
class Project:
    """A folder with a dbt project on DuckDB."""

    folder: Path
    database: str = "shop.duckdb"

    def dbt(self, *arguments: str, succeeds: bool | None = True) -> DbtRun:
        """Run dbt here, away from the caller's dbt settings; `succeeds=None` accepts either end."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("DBT_")}
        environment |= {
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "DBT_PROFILES_DIR": str(self.folder),
            "DBT_USE_COLORS": "false",
        }
        done = subprocess.run(
            [DBT, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        if succeeds is not None:
            assert (done.returncode == 0) is succeeds, f"dbt {' '.join(arguments)}:\n{output}"
        return DbtRun(done.returncode, output)

    def sql(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query on the project's database, opened for this query only."""
        with duckdb.connect(self.folder / self.database) as connection:
            return connection.execute(query, parameters or []).fetchall()

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def configure(self, text: str) -> None:
        """Add YAML to dbt_project.yml."""
        with (self.folder / "dbt_project.yml").open("a", encoding="utf-8") as file:
            file.write(text)

    def results(self) -> dict[str, str]:
        """unique_id → status of the last run."""
        ran = json.loads((self.folder / "target" / "run_results.json").read_text(encoding="utf-8"))
        return {result["unique_id"]: result["status"] for result in ran["results"]}

    def manifest(self) -> dict[str, Any]:
        return json.loads((self.folder / "target" / "manifest.json").read_text(encoding="utf-8"))


def put(
    connection: duckdb.DuckDBPyConnection,
    recorded: str,
    evidence_id: str,
    *,
    schema: str = SCHEMA,
    entity: str = "metric.b",
    environment: str = "prod",
    **content: Any,
) -> None:
    """Record one assertion, its collection and its dbt name, by column name."""
    digest = hashlib.sha256(json.dumps([evidence_id, content], sort_keys=True).encode()).hexdigest()
    assertion = {
        "environment": environment,
        "entity_id": entity,
        "evidence_id": evidence_id,
        "stated": True,
        "asserted_at": recorded,
        "generated_at": recorded,
        "artifact_id": hashlib.sha256(recorded.encode()).hexdigest(),
        "collection_id": recorded,
        "ingested_at": recorded,
        "project_name": "shop",
        "package_name": "shop",
        "entity_type": "metric_definition",
        "version": evidence_id[-1],
        "status": "current",
        "authority": "authoritative",
        "permissions": ["readers"],
        "permissions_from": "annotation",
        "names": [entity.rsplit(".", maxsplit=1)[-1]],
        "aliases": [],
        "supersedes": [],
        "superseded_by": [],
        "links_elsewhere": False,
        "owners": [],
        "definition": f"The text of {evidence_id}",
        "content_hash": digest,
        "state_hash": digest,
    } | content
    insert(connection, f"{schema}.assertions", assertion)
    insert(
        connection,
        f"{schema}.names",
        {"environment": environment, "name": entity.rsplit(".", maxsplit=1)[-1], "entity_id": entity},
    )
    collection = {
        "collection_id": f"{environment} {recorded}",
        "project_name": "shop",
        "environment": environment,
        "generated_at": recorded,
        "known_until": recorded,
    }
    insert(connection, f"{schema}.collections", collection)


def insert(connection: duckdb.DuckDBPyConnection, table: str, row: dict[str, Any]) -> None:
    columns, places = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"insert into {table} ({columns}) values ({places})", list(row.values()))


def put_fixture_b(path: Path, schema: str = SCHEMA, environment: str = "prod") -> None:
    """Fixture B of cases/resolution.md, plus entities with awkward names, of scope, and for finance alone."""
    with duckdb.connect(path) as connection:
        at = {"schema": schema, "environment": environment}
        put(connection, "2023-12-15T00:00:00Z", "B.v1", effective_from="2024-01-01", **at)
        put(
            connection,
            "2024-06-10T09:00:00Z",
            "B.v2",
            effective_from="2024-07-01",
            supersedes=["B.v1"],
            **at,
        )
        for entity, evidence_id in (
            ("metric.o'brien", "O'BRIEN.v1"),
            ("entity", "ENTITY.v1"),
        ):
            put(
                connection,
                "2024-01-01T00:00:00Z",
                evidence_id,
                entity=entity,
                effective_from="2024-01-01",
                **at,
            )
        put(
            connection,
            "2024-01-01T00:00:00Z",
            "EU.v1",
            entity="metric.regional",
            effective_from="2024-01-01",
            scope={"region": "EU"},
            **at,
        )
        put(
            connection,
            "2024-01-01T00:00:00Z",
            "PLAN.v1",
            entity="metric.plan",
            effective_from="2024-01-01",
            permissions=["finance"],
            **at,
        )


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The user's project after `dbt deps`, on a copy of the package."""
    workspace = tmp_path_factory.mktemp("guest")
    package = workspace / "attest"
    for part in ("macros", "models"):
        shutil.copytree(ROOT / part, package / part)
    shutil.copy(ROOT / "dbt_project.yml", package)
    project = Project(workspace / "shop")
    shutil.copytree(SHOP, project.folder)
    project.write("packages.yml", f"packages: [{{local: {json.dumps(str(package))}}}]\n")
    project.dbt("deps")
    return project


@pytest.fixture(scope="session")
def before_collection(installed: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project after its first `dbt build`; nothing was ever collected. Not to be changed."""
    project = Project(tmp_path_factory.mktemp("before") / "shop")
    copy(installed, project.folder)
    project.dbt("--warn-error", "build", "--exclude", "test_type:unit")
    return project


@pytest.fixture(scope="session")
def collected(before_collection: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project with fixture B recorded and built again, unit tests included. Not to be changed."""
    project = Project(tmp_path_factory.mktemp("collected") / "shop")
    copy(before_collection, project.folder)
    put_fixture_b(project.folder / project.database)
    project.dbt("--warn-error", "build")
    return project


@pytest.fixture
def project(collected: Project, tmp_path: Path) -> Project:
    """A copy of `collected` for one test to change."""
    changed = Project(tmp_path / "shop")
    copy(collected, changed.folder)
    return changed


@pytest.fixture
def fresh(installed: Project, tmp_path: Path) -> Project:
    """The project installed and never built: no database file. For one test to change."""
    changed = Project(tmp_path / "shop")
    copy(installed, changed.folder)
    return changed


@pytest.fixture
def ask(collected: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to `collected`, as an analyst in the group readers would open it."""
    with duckdb.connect(collected.folder / collected.database, read_only=True) as connection:
        connection.execute("set variable attest_groups = 'readers'")
        connection.execute(f"use {SCHEMA}")
        yield connection


def copy(project: Project, target: Path) -> None:
    shutil.copytree(project.folder, target, symlinks=True)
