"""The part of dbt's manifest that is read, as small typed objects.

Only the fields needed are declared: what is not declared is skipped while decoding, which is what makes a
125 MB manifest take about a second. Fields that people fill as they like (`meta`, `owner`) stay untyped.
"""

from __future__ import annotations

from typing import Any

import msgspec

NO_COLUMNS = msgspec.Raw(b"{}")


class NodeConfig(msgspec.Struct, gc=False):
    """The resolved configuration of a node or column."""

    meta: Any = None
    group: Any = None


class DependsOn(msgspec.Struct, gc=False):
    """The unique_ids a node reads, as dbt compiled them."""

    nodes: list[str] | None = None


class Column(msgspec.Struct, gc=False):
    """A column as written in YAML."""

    name: str = ""
    description: str | None = None
    meta: Any = None
    config: NodeConfig | None = None


class Node(msgspec.Struct, gc=False):
    """A model, seed or snapshot; the base of every other resource.

    `version` is dbt's model version as JSON has it (int, float, str or None). `columns` holds only the
    columns whose text mentions the word `attest`; the others are not decoded.
    """

    unique_id: str = ""
    resource_type: str = ""
    name: str = ""
    package_name: str = ""
    original_file_path: str | None = None
    patch_path: str | None = None
    description: str | None = None
    label: str | None = None
    version: int | float | str | None = None
    latest_version: int | float | str | None = None
    group: str | None = None
    meta: Any = None
    config: NodeConfig | None = None
    depends_on: DependsOn | None = None
    # Columns are half of a large manifest and nearly none is annotated: `read_manifest` looks through the
    # undecoded text, fills `columns` where it has to, and lets go of the text. No JSON key has the second
    # name.
    raw_columns: msgspec.Raw = msgspec.field(default=NO_COLUMNS, name="columns")
    columns: dict[str, Column] = msgspec.field(default_factory=dict, name="attested columns")

    @property
    def version_text(self) -> str | None:
        """dbt's model version as dbt writes it in the unique_id, None for an unversioned model."""
        return None if self.version is None else str(self.version)

    @property
    def latest_version_text(self) -> str | None:
        """The version an unversioned `ref` means, in the same form."""
        return None if self.latest_version is None else str(self.latest_version)


class Source(Node, gc=False):
    """A table of a source. `source_meta` is the meta of the source block around it."""

    source_name: str = ""
    source_meta: Any = None
    database: str | None = None
    schema: str | None = None
    identifier: str | None = None


class Exposure(Node, gc=False):
    """An exposure; `owner` is dbt's `{name, email}`."""

    owner: Any = None


class Measure(msgspec.Struct, gc=False):
    """A measure of a semantic model."""

    name: str = ""
    config: NodeConfig | None = None


class SemanticModel(Node, gc=False):
    """A semantic model with its measures."""

    measures: list[Measure] | None = None


class Group(msgspec.Struct, gc=False):
    """A dbt group; `owner` is dbt's `{name, email}`."""

    name: str = ""
    package_name: str = ""
    owner: Any = None
