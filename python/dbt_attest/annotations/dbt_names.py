"""dbt names as people write them (`fct_revenue`, `fct_revenue.v2`, `raw.orders`), to unique_ids."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from dbt_attest.artifacts import Manifest


class DbtNames:
    """The names of one manifest, which are many and seldom asked for.

    An unversioned name of a versioned model means its latest version, as in dbt.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest

    @cached_property
    def _models(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for unique_id, node in self._manifest.nodes.items():
            version = node.version_text
            suffixes = [""] if version is None else [f".v{version}"]
            if version is not None and version == node.latest_version_text:
                suffixes.append("")
            for suffix in suffixes:
                for name in (
                    node.name,
                    f"{node.package_name}.{node.name}",
                    unversioned_id(unique_id, version),
                ):
                    found[name + suffix].append((node.package_name, unique_id))
        return found

    @cached_property
    def _sources(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for unique_id, source in self._manifest.sources.items():
            name = f"{source.source_name}.{source.name}"
            for text in (name, f"{source.package_name}.{name}"):
                found[text].append((source.package_name, unique_id))
        return found

    def model(self, text: str, package: str | None) -> str | None:
        """The unique_id of a model, seed or snapshot; None where there is none or several."""
        return self._find(self._models, text, package)

    def source(self, text: str, package: str | None) -> str | None:
        """The unique_id of a source's table; None where there is none or several."""
        return self._find(self._sources, text, package)

    def _find(self, names: dict[str, list[tuple[str, str]]], text: str, package: str | None) -> str | None:
        if text in self._manifest.nodes or text in self._manifest.sources:
            return text
        candidates = names.get(text, [])
        own = [unique_id for owner, unique_id in candidates if owner == package]
        found = set(own or [unique_id for _, unique_id in candidates])
        return found.pop() if len(found) == 1 else None


def unversioned_id(unique_id: str, version: str | None) -> str:
    """The unique_id without dbt's version: `model.p.m.v2` → `model.p.m`."""
    return unique_id if version is None else unique_id.removesuffix(f".v{version}")
