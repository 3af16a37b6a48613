"""`attest verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbt_attest.cli.options import (
    format_option,
    place,
    requester_of,
    requester_options,
    required_project_dir,
    schema_option,
    warehouse_option,
)
from dbt_attest.cli.terminal import as_json, safe


@click.command("verify")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    help="The evidence bundle that the answer in FILE was written from: check the answer's claims against it.",
)
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
@requester_options
@warehouse_option
@schema_option
@format_option
def command(
    file: Path | None,
    bundle: Path | None,
    rebuild: bool,
    archive: Path | None,
    groups: str,
    subject: str,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """Whether a bundle, an answer, an audit or the warehouse is what its evidence says.

    FILE is an evidence bundle: its question is asked again, at the same state of knowledge and of the warehouse,
    for the groups that it was made for, of which you have to be. Or it is an audit: every line is decided again in
    the same way, and what differs is shown where you are in the groups of the line. With --bundle, FILE is an
    answer, and each of its claims is checked against the bundle. With --rebuild, the warehouse is compared with its
    archive: everything recorded, in every environment, for every day and state of knowledge; it is only read. Exit
    code 1 where something differs or fails.
    """
    if rebuild == (file is not None):
        raise click.UsageError(
            "Say what to verify: a bundle, an answer with --bundle, an audit, or --rebuild."
        )
    if file is None:
        from dbt_attest.cli.build import progress
        from dbt_attest.cli.prose_verification import rebuilt
        from dbt_attest.warehouse.rebuilding import rebuild_and_compare

        compared = rebuild_and_compare(
            required_project_dir(), archive=archive, warehouse=warehouse, progress=progress("Rebuilding")
        )
        _show(compared.as_json(), rebuilt(compared), output)
        for skipped in compared.skipped:
            click.echo(f"attest: skipped {safe(skipped.name)}: {safe(skipped.reason)}", err=True)
        return 0 if compared.identical else 1
    from dbt_attest.resolution.json_forms import ANSWER, BUNDLE, check, read_json

    if bundle is not None:
        from dbt_attest.cli.prose_verification import verdicts
        from dbt_attest.resolution.citations import verify_citations

        found = verify_citations(
            check(file, read_json(file), ANSWER), check(bundle, read_json(bundle), BUNDLE)
        )
        _show(found.as_json(), verdicts(found), output)
        return 0 if all(one.supported for one in found.verdicts) else 1
    from dbt_attest.cli.prose_verification import audit, reproduction
    from dbt_attest.resolution import Warehouse
    from dbt_attest.resolution.audit_check import check_audit, is_audit
    from dbt_attest.resolution.reproduction import reproduce

    if is_audit(file):
        path, _ = place(warehouse, None)
        checked = check_audit(Warehouse(path, schema=schema), file, requester_of(groups, subject))
        _show(checked.as_json(), audit(checked, file), output)
        return 0 if checked.identical else 1
    given = check(file, read_json(file), BUNDLE)
    path, _ = place(warehouse, given["question"]["environment"])
    asked = Warehouse(path, schema=schema)
    again = reproduce(asked, given, requester_of(groups, subject))
    _show(again.as_json(), reproduction(again, file), output)
    return 0 if again.identical else 1


def _show(values: dict[str, Any], text: str, output: str) -> None:
    click.echo(as_json(values) if output == "json" else text)
