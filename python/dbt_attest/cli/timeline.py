"""`attest timeline`."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_attest.cli.options import asked_warehouse, place, question_options, requester_of, scope_of, show


@click.command("timeline")
@click.argument("name")
@click.option(
    "--history",
    is_flag=True,
    help="What was asserted when instead, by which file and commit, and what changed each time.",
)
@click.option(
    "--changes",
    is_flag=True,
    help="When the answer for the same days became another one instead, and because of what.",
)
@click.option(
    "--diff",
    nargs=2,
    metavar="FROM TO",
    help="What differs instead, attribute by attribute, between two days, or between two instants such as "
    "2025-06-30T12:00:00Z for what was known then.",
)
@question_options
def command(
    name: str,
    history: bool,
    changes: bool,
    diff: tuple[str, str] | None,
    known_at: str | None,
    groups: str,
    subject: str,
    scope: tuple[str, ...],
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """What was in force for NAME over time.

    One line for each stretch of days with one outcome, reason and definition. With --history, every change of
    what was asserted instead; with --changes, every change of an answer; with --diff, where two answers differ.
    Exit code 2 where the entity is unknown.
    """
    from dbt_attest.cli import prose, prose_changes, prose_history
    from dbt_attest.resolution.differences import differences

    if history + changes + (diff is not None) > 1:
        raise click.UsageError("Expected one of --history, --changes and --diff, found several; name one.")
    if history and scope:
        raise click.UsageError("--scope: expected none with --history, which tells of every scope.")
    path, environment = place(warehouse, environment)
    requester = requester_of(groups, subject)
    asked = asked_warehouse(path, schema, environment)
    where = scope_of(scope)
    if history:
        told = asked.history(name, known_at=known_at, requester=requester)
        return show(told, told.resolution, output, prose_history.history, asked, requester)
    if changes:
        changed = asked.changes(name, known_at=known_at, requester=requester, scope=where)
        return show(changed, changed.resolution, output, prose_changes.changes, asked, requester)
    if diff is not None:
        differ = differences(asked, name, *diff, known_at=known_at, requester=requester, scope=where)
        return show(differ, differ.after, output, prose_changes.differences, asked, requester)
    found = asked.timeline(name, known_at=known_at, requester=requester, scope=where)
    return show(found, found, output, prose.timeline, asked, requester)
