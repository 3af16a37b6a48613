"""Collections that arrive in some order, recorded quickly, since a test needs hundreds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.annotations import ProjectFile
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
