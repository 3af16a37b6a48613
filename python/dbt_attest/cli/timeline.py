"""`attest timeline`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbt_attest.cli.options import exit_code_of, groups_of, place, question_options, scope_of, show

if TYPE_CHECKING:
    from dbt_attest.resolution import Requester, Warehouse


@click.command("timeline")
@click.argument("name")
@click.option(
    "--history",
    is_flag=True,
    help="What was asserted when instead, by which file and commit, and what changed each time.",
)
@question_options
def command(
    name: str,
    history: bool,
    known_at: str | None,
    groups: str,
    scope: tuple[str, ...],
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """What was in force for NAME over time.

    One line for each stretch of days with one outcome, reason and definition. With --history, every change of
    what was asserted instead, attribute by attribute. Exit code 2 where the entity is unknown.
    """
    from dbt_attest.cli.prose import timeline
    from dbt_attest.resolution import Requester, Warehouse

    path, environment = place(warehouse, environment)
    requester = Requester(groups=groups_of(groups))
    asked = Warehouse(path, schema=schema, environment=environment)
    if history:
        return _history(asked, name, known_at, requester, scope, output)
    found = asked.timeline(name, known_at=known_at, requester=requester, scope=scope_of(scope))
    return show(found, output, timeline, asked, requester)


def _history(
    asked: Warehouse,
    name: str,
    known_at: str | None,
    requester: Requester,
    scope: tuple[str, ...],
    output: str,
) -> int:
    from dbt_attest.cli.prose_history import history

    if scope:
        raise click.UsageError("--scope: expected none with --history, which tells of every scope.")
    found = asked.history(name, known_at=known_at, requester=requester)
    if output == "json":
        import json

        click.echo(json.dumps(found.as_json(), indent=2, ensure_ascii=False))
    else:
        click.echo(history(found))
    return exit_code_of(found.resolution, asked, requester)
