"""Which nodes bear a tag or belong to a group: read from a manifest when it is asked, and recorded nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.artifacts.json_file import read_bytes, read_sections

_SECTIONS = ("nodes", "sources", "metrics", "semantic_models", "exposures")
_EXPECTED, _NEXT = "a dbt manifest", "run `dbt parse` first"


class _Config(msgspec.Struct):
    tags: Any = None
    group: Any = None


class _Member(msgspec.Struct):
    tags: Any = None
    group: Any = None
    config: _Config | None = None


_decoder = msgspec.json.Decoder(dict[str, _Member])


def members(path: Path, kind: str, name: str) -> frozenset[str]:
    """The unique_ids that bear the tag, or belong to the group, of this name; `kind` is tag or group.

    Raises InputError where the manifest cannot be read.
    """
    sections = read_sections(path, read_bytes(path, _EXPECTED, _NEXT), _EXPECTED, _NEXT)
    found = set()
    for section in _SECTIONS:
        nodes = _decoder.decode(sections[section]) if section in sections else {}
        for unique_id, node in nodes.items():
            said = [
                getattr(place, "tags" if kind == "tag" else "group", None) for place in (node, node.config)
            ]
            if any(name in one if isinstance(one, list) else name == one for one in said):
                found.add(unique_id)
    return frozenset(found)
