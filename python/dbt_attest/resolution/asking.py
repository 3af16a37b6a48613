"""Running a question, and saying in a sentence where it cannot be answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt_attest.errors import InputError, WarehouseError

if TYPE_CHECKING:
    import duckdb


def rows_of(
    connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """The rows of a question by column name; its errors as InputError and WarehouseError."""
    with trouble_told():
        found = connection.execute(sql, values)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@contextmanager
def trouble_told() -> Iterator[None]:
    """What DuckDB says where a question cannot be answered, as InputError or WarehouseError."""
    import duckdb

    try:
        yield
    except duckdb.CatalogException as error:
        raise WarehouseError(
            "Expected the resolvers in the warehouse, found none; run `dbt build` in the project that has "
            "the dbt package attest, or `attest build` for a stand-alone file "
            f"({str(error).splitlines()[0]})."
        ) from error
    except duckdb.InvalidInputException as error:
        if "cannot encode str as UTF-8" in str(error):
            raise not_utf_8() from None
        _, _, sentence = str(error).partition("attest: ")
        if not sentence:
            raise
        raise InputError(sentence[0].upper() + sentence.strip()[1:] + ".") from error
    except (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException) as error:
        raise WarehouseError(
            f"Expected a warehouse that can be read, found it damaged ({str(error).splitlines()[0]}); "
            "restore it, or build it again from the artifacts."
        ) from error


def not_utf_8() -> InputError:
    """The error of a question with bytes in it that are no text, as the arguments of a command may have them."""
    return InputError("Expected who asks and what to be text in UTF-8, found other bytes; write it in UTF-8.")
