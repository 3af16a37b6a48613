"""`attest resolve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbt_attest.cli.options import (
    asked_warehouse,
    exit_code_of,
    place,
    question_options,
    requester_of,
    scope_of,
    show,
)
from dbt_attest.cli.terminal import as_json


@click.command("resolve")
@click.argument("name")
@click.option("--on", help="The day asked, YYYY-MM-DD.  [default: today, UTC]")
@click.option("--during", help="A year, quarter or month: 2025, 2025-Q3, 2025-07.")
@click.option("--between", nargs=2, metavar="FROM TO", help="Two days, both inclusive.")
@click.option(
    "--explain", is_flag=True, help="Also the reasoning, step by step: what was known, ended, in force."
)
@click.option("--support", is_flag=True, help="Also the models, sources and documents behind the answer.")
@click.option(
    "--bundle",
    is_flag=True,
    help="An evidence bundle instead, as JSON: the answer with all that it can be checked and replayed from.",
)
@click.option(
    "--attribute",
    type=click.Choice(["owner", "grain", "description"]),
    help="Only this attribute instead, with every place that states it and which is believed.",
)
@question_options
def command(
    name: str,
    on: str | None,
    during: str | None,
    between: tuple[str, str] | None,
    explain: bool,
    support: bool,
    bundle: bool,
    attribute: str | None,
    known_at: str | None,
    groups: str,
    subject: str,
    scope: tuple[str, ...],
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """Which definition of NAME was in force, who says so, and may you see it?

    NAME is an entity id, an alias, or a dbt name where nothing else bears it. The answer always has one
    outcome and one reason; exit code 2 where the entity is unknown.
    """
    from dbt_attest.cli.prose import prose

    path, environment = place(warehouse, environment)
    requester = requester_of(groups, subject)
    asked = asked_warehouse(path, schema, environment)
    question: dict[str, Any] = {
        "on": on,
        "during": during,
        "between": between,
        "known_at": known_at,
        "requester": requester,
        "scope": scope_of(scope),
    }
    if attribute is not None:
        if during or between or explain or support or bundle:
            raise click.UsageError(
                "--attribute: expected none of --during, --between, --explain, --support and --bundle with it."
            )
        from dbt_attest.cli.prose_attribute import attribute as attribute_prose
        from dbt_attest.resolution.attributes import resolve_attribute

        for period in ("during", "between"):
            del question[period]
        told = resolve_attribute(asked, name, attribute, **question)
        return show(told, told.resolution, output, attribute_prose, asked, requester)
    if bundle:
        if explain:
            raise click.UsageError("--explain: expected none with --bundle.")

        from dbt_attest.resolution.bundle import bundle as make_bundle

        made = make_bundle(asked, name, **question)
        click.echo(as_json(made))
        return exit_code_of(name, made["resolution"]["reason"], asked, requester)
    found = asked.resolve(name, support=support, explain=explain, **question)
    return show(found, found, output, prose, asked, requester)
