"""What dbt states outside the annotation: owners by group, people's own meta keys and exposure, and grain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dbt_attest.artifacts import Exposure, Manifest, Node

# The names people use; the first one that says something counts (artifacts seen in about 3,500 projects).
_META_KEYS = ("owner", "owners", "team", "business_owner", "data_owner", "data_steward", "contact")
_GRAIN_KEYS = ("grain", "primary_key")
_NAME_KEYS = ("name", "email", "slack", "team")
_OF_PEOPLE = frozenset({*_META_KEYS, *_GRAIN_KEYS})


class Stated(NamedTuple):
    """What one place says: attribute `owner`, `grain` or `description`, by a source, at a place in it."""

    attribute: str
    source: str
    place: str
    value: str


def owner_claims(manifest: Manifest, node: Node) -> dict[str, list[str]]:
    """The owners by the place that states them: `group`, `meta` and `exposure`."""
    claims = {"meta": meta_owner(node.config.meta if node.config else None, node.meta)}
    group = node.group or (node.config.group if node.config else None)
    if isinstance(group, str):
        claims["group"] = _group_owner(manifest, group, node.package_name)
    if isinstance(node, Exposure):
        claims["exposure"] = _names(node.owner)
    return claims


def meta_owner(config_meta: Any, top_meta: Any) -> list[str]:
    """The owners named by somebody's own meta keys; `config.meta` wins over the older `meta`."""
    metas = _said_by_people(config_meta, top_meta)
    for key in _META_KEYS if metas else ():
        for meta in metas:
            names = _names(meta.get(key))
            if names:
                return names
    return []


def stated_by_dbt(owners: dict[str, list[str]], config_meta: Any, top_meta: Any, group: Any) -> list[Stated]:
    """Every owner and grain that dbt's own fields and people's own meta keys state, each at its place."""
    found: list[Stated] = []
    if owners.get("group"):
        found += _listed("owner", "group", f"group.{group}", owners["group"])
    if owners.get("exposure"):
        found += _listed("owner", "exposure", "owner", owners["exposure"])
    for meta in _said_by_people(config_meta, top_meta)[:1]:
        for key in _META_KEYS:
            found += _listed("owner", "meta", f"meta.{key}", _names(meta.get(key)))
        for key in _GRAIN_KEYS:
            # several columns are one grain
            if columns := ", ".join(_names(meta.get(key))):
                found.append(Stated("grain", "meta", f"meta.{key}", columns))
    return found


def _said_by_people(config_meta: Any, top_meta: Any) -> list[dict[str, Any]]:
    """The metas with a key of people's own, merged where both have one: `config.meta` first, key by key."""
    metas = []
    for meta in (config_meta, top_meta):
        if isinstance(meta, dict) and not _OF_PEOPLE.isdisjoint(meta):
            metas.append(meta)
    if len(metas) < 2:
        return metas
    blank = {key for key in _OF_PEOPLE if not _names(metas[0].get(key))}
    return [{**metas[0], **{key: metas[1][key] for key in blank & metas[1].keys()}}]


def _listed(attribute: str, source: str, place: str, names: list[str]) -> Iterator[Stated]:
    for index, name in enumerate(names):
        at = place if len(names) == 1 else f"{place}[{index}]"
        yield Stated(attribute, source, at, name)


def _group_owner(manifest: Manifest, name: str, package: str) -> list[str]:
    own = manifest.groups.get(f"group.{package}.{name}")
    others = [group for key, group in sorted(manifest.groups.items()) if group.name == name]
    group = own or (others[0] if others else None)
    return _names(group.owner) if group else []


def _names(value: Any) -> list[str]:
    """Names in text, a list, or a mapping with name, email, slack or team; commas belong to a name."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value.strip()] if value.strip() else []
    if isinstance(value, list):
        return list(dict.fromkeys(name for item in value for name in _names(item)))
    if isinstance(value, dict):
        return next((names for key in _NAME_KEYS if (names := _names(value.get(key)))), [])
    return []
