"""Rows of evidence tables that are made anew each time somebody goes through them, so that they take no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

#: A struct, and the columns that it has in common with all that the same file states (`asserted_at` is one).
Stated: TypeAlias = tuple[msgspec.Struct, dict[str, Any]]


class Rows:
    """Rows as mappings from column to value."""

    def __init__(self, make: Callable[..., Iterable[dict[str, Any]]], *arguments: Any) -> None:
        self._make = make
        self._arguments = arguments

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._make(*self._arguments))


class StructRows:
    """The same of structs. Where only a few columns are asked for, no mapping is made."""

    def __init__(self, make: Callable[..., Iterable[Stated]], *arguments: Any) -> None:
        self._make = make
        self._arguments = arguments

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for struct, of_file in self._make(*self._arguments):
            yield msgspec.structs.asdict(struct) | of_file

    def values(self, columns: tuple[str, ...]) -> Iterator[tuple[datetime, tuple[Any, ...]]]:
        """Of each row, when it was asserted, and the values of two or more columns of the struct."""
        values = attrgetter(*columns)
        return ((of_file["asserted_at"], values(struct)) for struct, of_file in self._make(*self._arguments))


def values_of(
    rows: Iterable[dict[str, Any]], columns: tuple[str, ...]
) -> Iterator[tuple[datetime, tuple[Any, ...]]]:
    """Of each row, when it was asserted, and the values of two or more columns; a missing one is None."""
    if isinstance(rows, StructRows):
        return rows.values(columns)
    return ((row["asserted_at"], tuple(map(row.get, columns))) for row in rows)
