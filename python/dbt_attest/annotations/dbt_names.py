"""dbt names as people write them (`fct_revenue`, `fct_revenue.v2`, `raw.orders`), to unique_ids."""

from __future__ import annotations

from collections import defaultdict

from dbt_attest.artifacts import Manifest


class DbtNames:
    """The names of one manifest.

    An unversioned name of a versioned model means its latest version, as in dbt.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._ids = manifest.nodes.keys() | manifest.sources.keys()
        self._models: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._sources: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for unique_id, node in manifest.nodes.items():
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
                    self._models[name + suffix].append((node.package_name, unique_id))
        for unique_id, source in manifest.sources.items():
            name = f"{source.source_name}.{source.name}"
            for text in (name, f"{source.package_name}.{name}"):
                self._sources[text].append((source.package_name, unique_id))

    def model(self, text: str, package: str | None) -> str | None:
        """The unique_id of a model, seed or snapshot; None where there is none or several."""
        return self._find(self._models, text, package)

    def source(self, text: str, package: str | None) -> str | None:
        """The unique_id of a source's table; None where there is none or several."""
        return self._find(self._sources, text, package)

    def _find(self, names: dict[str, list[tuple[str, str]]], text: str, package: str | None) -> str | None:
        if text in self._ids:
            return text
        candidates = names.get(text, [])
        own = [unique_id for owner, unique_id in candidates if owner == package]
        found = set(own or [unique_id for _, unique_id in candidates])
        return found.pop() if len(found) == 1 else None


def unversioned_id(unique_id: str, version: str | None) -> str:
    """The unique_id without dbt's version: `model.p.m.v2` → `model.p.m`."""
    return unique_id if version is None else unique_id.removesuffix(f".v{version}")
