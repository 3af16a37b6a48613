"""The removals guard: what would take too much away at once is recorded only where a person allows it.

A manifest that lacks a fifth of a project is more often a wrong target folder, a failed parse or lost `meta`
than a decision. What it would remove, or strip of its authority, dates or permissions, is held: of these
things the collection is as silent as of disabled ones, and everything else that it says is recorded. Only
what it takes from somebody's permission holds at once: the resolvers permit what is held and what stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt_attest.warehouse.contract import quoted

if TYPE_CHECKING:
    import duckdb

    from dbt_attest.warehouse.collection import Collection

#: Fewer than these are never held, however small the project is.
AT_LEAST = 5
#: Runs a statement with the values of the collection.
Run = Callable[[str], "duckdb.DuckDBPyConnection"]


@dataclass(frozen=True)
class Guard:
    """What one collection may take away: `share` of the definitions stated before it, all where `allowed`."""

    share: float
    allowed: bool


def silent(schema: str) -> str:
    """One row for each thing that a manifest would have taken away and was not allowed to, as temp table."""
    return f"""
        create or replace temp table silent as
        select manifest_id, entity_id, evidence_id, node_id, reason
        from {quoted(schema)}.held_removals
        where environment = $environment and project_name = $project_name
        qualify held and row_number() over (
          partition by manifest_id, entity_id, evidence_id order by ingested_at desc) = 1
        """


def hold(run: Run, schema: str, guard: Guard, owned: str, compared: str) -> None:
    """Take out of `added` what is held, and record what is held and what no longer is.

    `owned` says whether a row `{row}` is the project's own, `compared` is the CTE that has of each claim the
    `before_id` it is compared with.
    """
    run(_taken_away(schema, owned))
    if guard.allowed or not _too_many(run, schema, guard, owned, compared):
        run("delete from held_now")
    run("delete from added where claim in (select claim from held_now)")
    shared = (
        "$environment as environment, $project_name as project_name, $manifest_id as manifest_id, "
        "cast($generated_at as timestamptz) as generated_at, $collection_id as collection_id, "
        "cast($ingested_at as timestamptz) as ingested_at"
    )
    run(
        f"insert into {quoted(schema)}.held_removals by name "
        f"select entity_id, evidence_id, node_id, reason, permissions, true as held, {shared} from held_now"
    )
    run(
        f"""
        insert into {quoted(schema)}.held_removals by name
        select entity_id, evidence_id, node_id, reason, false as held, {shared}
        from (
          from {quoted(schema)}.held_removals
          where environment = $environment and project_name = $project_name
            and (generated_at, manifest_id) <= (cast($generated_at as timestamptz), $manifest_id)
          {_THE_LAST}
        ) as before
        where held and not list_contains($disabled, coalesce(node_id, ''))
          and not exists (from held_now as again
            where again.entity_id = before.entity_id and again.evidence_id = before.evidence_id)
        """
    )


_THE_LAST = """qualify row_number() over (
            partition by environment, project_name, entity_id, evidence_id
            order by generated_at desc, manifest_id desc, ingested_at desc) = 1"""


def held_removals(schema: str) -> str:
    """SQL with one row for each thing that is held now; `schema` is quoted already."""
    return f"select * from (from {schema}.held_removals {_THE_LAST}) where held"


def held_by(connection: duckdb.DuckDBPyConnection, schema: str, collection: Collection) -> int:
    """How many things are held now because this manifest would take them away."""
    found = connection.execute(
        f"""
        select count(*) from ({held_removals(quoted(schema))}) as held
        where environment = $environment and project_name = $project_name and exists (
          from {quoted(schema)}.held_removals as by_this
          where by_this.manifest_id = $manifest_id and by_this.environment = held.environment
            and by_this.project_name = held.project_name
            and by_this.entity_id = held.entity_id and by_this.evidence_id = held.evidence_id)
        """,
        {
            "environment": collection.environment,
            "project_name": collection.project_name,
            "manifest_id": collection.manifest.artifact_id,
        },
    )
    count: int = found.fetchall()[0][0]
    return count


def _taken_away(schema: str, owned: str) -> str:
    """One row for each change that takes a definition away, or what makes it count."""
    return f"""
        create or replace temp table held_now as
        select added.claim, added.entity_id, added.evidence_id, before.node_id, said.permissions,
          case
            when not added.stated then 'removed'
            when before.authority = 'authoritative' and said.authority is distinct from 'authoritative'
              then 'authority'
            when before.effective_from is not null and said.effective_from is null then 'dates'
            when len(before.permissions) > 0 and coalesce(len(said.permissions), 0) = 0 then 'permissions'
          end as reason
        from added
        join {quoted(schema)}.assertions as before on before.rowid = added.before_id
        left join staged as said on said.rowid = added.staged_id
        where before.stated and {owned.format(row="before")} and reason is not null
        """


def _too_many(run: Run, schema: str, guard: Guard, owned: str, compared: str) -> bool:
    taken = run("select count(*) from held_now").fetchall()[0][0]
    if taken < AT_LEAST:
        return False
    stated = run(
        f"""
        with {compared}
        select count(*) from compared
        join {quoted(schema)}.assertions as before on before.rowid = compared.before_id
        where before.stated and {owned.format(row="before")}
        """
    ).fetchall()[0][0]
    return bool(taken > guard.share * stated)
