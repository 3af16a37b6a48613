"""What a warehouse holds, in counts: for monitoring, without the names of anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from dbt_attest.warehouse.held import held_removals
from dbt_attest.warehouse.resolvers import resolvers_present

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ProjectState:
    """One project in one environment.

    `collected_at` is when dbt wrote the newest manifest, `age` how long ago that was, `max_age` what
    attest.yml allows (None: any).
    Of the definitions stated now, `governed` are authoritative, approved and dated, and `unclassified` state
    no authority; `removed` were stated once. They are None where the resolvers that count them are missing.
    `held` are removals held back until a person allows them, `findings` those of the newest collection.
    """

    project_name: str
    environment: str
    collections: int
    collected_at: datetime
    age: timedelta
    max_age: timedelta | None
    stated: int | None
    governed: int | None
    unclassified: int | None
    removed: int | None
    held: int
    findings: int

    @property
    def stale(self) -> bool:
        """Whether the newest manifest is older than attest.yml allows."""
        return self.max_age is not None and self.age > self.max_age


@dataclass(frozen=True)
class State:
    """A warehouse: its projects by name and environment, and whether its resolvers are there."""

    projects: tuple[ProjectState, ...]
    resolvers: bool

    @property
    def needs_a_person(self) -> bool:
        """Whether something does not come right by itself."""
        return (
            not self.resolvers
            or not self.projects
            or any(project.stale or project.held for project in self.projects)
        )


def state(connection: duckdb.DuckDBPyConnection, schema: str, environment: str | None = None) -> State:
    """The state of the warehouse in `schema`, already quoted; of one environment, or of all."""
    resolvers = resolvers_present(connection, schema.strip('"').replace('""', '"'))
    rows = connection.execute(
        f"""
        with
        newest as (
          select distinct on (project_name, environment) project_name, environment, collection_id, max_age
          from {schema}.collections
          order by project_name, environment, generated_at desc, manifest_id desc, ingested_at desc
        ),
        collected as (
          select project_name, environment, count(*) as collections, max(generated_at) as collected_at
          from {schema}.collections
          group by project_name, environment
        ),
        found as (
          select collection_id, count(*) as findings from {schema}.reader_findings group by collection_id
        ),
        held as (
          select project_name, environment, count(*) as held from ({held_removals(schema)})
          group by project_name, environment
        ),
        counted as ({_DEFINITIONS.format(schema=schema) if resolvers else _NO_DEFINITIONS})
        select collected.project_name, collected.environment, collected.collections, collected.collected_at,
          now() - collected.collected_at, newest.max_age,
          {", ".join(f"if($resolvers, coalesce(counted.{count}, 0), null)" for count in _COUNTS)},
          coalesce(held.held, 0), coalesce(found.findings, 0)
        from collected
        join newest using (project_name, environment)
        left join found using (collection_id)
        left join held using (project_name, environment)
        left join counted using (project_name, environment)
        where $environment is null or collected.environment = $environment
        order by collected.project_name, collected.environment
        """,
        {"environment": environment, "resolvers": resolvers},
    ).fetchall()
    return State(tuple(ProjectState(*row) for row in rows), resolvers)


_COUNTS = ("stated", "governed", "unclassified", "removed")
_DEFINITIONS = """
          select project_name, environment,
            count(*) filter (removed_on is null) as stated,
            count(*) filter (removed_on is null and authority = 'authoritative'
              and status not in ('draft', 'void') and effective_from is not null) as governed,
            count(*) filter (removed_on is null and authority is null) as unclassified,
            count(*) filter (removed_on is not null) as removed
          from {schema}.recorded_assertions
          where known_until is null
          group by project_name, environment"""
_NO_DEFINITIONS = "select null::varchar as project_name, null::varchar as environment" + "".join(
    f", null as {count}" for count in _COUNTS
)
