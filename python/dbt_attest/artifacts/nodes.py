"""The part of dbt's manifest that is read, as small typed objects.

Only the fields needed are declared: what is not declared is skipped while decoding, which is what makes a
125 MB manifest take about a second. Fields that people fill as they like (`meta`, `owner`) stay untyped.
"""

from __future__ import annotations

from typing import Annotated, Any

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
    data_type: Any = None
    meta: Any = None
    config: NodeConfig | None = None


class Node(msgspec.Struct, gc=False):
    """A model, seed or snapshot; the base of every other resource.

    `version` is dbt's model version as JSON has it (int, float, str or None). `columns` holds only the
    columns whose text mentions the word `attest`, `all_columns` decodes the others. `raw_code` is the SQL or
    Python as written, `raw_sql` its name before v7; `primary_key` the columns that dbt takes for one, by
    tests and constraints; `attached_node` and `file_key_name` say what a test is about.
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
    access: str | None = None
    deprecation_date: Any = None
    group: str | None = None
    meta: Any = None
    config: NodeConfig | None = None
    depends_on: DependsOn | None = None
    language: str | None = None
    raw_code: str | None = None
    raw_sql: str | None = None
    primary_key: Any = None
    attached_node: str | None = None
    file_key_name: str | None = None
    # Columns are half of a large manifest and nearly none is annotated: `read_manifest` looks through the
    # undecoded text, fills `columns` where it has to, and keeps the text of the others as bytes. No JSON key
    # has the second name.
    raw_columns: msgspec.Raw = msgspec.field(default=NO_COLUMNS, name="columns")
    columns: dict[str, Column] = msgspec.field(default_factory=dict, name="attested columns")

    @property
    def all_columns(self) -> dict[str, Column]:
        """Every column that YAML describes, by its key there; none where they cannot be decoded."""
        try:
            return _columns.decode(self.raw_columns) or {}
        except msgspec.ValidationError:
            return {}

    @property
    def version_text(self) -> str | None:
        """dbt's model version as dbt writes it in the unique_id, None for an unversioned model."""
        return None if self.version is None else str(self.version)

    @property
    def latest_version_text(self) -> str | None:
        """The version an unversioned `ref` means, in the same form."""
        return None if self.latest_version is None else str(self.latest_version)


class Threshold(msgspec.Struct, gc=False):
    """An age: a count of minutes, hours or days, as many as a DuckDB interval can hold."""

    count: Annotated[int, msgspec.Meta(le=100_000_000)] | None = None
    period: str | None = None


class Freshness(msgspec.Struct, gc=False):
    """How old a source's data may be."""

    warn_after: Threshold | None = None
    error_after: Threshold | None = None
    filter: Any = None

    @property
    def is_expected(self) -> bool:
        """Whether there is any limit, so that dbt observes the source."""
        return any(limit is not None and limit.count for limit in (self.warn_after, self.error_after))


class Source(Node, gc=False):
    """A table of a source. `source_meta` is the meta of the source block around it."""

    source_name: str = ""
    source_meta: Any = None
    database: str | None = None
    schema: str | None = None
    identifier: str | None = None
    freshness: Freshness | None = None


class Exposure(Node, gc=False):
    """An exposure; `owner` is dbt's `{name, email}`."""

    owner: Any = None
    type: str | None = None
    maturity: str | None = None
    url: str | None = None


class Metric(Node, gc=False):
    """A metric. v4 to v6 say `type` and `sql`, v7 to v9 `calculation_method` and `expression`, later ones
    `type` and `type_params`; `logic.py` makes one thing of them."""

    type: str | None = None
    sql: Any = None
    calculation_method: str | None = None
    expression: Any = None
    timestamp: Any = None
    model: Any = None
    window: Any = None
    filters: Any = None
    type_params: dict[str, Any] | None = None
    filter: Any = None
    time_granularity: Any = None


class Measure(msgspec.Struct, gc=False):
    """A measure of a semantic model."""

    name: str = ""
    config: NodeConfig | None = None
    agg: Any = None
    expr: Any = None
    agg_params: Any = None
    agg_time_dimension: Any = None
    non_additive_dimension: Any = None


class SemanticModel(Node, gc=False):
    """A semantic model with its measures; `defaults` may hold the time dimension of all of them."""

    measures: list[Measure] | None = None
    defaults: dict[str, Any] | None = None


class UnitTest(msgspec.Struct, gc=False):
    """A unit test; its checksum is text in Core and a mapping in dbt 2, and nothing here needs it.

    Of functions no more is read either.
    """

    depends_on: DependsOn | None = None


class Group(msgspec.Struct, gc=False):
    """A dbt group; `owner` is dbt's `{name, email}`."""

    name: str = ""
    package_name: str = ""
    owner: Any = None


_columns = msgspec.json.Decoder(dict[str, Column] | None)
