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
def grid() -> Grid:
    return Grid.definitions()


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


@pytest.fixture
def export(tmp_path: Path) -> Iterator[Export]:
    """Exports what a warehouse knows of prod for some groups; gives the new warehouse, open, and its file."""
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
