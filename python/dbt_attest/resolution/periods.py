"""Periods as people write them."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date

from dbt_attest.errors import InputError


def period(text: str) -> tuple[date, date]:
    """First and last day of a year (2025), a quarter (2025-Q3) or a month (2025-07); raises InputError."""
    found = re.fullmatch(r"(\d{4})(?:-?[Qq]([1-4])|-(0[1-9]|1[0-2]))?", text.strip())
    if not found or int(found[1]) == 0:
        raise InputError(
            f"During: expected a year, quarter or month such as 2025, 2025-Q3 or 2025-07, found {text}."
        )
    year = int(found[1])
    if found[2]:
        first, last = 3 * int(found[2]) - 2, 3 * int(found[2])
    elif found[3]:
        first = last = int(found[3])
    else:
        first, last = 1, 12
    return date(year, first, 1), date(year, last, monthrange(year, last)[1])
