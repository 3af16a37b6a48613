"""`attest timeline`."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_attest.cli.options import groups_of, place, question_options, scope_of, show


@click.command("timeline")
@click.argument("name")
@question_options
def command(
    name: str,
    known_at: str | None,
    groups: str,
    scope: tuple[str, ...],
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """What was in force for NAME over time.

    One line for each stretch of days with one outcome, reason and definition; exit code 2 where the entity is
    unknown.
    """
    from dbt_attest.cli.prose import timeline
    from dbt_attest.resolution import Requester, Warehouse

    path, environment = place(warehouse, environment)
    requester = Requester(groups=groups_of(groups))
    asked = Warehouse(path, schema=schema, environment=environment)
    found = asked.timeline(name, known_at=known_at, requester=requester, scope=scope_of(scope))
    return show(found, output, timeline, asked, requester)
