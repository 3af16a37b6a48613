"""NUL characters in an artifact: DuckDB keeps them, and much of what reads it later ends the text there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from dbt_attest.artifacts.header import Reading

_ESCAPED = b"\\u0000"
_INSTEAD = "\ufffd"


def without_nul(reading: Reading, content: bytes, sections: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """The sections with U+FFFD for each NUL in a text or key; each place is noted."""
    if _ESCAPED not in content:
        return sections
    return {section: _cleaned_section(reading, section, raw) for section, raw in sections.items()}


def _cleaned_section(reading: Reading, section: str, raw: msgspec.Raw) -> msgspec.Raw:
    if _ESCAPED not in bytes(raw):
        return raw
    places: list[tuple[str, Any]] = []
    value = _cleaned(msgspec.json.decode(raw), section, None, places)
    for place, entry in places:
        said = entry if isinstance(entry, dict) else {}
        reading.found(
            place,
            expected="text without NUL characters",
            found="a NUL character; U+FFFD was put in its place",
            file=said.get("original_file_path"),
            node=str(said["unique_id"]).replace("\x00", _INSTEAD) if said.get("unique_id") else None,
        )
    # `\\u0000` in JSON is a backslash and no NUL
    return msgspec.Raw(msgspec.json.encode(value)) if places else raw


def _cleaned(value: Any, place: str, entry: Any, places: list[tuple[str, Any]]) -> Any:
    """`entry` is the node or row around the value, itself cleaned as far as it is needed to name it."""
    if isinstance(value, str):
        if "\x00" not in value:
            return value
        places.append((place, entry))
        return value.replace("\x00", _INSTEAD)
    if isinstance(value, list):
        return [_cleaned(one, f"{place}[{n}]", entry or one, places) for n, one in enumerate(value)]
    if isinstance(value, dict):
        cleaned = {}
        for key, one in value.items():
            name = key.replace("\x00", _INSTEAD)
            there = f"{place}.{name}" if name.isidentifier() else f"{place}['{name}']"
            if name != key:
                places.append((there, entry or one))
            cleaned[name] = _cleaned(one, there, entry or one, places)
        return cleaned
    return value
