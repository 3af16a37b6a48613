"""One section of an artifact (`nodes`, `results`, …), surviving the single entry that is not as expected."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Any, TypeVar

import msgspec

from dbt_attest.artifacts.header import Reading
from dbt_attest.artifacts.json_file import refusal
from dbt_attest.artifacts.nodes import NO_COLUMNS, Column, Node
from dbt_attest.errors import InputError

T = TypeVar("T", bound=msgspec.Struct)

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_TOP_KEY = re.compile(r"^[^.\[]+")
_WORD = b"attest"
_NEXT_STEP = "run `dbt parse` again, and report it if dbt writes it so"


class _Listed(msgspec.Struct, gc=False):
    unique_id: str = ""


def decode_section(
    reading: Reading, sections: dict[str, msgspec.Raw], section: str, node_type: type[T]
) -> dict[str, T]:
    """The nodes of a section by unique_id, sorted by it: dbt's own order changes from one invocation to the next.

    An absent section is an empty one. A field whose type is not dbt's is left out and noted; InputError where
    not even that helps.
    """
    raw = sections.get(section)
    if raw is None:
        return {}
    try:
        nodes = msgspec.json.decode(raw, type=dict[str, node_type] | None) or {}  # type: ignore[valid-type]
    except msgspec.ValidationError:
        nodes = _one_by_one(reading, raw, section, node_type)
    for unique_id, node in nodes.items():
        if isinstance(node, Node):
            _complete(reading, section, unique_id, node)
    return dict(sorted(nodes.items(), key=itemgetter(0)))


def decode_rows(
    reading: Reading, sections: dict[str, msgspec.Raw], section: str, row_type: type[T]
) -> list[tuple[int, T]]:
    """The rows of a list, each with its position; what is no object is left out and noted.

    A field whose type is not dbt's is left out and noted.
    """
    raw = sections.get(section)
    try:
        return list(enumerate(msgspec.json.decode(raw or b"[]", type=list[row_type] | None) or []))  # type: ignore[valid-type]
    except msgspec.ValidationError:
        pass
    values = msgspec.json.decode(raw or b"[]")
    if not isinstance(values, list):
        raise refusal(reading.path, f"a list of `{section}`", type(values).__name__, _NEXT_STEP)
    rows: list[tuple[int, T]] = []
    for position, value in enumerate(values):
        place = f"{section}[{position}]"
        try:
            if not isinstance(value, dict):
                raise InputError(place)
            rows.append(
                (position, _leniently(reading, place, str(value.get("unique_id", "")), value, row_type))
            )
        except InputError:
            reading.found(place, expected="an object", found=f"{repr(value)[:80]}; left out")
    return rows


def decode_disabled(raw: msgspec.Raw | None) -> set[str]:
    """The unique_ids in `disabled`: a map to lists since v4, a list of nodes before (dbt-core#5883)."""
    if raw is None:
        return set()
    try:
        disabled = msgspec.json.decode(raw, type=dict[str, Any] | list[_Listed] | None)
    except msgspec.ValidationError:
        return set()
    if isinstance(disabled, list):
        return {node.unique_id for node in disabled if node.unique_id}
    return set(disabled or {})


_columns = msgspec.json.Decoder(dict[str, Column] | None)


def _complete(reading: Reading, section: str, unique_id: str, node: Node) -> None:
    # dbt 1.0 wrote no resource_type for some resources; the id says it.
    node.unique_id = node.unique_id or unique_id
    node.resource_type = node.resource_type or unique_id.split(".", 1)[0]
    node.name = node.name or unique_id.rsplit(".", 1)[-1]
    text = bytes(node.raw_columns)
    if _WORD in text:
        try:
            columns = _columns.decode(node.raw_columns) or {}
            node.columns = {
                key: column
                for key, column in columns.items()
                if column.meta or (column.config is not None and column.config.meta)
            }
        except msgspec.ValidationError as error:
            what, key = _explain(error)
            place = f"{section}['{unique_id}'].columns{key}"
            reading.found(
                place, expected=what, found="another type", file=node.original_file_path, node=unique_id
            )
    # a copy, or the bytes of the whole file would stay in memory with it
    node.raw_columns = NO_COLUMNS if len(text) <= 2 else msgspec.Raw(text)


def _one_by_one(reading: Reading, raw: msgspec.Raw, section: str, node_type: type[T]) -> dict[str, T]:
    expected = f"a {reading.path.name} whose `{section}` is a map of nodes"
    try:
        texts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError as error:
        raise refusal(reading.path, expected, str(error), _NEXT_STEP) from None
    nodes: dict[str, T] = {}
    for unique_id, text in texts.items():
        value = msgspec.json.decode(text)
        if not isinstance(value, dict):
            raise refusal(reading.path, expected, f"{section}['{unique_id}'] that is no object", _NEXT_STEP)
        nodes[unique_id] = _leniently(reading, f"{section}['{unique_id}']", unique_id, value, node_type)
    return nodes


def _leniently(reading: Reading, place: str, unique_id: str, value: dict[str, Any], node_type: type[T]) -> T:
    columns = value.pop("columns", None) if issubclass(node_type, Node) else None
    while True:
        try:
            node = msgspec.convert(value, node_type)
        except msgspec.ValidationError as error:
            what, key = _explain(error)
            top = _TOP_KEY.match(key)
            if top is None or top.group() not in value:
                raise InputError(f"{reading.path}: {place}: {error}; {_NEXT_STEP}.") from None
            shown = repr(value.pop(top.group()))[:80]
            file = value.get("original_file_path")
            reading.found(f"{place}.{key}", expected=what, found=shown, file=file, node=unique_id)
            continue
        if columns is not None and isinstance(node, Node):
            node.raw_columns = msgspec.Raw(msgspec.json.encode(columns))
        return node


def _explain(error: msgspec.ValidationError) -> tuple[str, str]:
    match = _MESSAGE.fullmatch(str(error))
    if match is None:
        return str(error), ""
    return match.group("what").removeprefix("Expected "), match.group("path") or ""
