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
from dbt_attest.cli.terminal import as_json, safe
from dbt_attest.errors import AnnotationErrors

if TYPE_CHECKING:
    from dbt_attest.resolution.checking import Checked
    from dbt_attest.resolution.readiness import Readiness


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
@click.option(
    "--ready-for",
    metavar="DOMAIN",
    help="How ready a domain is instead: a folder, tag:NAME, group:NAME, or entities with commas.",
)
@click.option(
    "--demand",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Questions that were asked, as the audit has them.  [default: the audit of attest.yml, where it is there]",
)
@click.option(
    "--who-sees", metavar="GROUP", help="What members of a group may see instead, and through what."
)
@click.option("--since", metavar="DAY", help="With --who-sees: only what is new to them since that day.")
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
    ready_for: str | None,
    demand: Path | None,
    who_sees: str | None,
    since: str | None,
    environment: str | None,
    warehouse: Path | None,
    schema: str | None,
    output: str,
) -> int:
    """What is to be repaired: gaps in what was recorded, each with what was expected, found, and to do.

    Checks the warehouse; with --target-dir or --against, and where there is no warehouse, a target folder by
    itself. attest.yml gives severities and exceptions. What was asked and not answered is told, and its repairs
    come first. It is for stewards: nothing is masked. Exit code 1
    where there is a gap of severity error, or the domain of --ready-for is not ready.
    """
    from dbt_attest.cli import prose_check, prose_readiness

    if warehouse is not None and (target_dir is not None or against is not None):
        raise click.UsageError(
            "--warehouse: expected none with --target-dir or --against, which need none; to compare with a "
            "warehouse, name it with --against."
        )
    if ready_for is not None and against is not None:
        raise click.UsageError("--ready-for: expected none with --against.")
    if since is not None and who_sees is None:
        raise click.UsageError("--since: expected none without --who-sees.")
    path, asked = place(warehouse, environment)
    if who_sees is not None:
        if any(one is not None for one in (target_dir, against, ready_for, demand)):
            raise click.UsageError(
                "--who-sees: expected no --target-dir, --against, --ready-for or --demand."
            )
        return _who_sees(path, schema, asked, who_sees, since, output)
    project = project_dir()
    alone = target_dir is not None or against is not None
    # a project that never built a warehouse is looked at all the same
    if alone or (warehouse is None and not path.exists() and project is not None):
        project = required_project_dir()
        path = target_dir or project / "target"
        alone = True
    questions = demand or _audit_file(path, project)
    try:
        if ready_for is not None:
            readiness = _readiness(path, project, ready_for, alone, environment, asked, schema, questions)
            as_said = {
                "text": prose_readiness.text,
                "markdown": prose_readiness.markdown,
                "github": prose_readiness.github,
            }
            click.echo(as_json(readiness.as_json()) if output == "json" else as_said[output](readiness))
            return 0 if readiness.is_ready else 1
        checked = _checked(path, project, against, alone, environment, asked, schema, questions)
    except AnnotationErrors as error:
        if output == "github":
            click.echo(prose_check.annotations_of(error, required_project_dir()))
        raise
    if output == "json":
        click.echo(as_json(checked.as_json()))
    else:
        as_text = {"text": prose_check.text, "github": prose_check.github, "markdown": prose_check.markdown}
        told = as_text[output](checked, project)
        if told:
            click.echo(told)
    return 1 if checked.counts["error"] else 0


def _audit_file(path: Path, project: Path | None) -> Path | None:
    """The audit that belongs to a warehouse or target folder, if anything was ever asked."""
    from dbt_attest.resolution.settings import audit_around

    audit = audit_around(path, project)
    return None if audit is None or not audit.path.exists() else audit.path


def _who_sees(
    path: Path, schema: str | None, environment: str | None, group: str, since: str | None, output: str
) -> int:
    from dbt_attest.resolution import Warehouse
    from dbt_attest.resolution.who_sees import who_sees

    if output not in ("text", "json"):
        raise click.UsageError(f"--format {output}: expected text or json with --who-sees.")
    found = who_sees(Warehouse(path, schema=schema, environment=environment), group, since=since)
    if output == "json":
        click.echo(as_json({"group": group, "since": since, "sees": [one.as_json() for one in found]}))
        return 0
    for one in found:
        removed = "" if one.stated else ", no longer stated"
        click.echo(
            safe(
                f"{'  '.join(filter(None, (one.entity_id, one.evidence_id, one.title)))}\n"
                f"  through {', '.join(one.through)} ({one.rule}), since {one.since:%Y-%m-%d %H:%M} UTC{removed}",
                keep="\n",
            )
        )
    click.echo(f"{len(found)} definitions" + (f" new since {since}" if since else ""))
    return 0


def _checked(
    path: Path,
    project: Path | None,
    against: Path | None,
    alone: bool,
    environment: str | None,
    asked: str | None,
    schema: str | None,
    questions: Path | None,
) -> Checked:
    from dbt_attest.resolution.checking import check_target, check_warehouse

    if alone and project is not None:
        return check_target(project, path, environment=environment, against=against, questions=questions)
    return check_warehouse(path, schema=schema, environment=asked or "prod", questions=questions)


def _readiness(
    path: Path,
    project: Path | None,
    domain: str,
    alone: bool,
    environment: str | None,
    asked: str | None,
    schema: str | None,
    questions: Path | None,
) -> Readiness:
    from dbt_attest.resolution.checking import readiness_of_target, readiness_of_warehouse

    if alone and project is not None:
        return readiness_of_target(project, path, domain, environment=environment, questions=questions)
    manifest = (project or Path()) / "target" / "manifest.json"
    return readiness_of_warehouse(
        path, domain, manifest, schema=schema, environment=asked or "prod", questions=questions
    )
