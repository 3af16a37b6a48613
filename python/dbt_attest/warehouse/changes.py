"""The one rule by which assertions and lineage edges are recorded: rows are appended where something changed.

A row says what one manifest says of one thing, or that it no longer says anything of it (`stated` false). It
is appended where it differs from the row before it in the order of artifacts. An artifact that arrives late
changes what the next collection was compared with; the state that the next collection had is then asserted
again behind it, so that every order of arrival gives the same history.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dbt_attest.warehouse.contract import evidence_tables, quoted
from dbt_attest.warehouse.loading import load

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class History:
    """A table that keeps the history of things.

    `key` identifies a thing, `state` are the columns that make a row differ, and `kept` those that still say
    whose it was when it is no longer stated. Three are SQL over a row `{row}`: `node` is the unique_id that,
    while disabled, leaves the thing neither stated nor absent; `owned` says whether the project may remove it
    at all; `file_id` is the file that a state asserted again is credited to, null for the manifest.
    """

    table: str
    key: tuple[str, ...]
    state: tuple[str, ...]
    kept: tuple[str, ...]
    node: str
    owned: str
    file_id: str


ASSERTIONS = History(
    table="assertions",
    key=("entity_id", "evidence_id"),
    state=("state_hash", "permissions", "permissions_from"),
    kept=("package_name", "node_id"),
    node="coalesce({row}.node_id, '')",
    owned="{row}.package_name = $project_name",
    file_id="if({row}.node_id is null, {row}.artifact_id, null)",
)
EDGES = History(
    table="lineage_edges",
    key=("from_node", "to_node", "kind"),
    state=("strength",),
    kept=(),
    node="{row}.to_node",
    owned="true",
    file_id="null",
)


@dataclass(frozen=True)
class Changes:
    """What one collection changed.

    `changed` counts things new or changed, `no_longer_stated` those that it lacks; `known_until` is the
    latest instant of anything that it states, None where that is nothing.
    """

    changed: int
    no_longer_stated: int
    known_until: datetime | None


def append_changes(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    history: History,
    rows: Iterable[dict[str, Any]],
    values: dict[str, Any],
) -> Changes:
    """Append the rows that differ from the row before them, and what follows from that.

    `values` are the columns that all rows share (environment, project_name, generated_at, collection_id,
    ingested_at) and `manifest_id` and `disabled` of the collection.
    """
    load(connection, "staged", history.table, ({"stated": True} | values | row for row in rows))

    def run(sql: str) -> duckdb.DuckDBPyConnection:
        return connection.execute(sql, {name: value for name, value in values.items() if f"${name}" in sql})

    run(_before_this(schema, history))
    run(_claims(history))
    run(_added(history))
    changed, absent = run(
        "select count(*) filter (stated), count(*) filter (not stated) from added"
    ).fetchall()[0]
    known_until = run("select max(asserted_at) from staged").fetchall()[0][0]
    run(
        f"insert into {quoted(schema)}.{history.table} by name "
        f"select added.* exclude (claim, before_id), {_SHARED}, "
        "cast($generated_at as timestamptz) as generated_at from added"
    )
    run(_asserted_again(schema, history))
    return Changes(changed, absent, known_until)


_SHARED = (
    "$environment as environment, $project_name as project_name, $collection_id as collection_id, "
    "cast($ingested_at as timestamptz) as ingested_at"
)
_FILLED_HERE = {"environment", "project_name", "collection_id", "ingested_at", "generated_at"}


def _before_this(schema: str, history: History) -> str:
    """One row for each that was recorded of the same project and environment."""
    columns = ["stated", "asserted_at", "generated_at", "artifact_id", "ingested_at"]
    columns += [*history.key, *history.state, *history.kept]
    return f"""
        create or replace temp table history as
        select recorded.rowid as id, {", ".join(f"recorded.{column}" for column in columns)}
        from {quoted(schema)}.{history.table} as recorded
        where recorded.environment = $environment and recorded.project_name = $project_name
        """


def _claims(history: History) -> str:
    """One row for each thing the collection states or should know of: what it says of it.

    What it lacks it lacks from its own instant on, but not before the last thing it is compared with: a
    document can be younger than the manifest that it was read beside.
    """
    return f"""
        create or replace temp table claims as
        select row_number() over () as claim, claimed.*
        from (
          from staged
          union all by name
          select {", ".join(history.key)}, false as stated,
            greatest($manifest_id, max({history.file_id.format(row="history")}) filter (
              generated_at = cast($generated_at as timestamptz))) as artifact_id,
            greatest(cast($generated_at as timestamptz), max(asserted_at) filter (
              generated_at <= cast($generated_at as timestamptz))) as asserted_at,
            cast($generated_at as timestamptz) as generated_at
          from history anti join staged using ({", ".join(history.key)})
          group by {", ".join(history.key)}
        ) as claimed
        """


def _added(history: History) -> str:
    """One row for each claim that differs from what was said before it (`before_id`, null for nothing)."""
    columns = [
        column
        for column in evidence_tables()[history.table]
        if column not in _FILLED_HERE and column not in history.kept
    ]
    differs = " or ".join(f"claims.{column} is distinct from before.{column}" for column in history.state)
    kept = [f"if(claims.stated, claims.{column}, before.{column}) as {column}" for column in history.kept]
    return f"""
        create or replace temp table added as
        with compared as (
          select claims.claim, arg_max(history.id, {{a: history.asserted_at, g: history.generated_at,
            f: history.artifact_id, i: history.ingested_at}}) as before_id
          from claims join history using ({", ".join(history.key)})
          where (history.asserted_at, history.generated_at, history.artifact_id)
            <= (claims.asserted_at, claims.generated_at, claims.artifact_id)
          group by claims.claim
        )
        select claims.claim, compared.before_id,
          {", ".join([*(f"claims.{column}" for column in columns), *kept])}
        from claims
        left join compared on compared.claim = claims.claim
        left join history as before on before.id = compared.before_id
        where case
          when claims.stated then before.stated is distinct from true or {differs}
          else before.stated and {history.owned.format(row="before")}
            and not list_contains($disabled, {history.node.format(row="before")})
        end
        """


def _asserted_again(schema: str, history: History) -> str:
    """What the next collection that spoke of the thing said of it, where it was stored only as no change."""
    columns = [
        column
        for column in evidence_tables()[history.table]
        if column not in _FILLED_HERE and column not in ("stated", "asserted_at", "artifact_id")
    ]
    again = [
        f"added.{column}" if column in history.key
        else f"coalesce(before.{column}, added.{column}) as {column}" if column in history.kept
        else f"before.{column}"
        for column in columns
    ]  # fmt: skip
    same_thing = " and ".join(f"later.{column} = added.{column}" for column in history.key)
    return f"""
        insert into {quoted(schema)}.{history.table} by name
        with later_collections as (
          select distinct generated_at, manifest_id, disabled from {quoted(schema)}.collections
          where project_name = $project_name and environment = $environment
            and (generated_at, manifest_id) > (cast($generated_at as timestamptz), $manifest_id)
        ),
        following as (
          select added.claim, arg_min(
            {{generated_at: later.generated_at, manifest_id: later.manifest_id}},
            {{generated_at: later.generated_at, manifest_id: later.manifest_id}}) as collection
          from added cross join later_collections as later
          where not list_contains(coalesce(later.disabled, []), {history.node.format(row="added")})
          group by added.claim
        )
        select {", ".join(again)},
          coalesce(before.stated, false) as stated,
          greatest(following.collection.generated_at, added.asserted_at) as asserted_at,
          coalesce({history.file_id.format(row="before")}, following.collection.manifest_id) as artifact_id,
          following.collection.generated_at as generated_at,
          {_SHARED}
        from added
        join following on following.claim = added.claim
        left join {quoted(schema)}.{history.table} as before on before.rowid = added.before_id
        where (before.stated is not null or {history.owned.format(row="added")})
          and not exists (
            from history as later
            where {same_thing} and later.asserted_at >= added.asserted_at
              and later.generated_at = following.collection.generated_at
              and coalesce({history.file_id.format(row="later")}, later.artifact_id)
                = coalesce({history.file_id.format(row="later")}, following.collection.manifest_id))
        """
