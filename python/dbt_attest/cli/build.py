"""`attest build`."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_attest.cli.options import environment_option, format_option, required_project_dir, warehouse_option


@click.command("build")
@click.option(
    "--target-dir",
    type=click.Path(path_type=Path),
    help="Folder with dbt's manifest.json.  [default: target in the project]",
)
@click.option(
    "--wait",
    type=float,
    default=30,
    show_default=True,
    help="Seconds to wait while another process holds the file.",
)
@environment_option
@warehouse_option
@format_option
def command(
    target_dir: Path | None, wait: float, environment: str | None, warehouse: Path | None, output: str
) -> None:
    """Read a target folder and record it in the evidence warehouse.

    In the project's own DuckDB file the resolvers come from the project's `dbt build`; any other file is a
    stand-alone warehouse and gets them here. The same files again change nothing; nothing recorded is ever
    changed.
    """
    from dbt_attest.warehouse.building import build

    built = build(
        required_project_dir(),
        target_dir=target_dir,
        warehouse=warehouse,
        environment=environment,
        patience=wait,
    )
    if output == "json":
        import json

        values = vars(built) | {"warehouse": str(built.warehouse), "recorded": vars(built.recorded)}
        click.echo(json.dumps(values, indent=2))
        return
    recorded = built.recorded
    click.echo(f"{built.project_name} ({built.environment}) → {built.warehouse}, schema {built.schema}")
    click.echo(
        f"  read      {built.definitions} definitions of {built.entities} entities: "
        f"{built.governed} governed, {built.annotated} annotated, "
        f"{built.unclassified} unclassified; {built.edges} lineage edges"
    )
    if recorded.collection_id is None:
        click.echo("  recorded  nothing: the same files were recorded before")
    else:
        click.echo(
            f"  recorded  {recorded.changed} new or changed, {recorded.no_longer_stated} no longer stated"
        )
    for finding in built.findings[:20]:
        click.echo(f"  finding   {finding}")
    if len(built.findings) > 20:
        click.echo(f"  finding   and {len(built.findings) - 20} more, all in the table reader_findings")
    if not built.annotated:
        click.echo(
            "  next      nothing is annotated yet: add meta.attest to a model or metric (see the README)"
        )
    if built.resolvers_missing:
        click.echo("  next      run `dbt build`: it creates the resolvers in this file")
