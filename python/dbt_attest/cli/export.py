"""`attest export`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from dbt_attest.cli.options import asked_warehouse, groups_of, place, request_options, requester_of, scope_of
from dbt_attest.cli.terminal import as_json, safe
from dbt_attest.errors import InputError

_FORMATS = ("csv", "parquet", "json")
_EVENTS = "openlineage"


@click.command("export")
@click.argument("out", required=False, type=click.Path(path_type=Path))
@request_options
@click.option(
    "--for-groups",
    help="A new warehouse instead, OUT.duckdb, with only what these groups, with commas, may see.",
)
@click.option(
    "--format",
    "output",
    type=click.Choice([*_FORMATS, _EVENTS]),
    help="What to write.  [default: by the ending of OUT, csv without OUT; a DuckDB file with --for-groups]",
)
@click.pass_context
def command(
    context: click.Context,
    out: Path | None,
    for_groups: str | None,
    known_at: str | None,
    groups: str,
    subject: str,
    scope: tuple[str, ...],
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str | None,
) -> int:
    """Write the answers of all days to OUT, as a dbt seed for engines on which the resolvers do not run.

    One row is a stretch of days of one entity with one answer: entity_id, valid_from (the first day; empty: from
    the beginning), valid_to (the first day after it; empty: open), outcome, reason, evidence_id, version,
    content_hash. The macro attest.join_timeline joins it to facts. Without OUT it is printed.

    It is resolved once, for --groups. Whoever can read the file, or the table that is made of it, learns what
    these groups may see: name the groups of its readers. Entities hidden from them are not in it; what may be
    known of but not seen is a `deny` with its days and nothing else. The file follows no later change of
    definitions or permissions: export it again.

    With --for-groups, a warehouse to hand to these groups: every question about it, --groups being theirs, has the
    answer that this warehouse gives them. Of what they may not see it has neither ids nor words, only masks where
    that decides: entity, scope, days and recorded time, `denied` or `uncovered`. With --format parquet, OUT is a
    folder of the evidence tables. DuckDB guards no rows: whoever can open a file can read all of it, whatever
    --groups they name. So hand out this one, to members of all these groups alone, and keep the full warehouse for
    its stewards. It is of one environment, as permissions are today: export it again when they change.

    With --format openlineage, the OpenLineage events of each project's last recorded run instead, one JSON object
    a line, each output with the definition that governed it on the day it was built.
    """
    from dbt_attest.resolution.timeline_file import Written, write_timeline

    if for_groups is not None:
        return _new_warehouse(
            context, out, groups_of(for_groups), place(warehouse, environment), schema, output, subject
        )
    if out is not None and out.is_dir():
        raise InputError(f"{out}: expected a file to write to, found a folder; name a file.")
    file_format = output or (out.suffix[1:] if out else "csv")
    path, environment = place(warehouse, environment)
    asked = asked_warehouse(path, schema, environment)
    requester = requester_of(groups, subject)

    if output == _EVENTS:
        from dbt_attest.resolution.openlineage import events

        found = events(asked, known_at=known_at, requester=requester, scope=scope_of(scope))
        text = "".join(as_json(event, indent=None) + "\n" for event in found)
        out.write_text(text, encoding="utf-8") if out else click.echo(text, nl=False)
        return 0

    def write(to: Path) -> Written:
        return write_timeline(
            asked, to, file_format, known_at=known_at, requester=requester, scope=scope_of(scope)
        )

    if out is None:
        if file_format == "parquet":
            raise click.UsageError("--format parquet: expected a file to write to, found none; name OUT.")
        with tempfile.TemporaryDirectory(prefix="attest-") as folder:
            file = Path(folder) / "timeline"
            write(file)
            text = file.read_text(encoding="utf-8")
            # in a pipe it is data, on a terminal somebody looks at it
            click.echo(safe(text, keep="\n") if sys.stdout.isatty() else text, nl=False)
        return 0
    if out.suffix[1:] != file_format or file_format not in _FORMATS:
        endings = f".{output}" if output else ", ".join(f".{one}" for one in _FORMATS)
        raise InputError(f"{out}: expected a file name that ends in {endings}, found {out.name}; rename it.")
    if not out.parent.is_dir():
        raise InputError(f"{out}: expected an existing folder around it; create the folder first.")
    written = write(out)
    click.echo(f"{out}: {written.rows} rows of {written.entities} entities", err=True)
    return 0


def _new_warehouse(
    context: click.Context,
    out: Path | None,
    groups: list[str],
    asked: tuple[Path, str | None],
    schema: str | None,
    output: str | None,
    subject: str,
) -> int:
    from dbt_attest.resolution import Requester
    from dbt_attest.resolution.audit import FOR_GROUPS, entry
    from dbt_attest.warehouse.exporting import export_for_groups

    for name in ("groups", "known_at", "scope"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(
                f"{option}: expected none with --for-groups; it is asked of the new warehouse."
            )
    if output not in (None, "parquet"):
        raise click.UsageError(f"--format {output}: expected parquet or none with --for-groups.")
    if out is None:
        raise click.UsageError("--for-groups: expected a file to write to, found none; name OUT.duckdb.")
    if output is None and out.suffix != ".duckdb":
        raise InputError(f"{out}: expected a file name that ends in .duckdb, found {out.name}; rename it.")
    path, environment = asked
    asking = asked_warehouse(path, schema, environment)
    evidence, here = asking.asked_place()
    made = export_for_groups(path, evidence, here, groups, out, as_folder=output == "parquet")
    if asking.audit is not None:
        asker = {"requester": Requester(subject=subject or None), "environment": here}
        asking.audit.write(entry(asking, FOR_GROUPS, groups, asker, made))
    click.echo(
        f"{out}: {made.definitions} definitions of {made.entities} entities, {made.masks} masks", err=True
    )
    return 0
