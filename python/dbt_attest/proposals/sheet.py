"""A sheet for a steward: one row a node, the keys of its annotation as columns; and back."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbt_attest.annotations.schema import BLANK, shown
from dbt_attest.errors import AnnotationErrors, InputError, Problem
from dbt_attest.proposals.proposal import ASKED, TEMPLATE, Nodes, Proposal, ordered

_LISTS = ("models", "sources", "permissions")
_ONE_OR_SEVERAL = ("owner", "aliases", "supersedes", "superseded_by")
#: The keys that a sheet has, in its order. A cell with several values has them with semicolons.
COLUMNS = (
    "authority", "status", "effective_from", "effective_to", "approved_by", "approved_at", "date_basis", "owner",
    "grain", "definition", "models", "sources", "aliases", "permissions", "entity_id", "evidence_id", "version",
    "supersedes", "superseded_by", "certified_until", "last_verified", "corrects",
)  # fmt: skip


def sheet(proposals: Iterable[Proposal]) -> tuple[str, list[str]]:
    """The sheet as CSV, and the unique_ids that have no row: a row cannot hold several versions."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(["node", "file", *COLUMNS])
    without: list[str] = []
    for one in proposals:
        if "versions" in one.keys:
            without.append(one.node.unique_id)
        else:
            cells = ["" if one.keys.get(key) == BLANK else _cell(one.keys.get(key)) for key in COLUMNS]
            rows.writerow([one.node.unique_id, one.file, *cells])
    return written.getvalue(), without


def from_sheet(nodes: Nodes, path: Path) -> tuple[list[Proposal], list[str]]:
    """The annotations that a sheet states, and the unique_ids of rows without an authority, which are passed over.

    An empty cell says nothing and changes nothing. Raises InputError where the file cannot be read, and
    AnnotationErrors with every problem of every row.
    """
    found: dict[str, Proposal] = {}
    undecided: list[str] = []
    problems: list[Problem] = []
    for line, row in _rows(path):
        node_id = (row.get("node") or "").strip()
        cells = {key: text.strip() for key, text in row.items() if key in COLUMNS and text and text.strip()}
        statement = nodes.by_id.get(node_id)
        place = f"{path}:{line}"
        if statement is None:
            expected = "the unique_id of a node of this project"
            near = difflib.get_close_matches(node_id, nodes.by_id, n=1)
            advice = f"did you mean {near[0]}?" if near else "run `dbt parse` if it is new"
            problems.append(Problem(place, None, "node", expected, shown(node_id), advice.rstrip("?")))
            continue
        if node_id in found or node_id in undecided:
            problems.append(Problem(place, node_id, "node", "one row a node", "a second one", "keep one"))
            continue
        before = statement.block or {}
        if "versions" in before:
            expected = "a node whose annotation has no `versions`"
            problems.append(Problem(place, node_id, "", expected, "one with them", "edit its file"))
            continue
        said = {key: _value(key, text) for key, text in cells.items() if text != _cell(before.get(key))}
        problems += _templates(place, node_id, cells)
        proposal = nodes.propose(statement)
        ruled = nodes.rules.defaults(statement.rule_path).keys
        block = before | said
        if "authority" not in block and "authority" not in ruled:
            undecided.append(node_id)
            continue
        governs = block.get("authority", ruled.get("authority", ("", 0))[0]) == "authoritative"
        if not governs:
            # nobody signs for it, so that what dbt states need not be said twice
            twice = {key for key in proposal.reasons if said.get(key) == proposal.keys[key]}
            block = {key: value for key, value in block.items() if key not in twice}
        blanks = {key: BLANK for key in ASKED if governs and key not in block and key not in ruled}
        problems += [
            replace(problem, file=place)
            for problem in nodes.problems(statement, block)
            if problem.key.split(".")[0].split("[")[0] not in blanks
        ]
        found[node_id] = replace(proposal, keys=ordered(block | blanks), reasons={}, unknown={})
    if problems:
        raise AnnotationErrors(problems)
    return list(found.values()), undecided


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows with their lines, whatever a spreadsheet separates cells with."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{path}: expected a sheet, found a file that cannot be read ({error.strerror})."
        ) from None
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: expected a sheet in UTF-8, found other bytes; save it as CSV UTF-8."
        ) from None
    head = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    columns = [column for column in reader.fieldnames or () if column]
    unknown = [column for column in columns if column not in ("node", "file", *COLUMNS)]
    if "node" not in columns or unknown:
        found = f"`{unknown[0]}`" if unknown and columns else "none"
        near = difflib.get_close_matches(unknown[0], COLUMNS, n=1) if unknown else []
        advice = f"did you mean `{near[0]}`?" if near else "make one with `attest annotate --csv`."
        raise InputError(
            f"{path}: expected the columns node, file, {', '.join(COLUMNS)}, found {found}; {advice}"
        )
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise InputError(f"{path}: expected CSV, found text that is none ({error}); save it again.") from None


def _cell(value: Any) -> str:
    """A value as text; nothing where a cell cannot hold it, so that it stays as it is."""
    if isinstance(value, list):
        plain = all(isinstance(item, (str, int, float)) and ";" not in str(item) for item in value)
        return "; ".join(str(item) for item in value) if plain else ""
    return "" if value is None or isinstance(value, dict) else str(value).strip()


def _value(key: str, text: str) -> Any:
    if key in _LISTS or key in _ONE_OR_SEVERAL:
        items = [item.strip() for item in text.split(";") if item.strip()]
        return items[0] if len(items) == 1 and key in _ONE_OR_SEVERAL else items
    if key == "version" and text.isdecimal() and text == str(int(text)):
        return int(text)
    return text


def _templates(place: str, node_id: str, cells: dict[str, str]) -> list[Problem]:
    return [
        Problem(place, node_id, key, "text without a template", shown(text), "dbt would render it; reword it")
        for key, text in cells.items()
        if TEMPLATE.search(text)
    ]
