"""Instants as text, in every form that dbt and people write."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

# dbt-core#1300 shows `+00:00Z`; dbt 2 writes nanoseconds; Python 3.10's own parser knows neither of them.
_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?)?"
    r"\s*(?:([+-])([0-9]{2})(?::?([0-9]{2}))?)?([Zz])?",
    re.ASCII,
)


def parse_instant(text: str) -> tuple[datetime, bool]:
    """The instant in UTC, and whether the text had an offset; without one it is taken as UTC.

    Accepts `Z`, `+00:00`, `+00:00Z`, a blank for `T`, any number of decimals (cut to microseconds) and a date
    alone (midnight). Raises ValueError for anything else.
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an instant: {text!r}")
    year, month, day, hour, minute, second, fraction, sign, off_hours, off_minutes, zulu = match.groups()
    offset = timedelta()
    if sign:
        offset = timedelta(hours=int(off_hours), minutes=int(off_minutes or 0)) * (1 if sign == "+" else -1)
        if zulu and offset:
            raise ValueError(f"two different offsets: {text!r}")
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    local = datetime(
        int(year),
        int(month),
        int(day),
        int(hour or 0),
        int(minute or 0),
        int(second or 0),
        micros,
        tzinfo=timezone(offset),
    )
    try:
        return local.astimezone(timezone.utc), bool(sign or zulu)
    except OverflowError as error:
        raise ValueError(f"outside the calendar: {text!r}") from error
