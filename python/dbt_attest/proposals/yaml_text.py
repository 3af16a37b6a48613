"""Annotations as YAML text: what is to be pasted, and single values for files that are there."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

import yaml

from dbt_attest.annotations.inheritance import DATE_KEYS
from dbt_attest.annotations.schema import BLANK
from dbt_attest.artifacts import Source
from dbt_attest.proposals.proposal import ASKED, SECTIONS, Proposal

_WIDE = 2**31


def property_file(proposals: Iterable[Proposal]) -> str:
    """A dbt property file, 1.10 and later, for each file that the nodes stand in; comments tell of its values."""
    lines: list[str] = []
    last: tuple[str, ...] = ()
    for one in sorted(proposals, key=_heads):
        file, section, *parents = _heads(one)[:4]
        heads = [f"# {file}", f"{section}:"]
        if isinstance(one.node, Source):
            heads += [f"  - name: {value_text(parents[0])}", "    tables:"]
        elif one.node.version_text is not None:
            heads += [f"  - name: {value_text(one.node.name)}", "    versions:"]
        changed = next(
            (at for at, head in enumerate(heads) if at >= len(last) or last[at] != head), len(heads)
        )
        if changed == 0 and lines:
            lines.append("")
        lines += heads[changed:]
        last = tuple(heads)
        lines += _item(one, " " * (2 if len(heads) == 2 else 6))
    return "\n".join(lines)


def _heads(one: Proposal) -> tuple[str, ...]:
    """What its text stands under, in an order that keeps together what stands together."""
    node = one.node
    parent = node.source_name if isinstance(node, Source) else node.name if node.version_text else ""
    return (one.file, SECTIONS[node.resource_type], parent, node.unique_id)


def _item(one: Proposal, indent: str) -> Iterator[str]:
    version = one.node.version
    yield (
        f"{indent}- name: {value_text(one.node.name)}"
        if version is None
        else f"{indent}- v: {value_text(version)}"
    )
    yield from (f"{indent}  config:", f"{indent}    meta:", f"{indent}      attest:")
    inside = f"{indent}        "
    for key, value in one.keys.items():
        if key == "versions" and isinstance(value, list):
            yield f"{inside}versions:"
            for index, entry in enumerate(value):
                yield from _version(index, entry, f"{inside}  ", one.reasons)
            continue
        comment = ASKED[key] if value == BLANK else one.reasons.get(key)
        yield from key_lines(key, value, inside, f"from {comment}" if key in one.reasons else comment)
    for key, what in one.unknown.items():
        yield f"{inside}# {key}: {what}"


def _version(index: int, entry: Any, indent: str, reasons: dict[str, str]) -> Iterator[str]:
    if not isinstance(entry, dict) or not entry:
        yield f"{indent}- {flow_text(entry)}"
        return
    lines: list[str] = []
    for key, value in entry.items():
        comment = reasons.get(f"versions[{index}].{key}") or (ASKED.get(key) if value == BLANK else None)
        lines += key_lines(key, value, f"{indent}  ", comment)
    yield f"{indent}- {lines[0].lstrip()}"
    yield from lines[1:]


def key_lines(key: str, value: Any, indent: str, comment: str | None = None) -> Iterator[str]:
    """A key with its value in block style, as lines without their ends."""
    said = f"  # {' '.join(comment.split())}" if comment else ""
    if isinstance(value, dict) and value:
        yield f"{indent}{key}:{said}"
        for inner, inner_value in value.items():
            yield from key_lines(inner, inner_value, f"{indent}  ")
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        yield f"{indent}{key}:{said}"
        for item in value:
            yield f"{indent}  - {flow_text(item, key)}"
    elif isinstance(value, str) and _is_literal(value):
        yield f"{indent}{key}: |-{said}"
        yield from (f"{indent}  {line}" if line else "" for line in value.split("\n"))
    else:
        yield f"{indent}{key}: {value_text(value, key)}{said}"


def value_text(value: Any, key: str = "") -> str:
    """A value on one line, where no flow is around it."""
    if isinstance(value, (dict, list)):
        return flow_text(value, key)
    if _is_odd(value):
        return _escaped(value)
    if key in DATE_KEYS and isinstance(value, str) and _is_day(value):
        return value
    text: str = yaml.safe_dump(value, width=_WIDE, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def flow_text(value: Any, key: str = "") -> str:
    """A value on one line, wherever it stands."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow_text(k)}: {flow_text(v, str(k))}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(item, key) for item in value) + "]"
    if _is_odd(value):
        return _escaped(value)
    if key in DATE_KEYS and isinstance(value, str) and _is_day(value):
        return value
    text: str = yaml.safe_dump([value], width=_WIDE, allow_unicode=True, default_flow_style=True)
    return text.strip()[1:-1]


def _is_day(value: str) -> bool:
    # in quotes an impossible one reaches us, and without them it ends dbt
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_literal(value: str) -> bool:
    """Whether a text of several lines may stand as it is under `|-`."""
    lines = value.split("\n")
    return (
        len(lines) > 1
        and not _is_odd(value.replace("\n", ""))
        and value.strip() == value
        and not any(line != line.rstrip() or line.startswith("\t") for line in lines)
    )


def _is_odd(value: Any) -> bool:
    """Whether a text holds what a terminal or an editor might obey, or a line end that YAML would fold."""
    return isinstance(value, str) and any(
        unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Cs") for char in value
    )


def _escaped(value: str) -> str:
    """A text in double quotes with escapes for whatever is odd."""
    named = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
    return (
        '"'
        + "".join(named.get(char) or (f"\\U{ord(char):08x}" if _is_odd(char) else char) for char in value)
        + '"'
    )
