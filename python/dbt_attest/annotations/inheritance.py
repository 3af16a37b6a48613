"""Which value of a key holds: version over node over the rules of `attest.yml`; an explicit null removes."""

from __future__ import annotations

from typing import Any

import msgspec

from dbt_attest.annotations.path_rules import Defaults
from dbt_attest.annotations.place import Place
from dbt_attest.annotations.schema import ANNOTATION, key_path, shown, violations

DATE_KEYS = frozenset(
    {"effective_from", "effective_to", "approved_at", "recorded_at", "certified_until", "last_verified"}
)
LINK_KEYS = frozenset({"supersedes", "superseded_by", "describes"})
# `entity_id` and `aliases` name the entity, which is the same for all versions of a block; the others one
# definition.
OF_ONE_VERSION = DATE_KEYS | LINK_KEYS | {"evidence_id", "version"}


class Value(msgspec.Struct, frozen=True, gc=False):
    """A value that holds, its key for messages, and the number of the rule that gave it, if one did."""

    value: Any
    key: str
    rule: int | None


NOTHING = Value(None, "", None)


class Entry(msgspec.Struct, frozen=True, gc=False):
    """The keys of one definition after inheritance; `prefix` is where it stands, as in `versions[1].`."""

    values: dict[str, Value]
    prefix: str
    in_versions: bool

    def get(self, key: str) -> Value:
        """What holds for a key; a value of None where nothing does or a null says so."""
        return self.values.get(key, NOTHING)


def entries(place: Place, block: dict[str, Any] | None, defaults: Defaults) -> list[Entry]:
    """The definitions of a block: itself, or each of its `versions`."""
    base = {key: Value(value, key, rule) for key, (value, rule) in defaults.keys.items()}
    if block is None:
        return [Entry(base, "", False)]
    block = _checked(place, block)
    versions = block.pop("versions", None)
    if not versions:
        return [Entry({**base, **_own(block, "")}, "", False)]
    for key in sorted(block.keys() & OF_ONE_VERSION):
        if block[key] is not None:
            place.finding(
                key,
                "the key in the entries of `versions`",
                f"{shown(block[key])} beside `versions`; not taken",
            )
    shared = {key: value for key, value in _own(block, "").items() if key not in OF_ONE_VERSION}
    found: list[Entry] = []
    for index, version in enumerate(versions):
        if not isinstance(version, dict):
            continue  # reported as a problem
        prefix = f"versions[{index}]."
        if version.get("entity_id") not in (None, block.get("entity_id")):
            expected = "one entity in one `versions` list"
            place.problem(
                f"{prefix}entity_id", expected, shown(version["entity_id"]), "state it in a block of its own"
            )
        own = {key: value for key, value in _own(version, prefix).items() if key != "entity_id"}
        found.append(Entry({**base, **shared, **own}, prefix, True))
    return found


def _own(block: dict[str, Any], prefix: str) -> dict[str, Value]:
    return {key: Value(value, prefix + key, None) for key, value in block.items()}


def _checked(place: Place, block: dict[str, Any]) -> dict[str, Any]:
    """The block without what the schema does not allow, each of which is reported."""
    checked = dict(block)
    wrong = violations(ANNOTATION, block)
    if not wrong:
        return checked
    versions = checked.get("versions")
    if isinstance(versions, list):
        checked["versions"] = [dict(entry) if isinstance(entry, dict) else entry for entry in versions]
    for path, expected, found, suggestion in wrong:
        inside = path[2:] if path[:1] == ("versions",) and len(path) > 2 else path
        if inside[:1] == ("permissions",):
            continue  # what is not understood there lets nobody in, and is a finding
        place.problem(key_path(path), expected, found, suggestion)
        if inside is path:
            if len(path) < 2 or path[0] != "versions":
                checked.pop(str(path[0]) if path else "", None)
        else:
            checked["versions"][path[1]].pop(inside[0], None)
    return checked
