"""Worlds in warehouses of their own, and the macro that asks them for whole grids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from dbt_attest.warehouse import exporting

from .oracle import Collection
from .worlds import Grid, Recorded

Export = Callable[[Recorded, list[str]], tuple[Recorded, Path]]
Record = Callable[[Iterable[Collection]], Recorded]


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    return Grid(tmp_path_factory.mktemp("grid"))


@pytest.fixture
def record(tmp_path: Path, empty_warehouse: Path) -> Iterator[Record]:
    """Records collections in their order; every warehouse made is closed at the end."""
    opened: list[Recorded] = []

    def make(arrivals: Iterable[Collection]) -> Recorded:
        opened.append(Recorded(tmp_path / f"world{len(opened)}", empty_warehouse, arrivals))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def export_sql() -> str:
    return exporting.compile_sql("{{ attest.export_sql() }}", "attest", "prod", {})


@pytest.fixture
def export(tmp_path: Path, export_sql: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Export]:
    """Exports what a warehouse knows of prod for some groups; gives the new warehouse, open, and its file."""
    # the text is the same for all groups, and dbt takes seconds to compile it
    monkeypatch.setattr(exporting, "compile_sql", lambda *_: export_sql)
    opened: list[Recorded] = []

    def make(recorded: Recorded, groups: list[str]) -> tuple[Recorded, Path]:
        full, out = (tmp_path / f"{name}{len(opened)}.duckdb" for name in ("full", "exported"))
        recorded.copy_to(full)
        exporting.export_for_groups(full, "attest", "prod", groups, out)
        opened.append(Recorded.of(out))
        return opened[-1], out

    yield make
    for one in opened:
        one.close()
