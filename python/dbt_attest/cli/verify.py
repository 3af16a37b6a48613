"""`attest verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbt_attest.cli.options import format_option, required_project_dir, warehouse_option

if TYPE_CHECKING:
    from dbt_attest.warehouse.rebuilding import Rebuilt


@click.command("verify")
@click.option(
    "--rebuild",
    is_flag=True,
    help="Make a new warehouse from the archive of attest.yml and compare: the answers must be the same.",
)
@click.option(
    "--archive",
    type=click.Path(path_type=Path),
    help="The archive to rebuild from.  [default: archive in attest.yml]",
)
@warehouse_option
@format_option
def command(rebuild: bool, archive: Path | None, warehouse: Path | None, output: str) -> int:
    """Whether the warehouse is what its archive says.

    Everything recorded is compared, in every environment, for every day and state of knowledge; when this
    warehouse learned of it is not. The warehouse itself is only read. Exit code 1 where something differs.
    """
    if not rebuild:
        raise click.UsageError("Say what to verify: --rebuild.")
    from dbt_attest.cli.build import progress
    from dbt_attest.warehouse.rebuilding import rebuild_and_compare

    found = rebuild_and_compare(
        required_project_dir(), archive=archive, warehouse=warehouse, progress=progress("Rebuilding")
    )
    if output == "json":
        import json

        click.echo(json.dumps(_as_json(found), indent=2, ensure_ascii=False))
    else:
        _print(found)
    return 0 if found.identical else 1


def _as_json(found: Rebuilt) -> dict[str, Any]:
    return {
        "identical": found.identical,
        "warehouse": str(found.warehouse),
        "archive": str(found.archive),
        "collections": found.collections,
        "definitions": found.definitions,
        "skipped": [vars(one) for one in found.skipped],
        "differences": [vars(one) for one in found.differences],
    }


def _print(found: Rebuilt) -> None:
    click.echo(f"{found.warehouse} and its archive {found.archive}")
    click.echo(
        f"  rebuilt    {found.collections} collections, {found.definitions} recorded states of definitions"
    )
    if found.identical:
        click.echo("  identical  every answer is the same")
    for one in found.differences:
        click.echo(
            f"  differs    {one.what} ({one.environment}): {one.only_in_warehouse} only in the warehouse, "
            f"{one.only_in_rebuilt} only in the rebuilt one"
        )
        for example in one.examples:
            click.echo(f"               {example}")
    for skipped in found.skipped:
        click.echo(f"attest: skipped {skipped.name}: {skipped.reason}", err=True)
