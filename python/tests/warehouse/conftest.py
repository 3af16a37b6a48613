"""Worlds that are recorded quickly: collections in some order, and a shop with every artifact of dbt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.annotations import ProjectFile, read_project_file
from dbt_attest.artifacts import Manifest, read_manifest
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.files import connect
from dbt_attest.warehouse.recording import record


@dataclass(frozen=True)
class Arrival:
    """One manifest as it was written at `at`: the definitions it states by name, and the disabled ones.

    `tag` makes files of equal content different files.
    """

    at: str
    states: dict[str, dict[str, Any]]
    disabled: tuple[str, ...] = ()
    tag: str = ""


class Arrivals:
    """Records arrivals in any order, each in an environment of its own, and tells what is known then."""

    def __init__(self, folder: Path, warehouse: Path, make_manifest: Callable[..., dict[str, Any]]) -> None:
        self.connection = connect(warehouse, read_only=False)
        self._folder = folder
        self._make_manifest = make_manifest
        self._orders = 0

    def arrive(self, arrivals: Iterable[Arrival]) -> str:
        """Record them in this order; returns the environment."""
        self._orders += 1
        environment = f"order {self._orders}"
        project_file = ProjectFile(path=self._folder / "attest.yml")
        for arrival in arrivals:
            collection, _ = collect(self._folder, self._manifest(arrival), project_file, environment)
            record(self.connection, "attest", collection)
        return environment

    def known(self, arrivals: Iterable[Arrival]) -> list[tuple[Any, ...]]:
        """Everything that the resolvers can know after this order of arrival, for every D and K."""
        found = self.connection.execute(
            "select * exclude (environment) from attest.recorded_assertions where environment = $here",
            {"here": self.arrive(arrivals)},
        )
        return sorted(found.fetchall(), key=repr)

    def _manifest(self, arrival: Arrival) -> Manifest:
        path = self._folder / "manifest.json"
        content = self._make_manifest(arrival.at, arrival.states, disabled=arrival.disabled)
        path.write_text(json.dumps(content | {"tag": arrival.tag}), encoding="utf-8")
        return read_manifest(path)


@pytest.fixture
def arrivals(
    tmp_path: Path, empty_warehouse: Path, make_manifest: Callable[..., dict[str, Any]]
) -> Iterator[Arrivals]:
    warehouse = tmp_path / "evidence.duckdb"
    shutil.copyfile(empty_warehouse, warehouse)
    opened = Arrivals(tmp_path, warehouse, make_manifest)
    yield opened
    opened.connection.close()


@pytest.fixture
def arrival() -> type[Arrival]:
    return Arrival


MODEL, SOURCE, TEST = "model.shop.orders", "source.shop.raw.orders", "test.shop.not_null_orders_id.1"
JANUARY = "2025-01-10T09:00:00Z"


def node_of(unique_id: str, **keys: Any) -> dict[str, Any]:
    """A node as dbt writes it, as far as its id says it."""
    kind, package, *rest = unique_id.split(".")
    return {"unique_id": unique_id, "resource_type": kind, "package_name": package, "name": rest[-1],
            "original_file_path": f"models/{rest[-1]}.yml", **keys}  # fmt: skip


@pytest.fixture
def node() -> Callable[..., dict[str, Any]]:
    return node_of


def columns(*names: str) -> dict[str, Any]:
    return {name: {"name": name, "description": f"the {name}"} for name in names}


class Shop:
    """One project whose target folder is written and recorded in one open warehouse."""

    def __init__(self, folder: Path, warehouse: Path) -> None:
        self.folder = folder
        self.target = folder / "target"
        self.target.mkdir(parents=True)
        (folder / "dbt_project.yml").write_text("name: shop\n")
        self.connection = connect(warehouse, read_only=False)
        self.sections: dict[str, Any] = {
            "nodes": {
                MODEL: node_of(MODEL, columns=columns("id", "amount"), description="All orders", group="finance",
                            config={"meta": {"owner": "O'Brien", "primary_key": ["id"]}}),
                TEST: node_of(TEST, depends_on={"nodes": [MODEL]}),
            },
            "sources": {SOURCE: node_of(SOURCE, source_name="raw", freshness={"warn_after":
                                     {"count": 12, "period": "hour"}})},
            "exposures": {"exposure.shop.board": node_of("exposure.shop.board", type="dashboard",
                          owner={"name": "Ann", "email": "a@x"}, depends_on={"nodes": [MODEL]})},
            "groups": {"group.shop.finance": {"name": "finance", "package_name": "shop",
                                              "owner": {"name": "Finance team"}}},
        }  # fmt: skip

    def write(self, kind: str, at: str = JANUARY, invocation: str = "one", **content: Any) -> None:
        metadata = {"generated_at": at, "invocation_id": invocation, "project_name": "shop"}
        path = self.target / f"{kind}.json"
        path.write_text(json.dumps({"metadata": metadata, **content}))

    def manifest(self, at: str = JANUARY, invocation: str = "one", **changes: Any) -> None:
        self.write("manifest", at, invocation, **{**self.sections, **changes})

    def run_results(self, at: str = JANUARY, invocation: str = "one", *rows: dict[str, Any]) -> None:
        listed = rows or ({"unique_id": MODEL, "status": "success"}, {"unique_id": TEST, "status": "pass",
                          "failures": 0})  # fmt: skip
        self.write("run_results", at, invocation, results=listed, args={"which": "build"})

    def catalog(self, *names: str, at: str = JANUARY, invocation: str = "one") -> None:
        real = {name: {"name": name, "type": "TEXT", "index": 1} for name in names}
        self.write("catalog", at, invocation, nodes={MODEL: {"columns": real}}, sources={}, errors=None)

    def record(self, environment: str = "prod", **named: Any) -> list[str]:
        """Record what stands there; returns what was found strange."""
        project_file = read_project_file(self.folder / "attest.yml")
        manifest = read_manifest(self.target / "manifest.json")
        collection, extraction = collect(self.folder, manifest, project_file, environment, **named)
        record(self.connection, "attest", collection)
        return [finding.found for finding in extraction.findings if "schema version" not in finding.found]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql.replace("from ", "from attest.", 1)).fetchall()

    def counts(self, *tables: str) -> dict[str, int]:
        return {table: self.rows(f"select count(*) from {table}")[0][0] for table in tables}


@pytest.fixture
def shop(tmp_path: Path, empty_warehouse: Path) -> Iterator[Shop]:
    warehouse = tmp_path / "evidence.duckdb"
    shutil.copyfile(empty_warehouse, warehouse)
    made = Shop(tmp_path / "shop", warehouse)
    yield made
    made.connection.close()
