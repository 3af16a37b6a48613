"""Which file is to describe a node that no YAML describes yet: as the rest of its project does it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath

from dbt_attest.annotations.path_rules import forward_slashes
from dbt_attest.artifacts import Node
from dbt_attest.proposals.proposal import Nodes, yaml_file

_NODE, _FOLDER = "{node}", "{folder}"


class Homes:
    """How the nodes of a project are distributed over its property files."""

    def __init__(self, nodes: Nodes, project_dir: Path) -> None:
        self._project_dir = project_dir
        self._in_folder: dict[tuple[str, PurePosixPath], Counter[str]] = defaultdict(Counter)
        files: dict[str, dict[PurePosixPath, str]] = defaultdict(dict)
        for node_id in sorted(nodes.by_id):
            node = nodes.node(node_id)
            at, file = _own_file(node), PurePosixPath(yaml_file(node))
            if file == at:
                continue
            name, here = _form(file.name, at.parent.name, _FOLDER), str(file)
            if file.stem.strip("_") == at.stem:
                name = _form(file.name, at.stem, _NODE)
                here = str(at.with_name(name))
            self._in_folder[node.resource_type, at.parent][here] += 1
            if file.parent == at.parent:
                files[node.resource_type][file] = name
        self._names = {kind: Counter(names.values()) for kind, names in files.items()}

    def home(self, node: Node) -> str:
        """A property file, relative to the project, which is there or not.

        The one beside the node with its name, else the one that describes most of its kind in its folder, else one
        named as two others of the project are, else `_<folder>.yml`. Where each node has a file of its own, this
        one gets one, too.
        """
        own = _own_file(node)
        for suffix in (".yml", ".yaml"):
            beside = own.with_suffix(suffix)
            if (self._project_dir / beside).exists():
                return str(beside)
        near = self._in_folder.get((node.resource_type, own.parent), Counter()).most_common(1)
        far = self._names.get(node.resource_type, Counter()).most_common(1)
        usual = [form for form, _ in near] + [str(own.with_name(name)) for name, count in far if count > 1]
        form = usual[0] if usual else str(own.with_name(f"_{_FOLDER}.yml"))
        return form.replace(_NODE, own.stem).replace(_FOLDER, own.parent.name)


def _form(name: str, word: str, place: str) -> str:
    return re.sub(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", place, name) if word else name


def _own_file(node: Node) -> PurePosixPath:
    return PurePosixPath(forward_slashes(node.original_file_path or ""))
