"""Which nodes of a project people mean: ids, short names, and folders."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator

from dbt_attest.annotations.path_rules import path_pattern
from dbt_attest.annotations.statements import Statement
from dbt_attest.artifacts import Node, Source
from dbt_attest.errors import InputError
from dbt_attest.proposals.proposal import Nodes, yaml_file


def named(nodes: Nodes, names: tuple[str, ...]) -> list[Statement]:
    """The nodes of these names, each once, in the order of the names; of none, every node by its file.

    A name is a unique_id, a name as dbt has it (`revenue`, `fct_revenue.v2`, `raw.orders`), an entity_id, or a
    folder or pattern of files. All versions of a model have its name. Raises InputError where a name means
    nothing, or several things.
    """
    if not names:
        return sorted(nodes.by_id.values(), key=lambda one: _order(nodes, one))
    known: dict[str, set[str]] = {}
    for node_id, statement in nodes.by_id.items():
        for name in _names_of(nodes.node(node_id), statement):
            known.setdefault(name, set()).add(node_id)
    found: dict[str, Statement] = {}
    for name in names:
        for node_id in _meant(name.strip(), known, nodes):
            found[node_id] = nodes.by_id[node_id]
    return list(found.values())


def _order(nodes: Nodes, statement: Statement) -> tuple[str, str]:
    node_id = statement.node_id or ""
    return (yaml_file(nodes.node(node_id)), node_id)


def _names_of(node: Node, statement: Statement) -> Iterator[str]:
    block = statement.block or {}
    yield from (node.unique_id, node.name, statement.entity_id, str(block.get("entity_id", node.unique_id)))
    if node.version_text is not None:
        yield f"{node.name}.v{node.version_text}"
    if isinstance(node, Source):
        yield f"{node.source_name}.{node.name}"


def _meant(name: str, known: dict[str, set[str]], nodes: Nodes) -> list[str]:
    if name in nodes.by_id:
        return [name]
    found = sorted(known.get(name, ()), key=lambda one: _order(nodes, nodes.by_id[one]))
    # as in dbt, the bare name of a table comes last
    found = [one for one in found if not one.startswith("source.")] or found
    if not found:
        return _in_folder(name, known, nodes)
    families = {nodes.by_id[one].family for one in found}
    if len(families) > 1:
        raise InputError(f"{name}: expected one node, found {', '.join(found)}; name one of them in full.")
    return found


def _in_folder(name: str, known: dict[str, set[str]], nodes: Nodes) -> list[str]:
    pattern = path_pattern(name.rstrip("/"))
    found = []
    for one in named(nodes, ()):
        node_id = one.node_id or ""
        files = (one.rule_path, yaml_file(nodes.node(node_id)))
        if any(pattern.fullmatch(unicodedata.normalize("NFC", file)) for file in files):
            found.append(node_id)
    if not found:
        near = difflib.get_close_matches(name, known, n=3)
        advice = f"did you mean {' or '.join(near)}?" if near else "run `dbt parse` if it is new."
        raise InputError(
            f"{name}: expected a node of this project in target/manifest.json, or a folder of them, found none; "
            f"{advice}"
        )
    return found
