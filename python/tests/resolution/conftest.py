"""Worlds in warehouses of their own, and the macro that asks them for whole grids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from .oracle import Collection
from .worlds import Grid, Recorded

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
