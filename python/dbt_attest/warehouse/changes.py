"""The one rule by which assertions and lineage edges are recorded: rows are appended where something changed.

A row says what one manifest says of one thing, or that it no longer says anything of it (`stated` false). It
is appended where it differs from the row before it in the order of artifacts. An artifact that arrives late
changes what the next collection was compared with; the state that the next collection had is then asserted
again behind it, so that every order of arrival gives the same history.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt_attest.warehouse.contract import evidence_tables, quoted
from dbt_attest.warehouse.held import Guard, hold, silent
from dbt_attest.warehouse.loading import load

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class History:
    """A table that keeps the history of things.

    `key` identifies a thing, `state` are the columns that make a row differ, and `kept` those that still say
    whose it was when it is no longer stated. Four are SQL over a row `{row}`: `node` is the unique_id that,
    while disabled, leaves the thing neither stated nor absent; `owned` says whether the project may remove it
    at all; `file_id` is the file that a state asserted again is credited to, null for the manifest; `held`
    says whether a row `held` of the removals held is about the thing.
    """

    table: str
    key: tuple[str, ...]
    state: tuple[str, ...]
    kept: tuple[str, ...]
    node: str
    owned: str
    file_id: str
    held: str = "false"


ASSERTIONS = History(
    table="assertions",
    key=("entity_id", "evidence_id"),
    state=("state_hash", "permissions", "permissions_from", "links_elsewhere"),
    kept=("package_name", "node_id"),
    node="coalesce({row}.node_id, '')",
    owned="{row}.package_name = $project_name",
    file_id="if({row}.node_id is null, {row}.artifact_id, null)",
    held="held.entity_id = {row}.entity_id and held.evidence_id = {row}.evidence_id",
)
EDGES = History(
    table="lineage_edges",
    key=("from_node", "to_node", "kind"),
    state=("strength", "broken"),
    kept=("collector",),
    node="{row}.to_node",
    owned="true",
    file_id="if({row}.collector = 'attest', {row}.artifact_id, null)",
    held="held.reason = 'removed' and coalesce(held.node_id, held.evidence_id) = {row}.to_node",
)


def append_changes(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    history: History,
    rows: Iterable[dict[str, Any]],
    values: dict[str, Any],
    guard: Guard | None = None,
) -> tuple[int, int]:
    """Append the rows that differ from the row before them, and what follows from that.

    Returns how many things are new or changed, and how many are no longer stated.

    `values` are the columns that all rows share (environment, project_name, generated_at, collection_id,
    ingested_at) and `manifest_id` and `disabled` of the collection. With a `guard`, what would take too many
    definitions away is held; without one, what hangs on a removal that is held stays with it.
    """
    load(connection, "staged", history.table, rows, without=_FILLED_HERE)

    def run(sql: str) -> duckdb.DuckDBPyConnection:
        return connection.execute(sql, {name: value for name, value in values.items() if f"${name}" in sql})

    # the first collection of a project is most of what is ever recorded, and there is nothing to compare it with
    if run(_is_first(schema)).fetchall() == [(True,)]:
        (inserted,) = run(_insert_first(schema, history)).fetchall()[0]
        run("drop table staged")
        return inserted, 0
    run(silent(schema))
    run(_before_this(schema, history))
    run(_claims(history))
    run(_added(schema, history))
    if guard is not None:
        hold(run, schema, guard, history.owned, _compared(history))
    else:
        run(_without_silent(history))
    changed, absent = run(
        "select count(*) filter (stated), count(*) filter (not stated) from added"
    ).fetchall()[0]
    run(_insert(schema, history))
    # few arrive late, and only these change what another was compared with
    if run(f"select exists (from ({_later_collections(schema)}))").fetchall() == [(True,)]:
        run(_asserted_again(schema, history))
    for table in ("staged", "history", "claims", "added"):
        run(f"drop table {table}")
    return changed, absent


_SHARED = (
    "$environment as environment, $project_name as project_name, $collection_id as collection_id, "
    "cast($ingested_at as timestamptz) as ingested_at"
)
_FILLED_HERE = {"environment", "project_name", "collection_id", "ingested_at", "generated_at", "stated"}
_INSTANT = "cast($generated_at as timestamptz)"


def _is_first(schema: str) -> str:
    return f"""
        select not exists (from {quoted(schema)}.collections
          where project_name = $project_name and environment = $environment)
        """


def _insert_first(schema: str, history: History) -> str:
    return f"""
        insert into {quoted(schema)}.{history.table} by name
        select staged.*, true as stated, {_INSTANT} as generated_at, {_SHARED} from staged
        """


def _before_this(schema: str, history: History) -> str:
    """One row for each that was recorded of the same project and environment."""
    columns = ["stated", "asserted_at", "generated_at", "artifact_id", "ingested_at"]
    columns += [*history.key, *history.kept]
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
    key = ", ".join(history.key)
    compared = ", ".join([*history.key, *history.state, *history.kept])
    return f"""
        create or replace temp table claims as
        select row_number() over () as claim, {_INSTANT} as generated_at, claimed.*
        from (
          select rowid as staged_id, true as stated, {compared}, artifact_id, asserted_at from staged
          union all by name
          select {key}, false as stated,
            greatest($manifest_id, max({history.file_id.format(row="history")}) filter (
              generated_at = {_INSTANT})) as artifact_id,
            greatest({_INSTANT}, max(asserted_at) filter (generated_at <= {_INSTANT})) as asserted_at
          from history anti join staged using ({key})
          group by {key}
        ) as claimed
        """


def _compared(history: History) -> str:
    """CTE: for each claim about something recorded, the row before it in the order of artifacts."""
    return f"""
        compared as (
          select claims.claim, arg_max(history.id, {{a: history.asserted_at, g: history.generated_at,
            f: history.artifact_id, i: history.ingested_at}}) as before_id
          from claims join history using ({", ".join(history.key)})
          where (history.asserted_at, history.generated_at, history.artifact_id)
            <= (claims.asserted_at, claims.generated_at, claims.artifact_id)
          group by claims.claim
        )"""


def _added(schema: str, history: History) -> str:
    """One row for each claim that differs from what was said before it (`before_id`, null for nothing)."""
    differs = " or ".join(f"claims.{column} is distinct from before.{column}" for column in history.state)
    kept = [f"if(claims.stated, claims.{column}, before.{column}) as {column}" for column in history.kept]
    columns = ["claim", "staged_id", "stated", "asserted_at", "artifact_id", *history.key]
    return f"""
        create or replace temp table added as
        with {_compared(history)}
        select compared.before_id, {", ".join([*(f"claims.{column}" for column in columns), *kept])}
        from claims
        left join compared on compared.claim = claims.claim
        left join {quoted(schema)}.{history.table} as before on before.rowid = compared.before_id
        where case
          when claims.stated then before.stated is distinct from true or {differs}
          else before.stated and {history.owned.format(row="before")}
            and not list_contains($disabled, {history.node.format(row="before")})
        end
        """


def _without_silent(history: History) -> str:
    """What hangs on a definition whose removal is held is not removed either."""
    return f"""
        delete from added where not stated and exists (
          from silent as held
          where held.manifest_id = $manifest_id and {history.held.format(row="added")})
        """


def _insert(schema: str, history: History) -> str:
    here = {"asserted_at", "artifact_id", *history.key, *history.kept}
    columns = [column for column in evidence_tables()[history.table] if column not in _FILLED_HERE]
    said = [f"{'added' if column in here else 'staged'}.{column}" for column in columns]
    return f"""
        insert into {quoted(schema)}.{history.table} by name
        select {", ".join(said)}, added.stated, {_INSTANT} as generated_at, {_SHARED}
        from added left join staged on staged.rowid = added.staged_id
        """


def _later_collections(schema: str) -> str:
    return f"""
        select distinct generated_at, manifest_id, disabled from {quoted(schema)}.collections
        where project_name = $project_name and environment = $environment
          and (generated_at, manifest_id) > ({_INSTANT}, $manifest_id)
        """


def _asserted_again(schema: str, history: History) -> str:
    """What the next collection that spoke of the thing said of it, where it was stored only as no change."""
    columns = [
        column
        for column in evidence_tables()[history.table]
        if column not in _FILLED_HERE and column not in ("asserted_at", "artifact_id")
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
        with later_collections as ({_later_collections(schema)}),
        following as (
          select added.claim, arg_min(
            {{generated_at: later.generated_at, manifest_id: later.manifest_id}},
            {{generated_at: later.generated_at, manifest_id: later.manifest_id}}) as collection
          from added cross join later_collections as later
          where not list_contains(coalesce(later.disabled, []), {history.node.format(row="added")})
            and not exists (
              from silent as held
              where held.manifest_id = later.manifest_id and {history.held.format(row="added")})
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
