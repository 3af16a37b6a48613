"""What was recorded of the words and the logic of one dbt node, for stewards: nothing is masked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.warehouse import Warehouse
from dbt_attest.warehouse.contract import unquoted
from dbt_attest.warehouse.rendering import renderer


@dataclass(frozen=True)
class RecordedState:
    """The text and logic that were known of a node from `known_from` on; instants are UTC.

    `git_commit` and `authored_at` are of the commit that its file was made from, None where that is not known.
    """

    known_from: datetime
    definition: str | None
    logic_hash: str | None
    git_commit: str | None
    authored_at: datetime | None

    @property
    def day(self) -> date:
        """The day of the commit, else of the recording (UTC)."""
        return (self.authored_at or self.known_from).date()

    @property
    def says(self) -> tuple[str | None, str | None]:
        """What another state may say, too."""
        return (self.definition, self.logic_hash)


def recorded_states(
    path: Path, node_id: str, *, schema: str | None = None, environment: str
) -> tuple[RecordedState, ...]:
    """Everything that was known of a node in an environment, the earliest first.

    Raises WarehouseError where the warehouse cannot be read.
    """
    with Warehouse(path, schema=schema).connection() as (connection, quoted_schema):
        render = renderer(unquoted(quoted_schema), environment)
        rows = rows_of(
            connection,
            f"""
            with known as ({render("recorded_assertions")}),
            -- of one file a definition has one logic
            logic as (
              select said.evidence_id, said.artifact_id, any_value(said.logic_hash) as logic_hash
              from {quoted_schema}.assertions as said
              where said.environment = $environment and said.node_id = $node_id and said.stated
              group by said.evidence_id, said.artifact_id
            )
            select
              known.known_from, known.definition, logic.logic_hash, artifact.git_commit,
              artifact.authored_at
            from known
            left join logic on logic.evidence_id = known.evidence_id and logic.artifact_id = known.artifact_id
            left join {quoted_schema}.artifacts as artifact on artifact.artifact_id = known.artifact_id
            where known.environment = $environment and known.node_id = $node_id and known.removed_on is null
            order by known.known_from, known.evidence_id
            """,
            {"environment": environment, "node_id": node_id},
        )
    return tuple(RecordedState(**row) for row in rows)
