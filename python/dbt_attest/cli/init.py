"""`attest init`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dbt_attest.cli.options import format_option, groups_of, required_project_dir, warehouse_option
from dbt_attest.cli.terminal import as_json
from dbt_attest.errors import InputError

_CHOICES = """\
Who may see what says nothing about permissions of its own?
  everyone       whoever asks
  nobody         no one, until an annotation or a rule names groups
  GROUP,GROUP    the members of these groups, as your identity provider names them"""


@click.command("init")
@click.option(
    "--permissions",
    metavar="everyone|nobody|GROUP[,GROUP]",
    help="Who may see what names no groups of its own.  [asked for on a terminal]",
)
@warehouse_option
@format_option
def command(permissions: str | None, warehouse: Path | None, output: str) -> None:
    """Write attest.yml and the packages.yml entry.

    An existing attest.yml is never written over. An existing packages.yml gets one more entry and stays
    otherwise as it is; where that cannot be done safely it is left alone, and what to paste is printed.
    """
    from dbt_attest.cli.packages_file import add_package
    from dbt_attest.cli.project_template import attest_yml

    project = required_project_dir()
    path = project / "attest.yml"
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: expected no file, found one; edit it, or remove it and start over.")
    groups = _groups(permissions)
    text = attest_yml(project, groups, warehouse)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: expected a folder that can be written, found {error.strerror}.") from None
    packages = add_package(project)
    if output == "json":
        values = {"project_file": str(path), "permissions": groups}
        click.echo(as_json(values | packages.as_json()))
        return
    click.echo(f"Wrote {path.name}: what names no groups of its own, {_seen_by(groups)} may see.")
    click.echo(packages.sentence)
    click.echo(_NEXT)


_NEXT = """
What to do next:
  1. dbt deps               installs the dbt package
  2. annotate a metric or model, in its YAML under config: meta: attest:
         authority: authoritative
         versions:
           - {version: 1, effective_from: 2024-01-01, definition: Net of tax and discounts}
           - {version: 2, effective_from: 2025-07-01, definition: Also net of refunds}
  3. dbt build              creates the resolvers beside your models
  4. attest build           records what the annotations say
  5. attest resolve NAME    which definition is in force, and since when"""


def _groups(permissions: str | None) -> list[str]:
    if permissions is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise InputError(
                "--permissions: expected everyone, nobody or groups with commas, found no choice and no "
                "terminal to ask on; name who may see what says nothing of its own."
            )
        click.echo(_CHOICES)
        permissions = click.prompt("Permissions", type=str)
    groups = groups_of(permissions)
    if not groups:
        raise InputError(f"--permissions: expected everyone, nobody or groups, found {permissions!r}.")
    if len(groups) > 1 and {"everyone", "nobody"} & set(groups):
        raise InputError(
            f"--permissions: expected everyone, nobody or groups, found several of these: {permissions}."
        )
    return [] if groups == ["nobody"] else groups


def _seen_by(groups: list[str]) -> str:
    if groups == ["everyone"]:
        return "everyone"
    return f"only {', '.join(groups)}" if groups else "nobody"
