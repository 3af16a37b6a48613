"""`attest check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbt_attest.cli.options import (
    environment_option,
    place,
    project_dir,
    required_project_dir,
    schema_option,
    warehouse_option,
)
from dbt_attest.cli.terminal import as_json
from dbt_attest.errors import AnnotationErrors

if TYPE_CHECKING:
    from dbt_attest.resolution.checking import Checked


@click.command("check")
@click.option(
    "--target-dir",
    type=click.Path(path_type=Path),
    help="Check this folder with dbt's manifest.json instead, without a warehouse.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="An earlier manifest.json, or a warehouse: only what the target folder brings that was not there.",
)
@environment_option
@warehouse_option
@schema_option
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json", "github", "markdown"]),
    default="text",
    show_default=True,
    help="For people, for programs, as annotations of a GitHub workflow, or as its summary.",
)
def command(
    target_dir: Path | None,
    against: Path | None,
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """What is to be repaired: gaps in what was recorded, each with what was expected, found, and to do.

    Checks the warehouse; with --target-dir or --against, and where there is no warehouse, a target folder by
    itself. attest.yml gives severities and exceptions. It is for stewards: nothing is masked. Exit code 1
    where there is a gap of severity error.
    """
    from dbt_attest.cli import prose_check

    if warehouse is not None and (target_dir is not None or against is not None):
        raise click.UsageError(
            "--warehouse: expected none with --target-dir or --against, which need none; to compare with a "
            "warehouse, name it with --against."
        )
    try:
        checked = _checked(target_dir, against, environment, warehouse, schema)
    except AnnotationErrors as error:
        if output == "github":
            click.echo(prose_check.annotations_of(error, required_project_dir()))
        raise
    if output == "json":
        click.echo(as_json(checked.as_json()))
    else:
        as_text = {
            "text": prose_check.text,
            "github": prose_check.github,
            "markdown": prose_check.markdown,
        }[output]
        told = as_text(checked, project_dir())
        if told:
            click.echo(told)
    return 1 if checked.counts["error"] else 0


def _checked(
    target_dir: Path | None,
    against: Path | None,
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
) -> Checked:
    from dbt_attest.resolution.checking import check_target, check_warehouse

    path, asked = place(warehouse, environment)
    project = project_dir()
    no_warehouse = warehouse is None and not path.exists() and project is not None
    if target_dir is None and against is None and not no_warehouse:
        return check_warehouse(path, schema=schema, environment=asked or "prod")
    project = required_project_dir()
    return check_target(project, target_dir or project / "target", environment=environment, against=against)
