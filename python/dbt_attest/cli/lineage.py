"""`attest lineage`."""

from __future__ import annotations

from pathlib import Path

import click

from dbt_attest.cli.options import (
    asked_warehouse,
    environment_option,
    known_at_option,
    place,
    requester_of,
    requester_options,
    schema_option,
    warehouse_option,
)
from dbt_attest.cli.terminal import as_json


@click.command("lineage")
@click.argument("name")
@click.option("--up", is_flag=True, help="What it stands on.  [default]")
@click.option("--down", is_flag=True, help="What stands on it, tests included.")
@click.option("--path", "to", metavar="TO", help="A shortest way between it and TO.")
@click.option(
    "--impact", is_flag=True, help="The definitions, exposures and metrics that stand on it: when and whose."
)
@known_at_option
@requester_options
@environment_option
@warehouse_option
@schema_option
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json", "mermaid"]),
    default="text",
    show_default=True,
    help="For people, for programs, or as a Mermaid flowchart (not with --impact).",
)
def command(
    name: str,
    up: bool,
    down: bool,
    to: str | None,
    impact: bool,
    known_at: str | None,
    groups: str,
    subject: str,
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """What NAME stands on, or what stands on it.

    NAME is a unique_id, an evidence_id, an entity, or a dbt name where it means one node. Every edge shows its
    kind, how strong its evidence is, and when it was seen. Exit code 2 where the node is unknown or the name
    means several.
    """
    from dbt_attest.cli import prose_lineage
    from dbt_attest.resolution import lineage

    if up + down + impact + (to is not None) > 1:
        raise click.UsageError("Expected one of --up, --down, --path and --impact, found several; name one.")
    if impact and output == "mermaid":
        raise click.UsageError("--format mermaid: expected a graph, found --impact, which is a list.")
    path, environment = place(warehouse, environment)
    asked = asked_warehouse(path, schema, environment)
    requester = requester_of(groups, subject)
    told: lineage.Lineage | lineage.Impact
    if impact:
        told = affected = lineage.impact(asked, name, known_at=known_at, requester=requester)
        text = prose_lineage.impact(affected)
    else:
        if to is not None:
            graph = lineage.path(asked, name, to, known_at=known_at, requester=requester)
        else:
            way = lineage.downstream if down else lineage.upstream
            graph = way(asked, name, known_at=known_at, requester=requester)
        told = graph
        text = prose_lineage.mermaid(graph) if output == "mermaid" else prose_lineage.lineage(graph)
    click.echo(as_json(told.as_json()) if output == "json" else text)
    if told.reason == "unknown_node":
        near = [one for each in (name, to) if each for one in asked.near_names(each, requester=requester)]
        advice = f"did you mean {' or '.join(near)}?" if near else "`attest status` tells what was collected."
        named = name if to is None else f"{name} or {to}"
        click.echo(f"attest: expected a node that you may see, found none named {named}; {advice}", err=True)
    elif told.reason == "ambiguous_name":
        found = ", ".join(told.candidates)
        click.echo(f"attest: expected the name of one node, found several: {found}; name one.", err=True)
    return 2 if told.reason in ("unknown_node", "ambiguous_name") else 0
