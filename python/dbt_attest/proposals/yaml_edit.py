"""Keys of an annotation put into the text of a dbt property file, of which nothing else changes by one byte.

PyYAML says where things stand; lines are put between others, and a value is put in the place of another. What
the text says afterwards is compared with what it said and the keys: where that is not the same, nothing is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from dbt_attest.annotations.strict_yaml import load_yaml
from dbt_attest.artifacts import Node, Source
from dbt_attest.proposals.proposal import SECTIONS
from dbt_attest.proposals.yaml_text import flow_text, key_lines, value_text

ELSEWHERE = "its annotation stands in its SQL or in dbt_project.yml"
_PLACES = (("config", "meta", "attest"), ("meta", "attest"))


class CannotEdit(Exception):  # noqa: N818  (a refusal, told per node)
    """Why a text cannot be edited without risk; the text is for people."""


@dataclass(frozen=True)
class _Edit:
    """Characters `start` to `end` of a text, and what comes in their place."""

    start: int
    end: int
    text: str


class PropertyFile:
    """The text of a property file, to which keys are added node by node.

    Raises CannotEdit where it is no YAML that can be edited.
    """

    def __init__(self, content: bytes) -> None:
        try:
            text = content.decode("utf-8")
            self._bom = text.startswith("\ufeff")
            self._text = text.removeprefix("\ufeff")
            # of what an anchor repeats, one place is edited
            self._expected = _unshared(load_yaml(self._text))
            root = yaml.compose(self._text, Loader=yaml.SafeLoader)
        except UnicodeDecodeError:
            raise CannotEdit("it is not UTF-8") from None
        except (ValueError, RecursionError, yaml.YAMLError) as error:
            raise CannotEdit(f"it cannot be read as YAML ({' '.join(str(error).split())})") from None
        self._root: yaml.Node | None = root
        self._newline = "\r\n" if "\r\n" in self._text else "\n"
        starts = [0]
        for line in self._text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self._edits: list[_Edit] = []
        self._begun: set[str] = set()

    def set(self, node: Node, keys: dict[str, Any], *, is_annotated: bool = False) -> None:
        """Have the annotation of a node say these keys; raises CannotEdit where it cannot be done safely.

        `is_annotated` is whether dbt knows an annotation already: one that is not here would win, or be lost.
        """
        steps = _steps(node)
        mapping = self._root
        values = self._expected
        above: yaml.Node | None = None
        is_here = False
        for step in steps:
            mapping, values = _entry(mapping, values, step)
            is_here |= any(_has(values, one) for one in _PLACES)
        if not isinstance(mapping, yaml.MappingNode):
            raise CannotEdit("its entry is no mapping")
        if is_annotated and not is_here:
            raise CannotEdit(ELSEWHERE)
        place = next((one for one in _PLACES if _has(values, one)), None)
        if place is None:
            # beside the meta that is there, since dbt does not merge the two in every version
            place = _PLACES[_has(values, ["meta"]) and not _has(values, ["config", "meta"])]
        left = list(place)
        while left and isinstance(values, dict) and left[0] in values:
            above, inner = _pair(mapping, left[0])
            if not isinstance(inner, yaml.MappingNode):
                raise CannotEdit(f"its `{left[0]}` is no mapping")
            mapping, values = inner, values[left.pop(0)]
        edits: list[_Edit] = []
        if left:
            nested: Any = dict(keys)
            for key in reversed(left[1:]):
                nested = {key: nested}
            edits.append(self._inserted(mapping, above, {left[0]: nested}))
            values[left[0]] = nested
        else:
            new = {key: value for key, value in keys.items() if key not in values}
            for key, value in keys.items():
                if key in values and values[key] != value:
                    edits.append(self._replaced(mapping, key, value))
            if new:
                edits.append(self._inserted(mapping, above, new))
            values.update(keys)
        self._edits += edits

    def add(self, node: Node, keys: dict[str, Any]) -> None:
        """Have an entry for a node that has none, which says these keys; raises CannotEdit as `set` does."""
        section = SECTIONS[node.resource_type]
        entry = {"name": node.name, "config": {"meta": {"attest": keys}}}
        values = self._expected = {} if self._expected is None else self._expected
        if not isinstance(values, dict):
            raise CannotEdit("it is no mapping")
        is_new = section in self._begun or section not in values
        listed = values.setdefault(section, [])
        if not isinstance(listed, list) or not (listed or is_new):
            raise CannotEdit(f"its `{section}` is no list with entries")
        if any(isinstance(one, dict) and one.get("name") == node.name for one in listed):
            raise CannotEdit(f"it describes `{node.name}` by now; run `dbt parse`")
        if is_new:
            head = [] if section in self._begun else [f"{section}:"]
            if head and self._text.strip() + "".join(self._begun):
                head.insert(0, "")
            self._begun.add(section)
            self._edits.append(self._lines_at(len(self._starts), [*head, *_item(entry, 2, 2)]))
        else:
            self._edits.append(self._appended(section, entry))
        listed.append(entry)

    def edited(self) -> bytes:
        """The text with all that was set; raises CannotEdit where it would say anything else."""
        text = self._text
        edits = sorted(enumerate(self._edits), key=lambda one: (one[1].start, one[0]), reverse=True)
        for _, edit in edits:
            text = text[: edit.start] + edit.text + text[edit.end :]
        try:
            said = load_yaml(text)
        except ValueError:
            said = None
        if said != self._expected:
            raise CannotEdit(
                "its layout cannot be kept (an anchor, a tag, a text of several lines without a line end, or a "
                "comment in an unusual place)"
            )
        return (("\ufeff" if self._bom else "") + text).encode()

    def _inserted(self, mapping: yaml.MappingNode, above: yaml.Node | None, keys: dict[str, Any]) -> _Edit:
        if mapping.flow_style:
            end = mapping.end_mark.index - 1
            before = self._text[:end].rstrip()
            comma = "" if before.endswith((",", "{")) else ","
            inside = ", ".join(f"{key}: {flow_text(value, key)}" for key, value in keys.items())
            space = "" if before.endswith("{") else " "
            return _Edit(len(before), end, f"{comma}{space}{inside}")
        first = mapping.value[0][0]
        lines = [
            line
            for key, value in keys.items()
            for line in key_lines(key, value, " " * first.start_mark.column)
        ]
        if above is not None:
            if first.start_mark.line == above.end_mark.line:
                raise CannotEdit("a key stands on the line of the one around it")
            at = above.end_mark.line + 1
        else:
            at = self._line_after(_last_of_head(mapping))
        return self._lines_at(at, lines)

    def _appended(self, section: str, entry: dict[str, Any]) -> _Edit:
        _, sequence = _pair(self._root, section)
        if not isinstance(sequence, yaml.SequenceNode) or sequence.flow_style:
            raise CannotEdit(f"its `{section}` is in brackets")
        text, dash = self._text.splitlines(), sequence.start_mark.column
        last: yaml.Node = sequence.value[-1]
        indent = last.start_mark.column - dash
        apart = any(not text[one.start_mark.line - 1].strip() for one in sequence.value[1:])
        while isinstance(last, yaml.CollectionNode) and not last.flow_style and last.value:
            last = last.value[-1][1] if isinstance(last, yaml.MappingNode) else last.value[-1]
        at = self._line_after(last)
        # what is noted under the last entry stays with it
        while at < len(text) and text[at].lstrip().startswith("#") and not text[at][: dash + 1].strip():
            at += 1
        return self._lines_at(at, [*([""] if apart else []), *_item(entry, dash, indent)])

    def _lines_at(self, at: int, lines: list[str]) -> _Edit:
        text = self._newline.join(lines) + self._newline
        start = self._starts[min(at, len(self._starts) - 1)]
        if start and self._text[start - 1] not in "\n\r":
            text = self._newline + text.removesuffix(self._newline)
        return _Edit(start, start, text)

    def _line_after(self, value: yaml.Node) -> int:
        """The number of the line below a value."""
        end = value.end_mark
        if not isinstance(value, yaml.ScalarNode) or value.style not in ("|", ">"):
            return int(end.line) + 1
        # it ends where the next thing begins
        if value.value.endswith("\n\n"):
            return int(end.line)
        line = int(end.line)
        lines = self._text.splitlines()
        while line > value.start_mark.line + 1 and not lines[line - 1].strip():
            line -= 1
        return line

    def _replaced(self, mapping: yaml.MappingNode, key: str, value: Any) -> _Edit:
        _, old = _pair(mapping, key)
        is_scalar = isinstance(old, yaml.ScalarNode) and old.style not in ("|", ">")
        is_flow = isinstance(old, yaml.CollectionNode) and old.flow_style
        if not (is_scalar or is_flow) or old.start_mark.line != old.end_mark.line:
            raise CannotEdit(f"its `{key}` has several lines; edit it by hand")
        start, end = old.start_mark.index, old.end_mark.index
        written = flow_text(value, key) if mapping.flow_style else value_text(value, key)
        if isinstance(value, str) and "\n" in value:
            written = flow_text(value, key)
        return _Edit(start, end, f" {written}" if start == end and self._text[start - 1] == ":" else written)


def _item(entry: dict[str, Any], dash: int, indent: int) -> list[str]:
    """An entry of a list in block style: `dash` blanks before its dash, `indent` from there to its keys."""
    first, *others = [
        line for key, value in entry.items() for line in key_lines(key, value, " " * (dash + indent))
    ]
    return [f"{' ' * dash}-{first[dash + 1 :]}", *others]


def _unshared(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unshared(item) for key, item in value.items()}
    return [_unshared(item) for item in value] if isinstance(value, list) else value


def _steps(node: Node) -> list[tuple[str, str, Any]]:
    """The lists to go through, each with the key of an entry and its value there."""
    if isinstance(node, Source):
        return [("sources", "name", node.source_name), ("tables", "name", node.name)]
    steps: list[tuple[str, str, Any]] = [(SECTIONS[node.resource_type], "name", node.name)]
    if node.version_text is not None:
        steps.append(("versions", "v", node.version_text))
    return steps


def _entry(mapping: yaml.Node | None, values: Any, step: tuple[str, str, Any]) -> tuple[yaml.Node, Any]:
    section, key, wanted = step
    listed = values.get(section) if isinstance(values, dict) else None
    found = [
        at
        for at, one in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and key in one and str(one[key]) == str(wanted)
    ]
    if len(found) != 1 or not isinstance(listed, list):
        how_many = "no entry" if not found else f"{len(found)} entries"
        made = (
            " (a metric that dbt makes of a measure has none)" if section == "metrics" and not found else ""
        )
        raise CannotEdit(f"it has {how_many} `{key}: {wanted}` under `{section}`{made}")
    _, sequence = _pair(mapping, section)
    if not isinstance(sequence, yaml.SequenceNode):
        raise CannotEdit(f"its `{section}` is no list")
    return sequence.value[found[0]], listed[found[0]]


def _pair(mapping: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node]:
    for key_node, value in mapping.value if isinstance(mapping, yaml.MappingNode) else ():
        if key_node.value == key:
            return key_node, value
    raise CannotEdit(f"its `{key}` comes from an anchor")


def _has(values: Any, keys: Iterable[str]) -> bool:
    for key in keys:
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def _last_of_head(mapping: yaml.MappingNode) -> yaml.Node:
    """The last of the values without anything inside that an entry begins with, such as name and description."""
    last: yaml.Node | None = None
    for _, value in mapping.value:
        if not isinstance(value, yaml.ScalarNode):
            break
        last = value
    if last is None:
        last = next((value for key, value in mapping.value if key.value in ("name", "v")), mapping)
    return last
