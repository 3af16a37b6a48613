"""`attest annotate`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbt_attest.cli.options import (
    environment_option,
    format_option,
    place,
    required_project_dir,
    schema_option,
    warehouse_option,
)
from dbt_attest.cli.terminal import as_json, safe
from dbt_attest.errors import InputError

if TYPE_CHECKING:
    from dbt_attest.proposals.proposal import Nodes, Proposal
    from dbt_attest.proposals.suggestions import Suggestion


@click.command("annotate")
@click.argument("nodes", nargs=-1, metavar="[NODE]...")
@click.option(
    "--versions",
    is_flag=True,
    help="One version for each recorded change of a node's text or logic instead, as a draft to correct; "
    "needs a warehouse.",
)
@click.option(
    "--suggest",
    is_flag=True,
    help="Candidates instead, each with its reason: entity ids, owners, ends and supersession.",
)
@click.option("--csv", "as_csv", is_flag=True, help="A sheet for a steward instead, one row a node.")
@click.option(
    "--from-csv",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The annotations that a filled sheet states.",
)
@click.option(
    "--write", is_flag=True, help="Put them into the project's own YAML files, after a diff and a yes."
)
@click.option("--yes", is_flag=True, help="With --write: do not ask.")
@environment_option
@warehouse_option
@schema_option
@format_option
def command(
    nodes: tuple[str, ...],
    versions: bool,
    suggest: bool,
    as_csv: bool,
    from_csv: Path | None,
    write: bool,
    yes: bool,
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """YAML for the annotation of NODE, to be pasted, with what target/manifest.json knows filled in.

    What only a person can know is FILL_IN, which no other verb accepts. NODE is a name as dbt has it, a unique_id,
    or a folder; without any, --csv and --suggest are about every node of the project that lacks something. No
    warehouse is needed. Exit code 1 where --write leaves something out.
    """
    _refuse(nodes, versions, suggest, as_csv, from_csv, write, yes)
    from dbt_attest.proposals.naming import named
    from dbt_attest.proposals.proposal import Nodes

    project = required_project_dir()
    known = Nodes(project)
    if from_csv is not None:
        return _from_csv(known, project, from_csv, write, yes, output)
    asked = named(known, nodes)
    if suggest:
        from dbt_attest.proposals.suggestions import suggestions

        _show_suggestions(suggestions(known, asked), output)
        return 0
    proposals = [known.propose(one) for one in asked]
    if versions:
        from dbt_attest.proposals.from_history import with_versions
        from dbt_attest.resolution.recorded_states import recorded_states

        path, environment = place(warehouse, environment)
        proposals = [
            with_versions(
                one,
                recorded_states(path, one.node.unique_id, schema=schema, environment=environment or "prod"),
            )
            for one in proposals
        ]
    if as_csv:
        # without a name, those that are not done
        _show_sheet([one for one in proposals if nodes or one.blanks], output)
        return 0
    return _show_or_write(project, known, proposals, write, yes, output)


def _refuse(
    nodes: tuple[str, ...],
    versions: bool,
    suggest: bool,
    as_csv: bool,
    from_csv: Path | None,
    write: bool,
    yes: bool,
) -> None:
    if versions + suggest + as_csv + (from_csv is not None) > 1:
        raise click.UsageError("Expected one of --versions, --suggest, --csv and --from-csv, found several.")
    if not nodes and not (suggest or as_csv or from_csv):
        raise click.UsageError("Expected NODE, such as a metric's name, found none; or --csv, or --suggest.")
    if nodes and from_csv:
        raise click.UsageError("--from-csv: expected no NODE, since the sheet names them.")
    if write and (suggest or as_csv):
        raise click.UsageError("--write: expected neither --suggest nor --csv, which state no annotations.")
    if yes and not write:
        raise click.UsageError("--yes: expected --write with it.")


def _from_csv(known: Nodes, project: Path, path: Path, write: bool, yes: bool, output: str) -> int:
    from dbt_attest.proposals.sheet import from_sheet

    proposals, undecided = from_sheet(known, path)
    _warn("no authority in their rows, so nothing is said of them", undecided)
    return _show_or_write(project, known, proposals, write, yes, output)


def _show_sheet(proposals: list[Proposal], output: str) -> None:
    from dbt_attest.proposals.sheet import sheet

    text, without = sheet(proposals)
    _warn("several versions, which no row can hold", without)
    if output == "json":
        click.echo(as_json([one.as_json() for one in proposals]))
    else:
        click.echo(safe(text, keep="\n"), nl=False)


def _show_suggestions(found: list[Suggestion], output: str) -> None:
    if output == "json":
        click.echo(as_json([one.as_json() for one in found]))
        return
    if not found:
        click.echo("nothing to suggest")
    rows = [
        ("node", "key", "value", "why"),
        *((one.node_id, one.key, one.value, one.reason) for one in found),
    ]
    shown = [[safe(" ".join(cell.split())) for cell in row] for row in rows] if found else []
    widths = [max(len(row[at]) for row in shown) for at in range(3)] if shown else []
    for row in shown:
        click.echo(
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        )


def _show_or_write(
    project: Path, known: Nodes, proposals: list[Proposal], write: bool, yes: bool, output: str
) -> int:
    if write:
        return _write(project, known, proposals, yes, output)
    if output == "json":
        click.echo(as_json([one.as_json() for one in proposals]))
        return 0
    from dbt_attest.proposals.yaml_text import property_file

    text = property_file(proposals)
    if text:
        click.echo(safe(text, keep="\n"))
    return 0


def _write(project: Path, known: Nodes, proposals: list[Proposal], yes: bool, output: str) -> int:
    from dbt_attest.proposals.in_files import changes
    from dbt_attest.proposals.in_files import write as write_files

    found, left = changes(project, known, proposals)
    if found and not yes and not (sys.stdin.isatty() and sys.stdout.isatty() and output == "text"):
        raise InputError(
            "--write: expected --yes, or a terminal to ask on, found neither; without --write it is only shown."
        )
    if output == "text":
        for change in found:
            click.echo(safe(change.diff, keep="\n"))
    told: dict[str, Any] = {
        "files": [{"file": change.name, "diff": change.diff} for change in found],
        "left": [one.as_json() for one in left],
        "written": bool(found),
    }
    if found and not yes and not click.confirm(f"Write {_files(len(found))}?"):
        click.echo("Wrote nothing.")
        return 0
    write_files(found)
    if output == "json":
        click.echo(as_json(told))
    else:
        wrote = f"Wrote {_files(len(found))}; `dbt parse` reads them." if found else "Nothing to write."
        click.echo(wrote)
        for one in left:
            click.echo(f"attest: {safe(one.sentence)}", err=True)
    return 1 if left else 0


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _warn(why: str, node_ids: Iterable[str]) -> None:
    listed = list(node_ids)
    if listed:
        names = ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
        click.echo(f"attest: {safe(names)}: passed over, {why}.", err=True)
