"""Gaps in words: for a terminal, as annotations of a GitHub workflow, and as its summary."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dbt_attest.cli import prose_demand
from dbt_attest.cli.prose_demand import plain_cell, questions_text
from dbt_attest.cli.terminal import safe

if TYPE_CHECKING:
    from dbt_attest.errors import AnnotationErrors
    from dbt_attest.resolution.checking import Checked
    from dbt_attest.resolution.gaps import Gap

# So many gaps that say the same are one paragraph.
_TOGETHER = 4
_NAMED = 3


def text(checked: Checked, project: Path | None) -> str:
    """For people: a line of counts, then a paragraph for each gap, or for many that say the same."""
    compared = "" if checked.against is None else f" against {checked.against}"
    lines = [f"{checked.place} ({safe(checked.environment)}){compared}", _summary(checked)]
    for group in _grouped(checked.gaps):
        first = group[0]
        lines += ["", f"{first.severity:8} {first.kind}  {_what(group)}"]
        lines.append(f"  {'where':9} {safe(_where(group, project))}")
        if len(group) == 1 and first.since is not None:
            owner = "nobody owns it" if first.owner is None else f"owner {safe(first.owner)}"
            of_whom = "" if first.entity is None else f", {owner}"
            lines.append(f"  {'since':9} {first.since:%Y-%m-%d}{of_whom}")
        asked = _questions(group, checked)
        if asked:
            lines.append(f"  {'asked':9} {questions_text(asked)}")
        lines += [f"  {name:9} {safe(getattr(first, name))}" for name in ("expected", "found", "repair")]
    # what a change brings is not what people ask for
    return "\n".join([*lines, *(prose_demand.text(checked.demand) if checked.against is None else ())])


def github(checked: Checked, project: Path | None) -> str:
    """One workflow command a gap: `::error file=…,line=…,title=…::message`."""
    return "\n".join(
        workflow_command(
            gap.severity,
            _in_repository(gap.file, project),
            _line(project, gap),
            gap.kind,
            f"{_name(gap)}: expected {gap.expected}, found {gap.found}. {gap.repair}",
        )
        for gap in checked.gaps
    )


def annotations_of(error: AnnotationErrors, project: Path) -> str:
    """The same for annotations that could not be read."""
    return "\n".join(
        workflow_command("error", _in_repository(problem.file, project), None, "annotation", str(problem))
        for problem in error.problems
    )


def markdown(checked: Checked, project: Path | None) -> str:
    """A table for the summary of a workflow or the comment on a pull request."""
    lines = [f"### attest check: {_summary(checked)}"]
    if checked.gaps:
        lines += [
            "",
            "| severity | kind | what | where | expected | found | repair |",
            "|---|---|---|---|---|---|---|",
        ]
    for group in _grouped(checked.gaps):
        first = group[0]
        cells = (
            first.severity, first.kind, _what(group), _where(group, project), first.expected, first.found, first.repair,
        )  # fmt: skip
        lines.append("| " + " | ".join(plain_cell(cell) for cell in cells) + " |")
    return "\n".join([*lines, *(prose_demand.markdown(checked.demand) if checked.against is None else ())])


def _questions(group: list[Gap], checked: Checked) -> int:
    return sum(checked.demand.questions(entity) for entity in {gap.entity for gap in group})


def _summary(checked: Checked) -> str:
    counts = [f"{count} {_many(severity, count)}" for severity, count in checked.counts.items() if count]
    before = checked.before
    known = f"; {before} {_many('gap', before)} that {_many('was', before)} there before" if before else ""
    return (", ".join(counts) or ("no gap" if checked.against is None else "no new gap")) + known


def _many(word: str, count: int) -> str:
    if count == 1:
        return word
    return {"was": "were"}.get(word, f"{word}s")


def _grouped(gaps: Sequence[Gap]) -> Iterator[list[Gap]]:
    """The gaps in their order; many that say the same come together, where the first of them stands."""
    groups: dict[tuple[str, ...], list[Gap]] = {}
    for gap in _joined(gaps):
        groups.setdefault((gap.severity, gap.kind, gap.expected, gap.found, gap.repair), []).append(gap)
    for group in groups.values():
        if len(group) < _TOGETHER:
            yield from ([gap] for gap in group)
        else:
            yield group


def _joined(gaps: Sequence[Gap]) -> list[Gap]:
    """What one definition lacks is one gap here, and several where each is counted."""
    lacking: dict[tuple[str | None, str], list[Gap]] = {}
    for gap in gaps:
        if gap.kind == "attribute_missing" and gap.found == "none":
            lacking.setdefault((gap.evidence_id, gap.severity), []).append(gap)
    joined = []
    for gap in gaps:
        together = lacking.get((gap.evidence_id, gap.severity), []) if gap.kind == "attribute_missing" else []
        if len(together) < 2 or gap not in together:
            joined.append(gap)
        elif gap is together[0]:
            expected = ", ".join(one.expected for one in together)
            joined.append(replace(gap, expected=expected, repair="Add them to its annotation."))
    return joined


def _what(group: list[Gap]) -> str:
    names = ", ".join(_name(gap) for gap in group[:_NAMED])
    return safe(names) if len(group) == 1 else f"{len(group)} definitions: {safe(names)} and others"


def _name(gap: Gap) -> str:
    if gap.evidence_id is None:
        return "the collection"
    return gap.evidence_id if gap.entity == gap.evidence_id else f"{gap.evidence_id} of {gap.entity}"


def _where(group: list[Gap], project: Path | None) -> str:
    if len(group) == 1:
        line = _line(project, group[0])
        return f"{group[0].file}{'' if line is None else f':{line}'}"
    folders = Counter((gap.file or "").rpartition("/")[0] or "." for gap in group)
    listed = [
        f"{folder} ({count})" for folder, count in sorted(folders.items(), key=lambda one: (-one[1], one[0]))
    ]
    more = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {more} more {_many('folder', more)}" if more > 0 else "")


def _line(project: Path | None, gap: Gap) -> int | None:
    """The line of the file that names the definition, or its node; None where no line does."""
    if project is None or gap.file is None or gap.evidence_id is None:
        return None
    node = (gap.node_id or "").split(".")
    wanted = [rf"\bevidence_id:\s*['\"]?{re.escape(gap.evidence_id)}\b"]
    # of a table the source comes first
    wanted += [rf"\bname:\s*['\"]?{re.escape(part)}['\"]?\s*(#.*)?$" for part in reversed(node[2:])]
    wanted += [rf"\bentity_id:\s*['\"]?{re.escape(gap.entity or '')}\b"]
    lines = _lines(project / gap.file)
    # a metric may have the name of a model or measure above it
    section = next((at for at, line in enumerate(lines) if line.startswith(f"{node[0]}s:")), 0)
    for pattern in wanted:
        for number, line in enumerate(lines[section:], start=section + 1):
            if re.search(pattern, line):
                return number
    return 1 if lines else None


@cache
def _lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return ()


def _in_repository(file: str | None, project: Path | None) -> str | None:
    """The path that GitHub knows a file by: relative to the checkout, where the project is in one."""
    if file is None or project is None:
        return file
    root = os.environ.get("GITHUB_WORKSPACE")
    around = [Path(root)] if root else [one for one in (project, *project.parents) if (one / ".git").exists()]
    path = (project / file).resolve()
    return next(
        (
            path.relative_to(one.resolve()).as_posix()
            for one in around[:1]
            if path.is_relative_to(one.resolve())
        ),
        file,
    )


def workflow_command(severity: str, file: str | None, line: int | None, title: str, message: str) -> str:
    where = {"file": file, "line": None if line is None else str(line), "title": f"attest {title}"}
    said = ",".join(f"{key}={_escaped(value, properties=True)}" for key, value in where.items() if value)
    return f"::{severity} {said}::{_escaped(message)}"


def _escaped(value: str, properties: bool = False) -> str:
    """A text that ends no workflow command and begins none."""
    value = safe(value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
    return value.replace(":", "%3A").replace(",", "%2C") if properties else value
