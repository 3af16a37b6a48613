"""The values of annotation keys, from what YAML and JSON deliver to what is recorded.

Every function takes the place and key for its message, reports what it cannot read there, and returns None or
an empty value in its stead; the caller stops when everything has been read.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from dbt_attest.annotations.definition import Alias, Owner
from dbt_attest.annotations.place import Place
from dbt_attest.annotations.schema import shown
from dbt_attest.artifacts import parse_instant

# dbt turns an unquoted date into its ISO text, and a timestamp at midnight into one with a time part.
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]00:00(?::00(?:\.0+)?)?)?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])", re.ASCII)
_OPEN_END = date(9999, 12, 31)
_EXPECTED_DATE = "a date like 2024-01-31"


def text(place: Place, key: str, value: Any) -> str | None:
    """Text without blanks around it; blank is None. NUL, in a document, becomes U+FFFD."""
    if value is None:
        return None
    cleaned = str(value)
    if "\x00" in cleaned:
        cleaned = cleaned.replace("\x00", "\ufffd")
        place.finding(key, "text without NUL characters", "a NUL character; U+FFFD was put in its place")
    return cleaned.strip() or None


def version_text(value: Any) -> str:
    """A version as dbt writes it in a unique_id: 1 → '1', 2.0 → '2.0', text as it is."""
    return str(value).strip()


def day(place: Place, key: str, value: Any) -> date | None:
    """A date, written YYYY-MM-DD. Anything else is a problem."""
    if value is None:
        return None
    try:
        found = _day(value) if isinstance(value, str) else None
        if found is not None:
            return found
        place.problem(key, _EXPECTED_DATE, shown(value), "write it as YYYY-MM-DD")
    except ValueError:
        place.problem(key, _EXPECTED_DATE, shown(value), "there is no such day")
    return None


@lru_cache(1000)
def _day(text: str) -> date | None:
    """None for another form; ValueError where there is no such day. A project has few days, many times."""
    match = _DATE.fullmatch(text.strip())
    return None if match is None else date.fromisoformat(match.group(1))


def day_of_dbt(place: Place, key: str, value: Any) -> date | None:
    """The day that dbt's instant falls on where it was written; what is none is a finding.

    dbt gives a date without time the midnight and the offset of the machine that parsed the project.
    """
    if value is None:
        return None
    match = _DAY.match(str(value))
    try:
        if match is not None:
            return date.fromisoformat(match.group())
    except ValueError:
        pass
    place.finding(key, "a date, as dbt writes it", f"{shown(value)}; not recorded")
    return None


def last_day(place: Place, key: str, value: Any) -> date | None:
    """The inclusive end of an interval; 9999-12-31 is how warehouses write an open one."""
    end = day(place, key, value)
    return None if end == _OPEN_END else end


def interval(place: Place, prefix: str, block: dict[str, Any]) -> tuple[date | None, date | None]:
    """`effective_from` and `effective_to` of a block; the order is checked, equal is one day."""
    start = day(place, f"{prefix}effective_from", block.get("effective_from"))
    end = last_day(place, f"{prefix}effective_to", block.get("effective_to"))
    if start is not None and end is not None and start > end:
        expected = f"a day not before effective_from ({start.isoformat()})"
        place.problem(
            f"{prefix}effective_to", expected, end.isoformat(), "effective_to is the last day, inclusive"
        )
    return start, end


def recorded_at(place: Place, key: str, value: Any, artifact_instant: datetime) -> datetime | None:
    """The declared instant in UTC; it cannot be later than the artifact that says so."""
    if value is None:
        return None
    try:
        instant, has_offset = parse_instant(str(value))
    except ValueError:
        place.problem(key, "an instant like 2024-06-10T09:00:00Z", shown(value))
        return None
    if not has_offset:
        place.finding(key, "an instant with an offset, like 2024-06-10T09:00:00Z", f"{value}; taken as UTC")
    if instant > artifact_instant:
        expected = f"an instant not after the artifact's own ({artifact_instant.isoformat()})"
        place.problem(key, expected, shown(value), "what was recorded cannot be later than what says so")
    return instant


def owners(place: Place, key: str, value: Any) -> list[Owner]:
    """Owners as annotated: a name, a list of names, or dated ones."""
    if value is None:
        return []
    found: list[Owner] = []
    for index, item in enumerate(value if isinstance(value, list) else [value]):
        at = f"{key}[{index}]" if isinstance(value, list) else key
        if isinstance(item, dict):
            name = text(place, f"{at}.name", item.get("name"))
            start, end = interval(place, f"{at}.", item)
        else:
            name, start, end = text(place, at, item), None, None
        if name is not None:
            found.append(Owner(name=name, effective_from=start, effective_to=end))
    return _unique(found)


def aliases(place: Place, key: str, value: Any) -> list[Alias]:
    """Other names, each with its language and days where given."""
    if value is None:
        return []
    found: list[Alias] = []
    for index, item in enumerate(value if isinstance(value, list) else [value]):
        at = f"{key}[{index}]" if isinstance(value, list) else key
        if isinstance(item, dict):
            name = text(place, f"{at}.alias", item.get("alias"))
            language = text(place, f"{at}.language", item.get("language"))
            start, end = interval(place, f"{at}.", item)
        else:
            name, language, start, end = text(place, at, item), None, None, None
        if name is not None:
            found.append(Alias(alias=name, language=language, effective_from=start, effective_to=end))
    return _unique(found)


def names(place: Place, key: str, value: Any) -> list[str] | None:
    """A name or a list of names; None where the key says nothing."""
    if value is None:
        return None
    items = value if isinstance(value, list) else [value]
    return _unique([name for item in items if (name := text(place, key, item)) is not None])


def scope(place: Place, key: str, value: Any) -> dict[str, str]:
    """Where a definition applies, as a map of text; true and false as JSON writes them."""
    found: dict[str, str] = {}
    if not value:
        return found
    for name, item in value.items():
        plain = str(item).lower() if isinstance(item, bool) else str(item)
        found[str(name).strip()] = text(place, f"{key}.{name}", plain) or ""
    return dict(sorted(found.items()))


def permissions(place: Place, key: str, value: Any) -> list[str]:
    """Groups and policies; whatever is not understood lets nobody in."""
    if value is None:
        return []
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and item.strip() for item in items):
        place.finding(key, "a list of groups or of policies", f"{shown(value)}; nobody is let in")
        return []
    return _unique([name for item in items if (name := text(place, key, item)) is not None])


def _unique(items: list[Any]) -> list[Any]:
    return list(dict.fromkeys(items))
