"""`attest status`."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbt_attest.cli.options import format_option, place, project_dir, schema_option, warehouse_option
from dbt_attest.cli.terminal import as_json, safe
from dbt_attest.resolution.settings import read_settings

if TYPE_CHECKING:
    from dbt_attest.resolution.membership import Membership
    from dbt_attest.warehouse.state import ProjectState, State

_COLUMNS = (
    "project",
    "environment",
    "collections",
    "last manifest",
    "age",
    "max age",
    "stated",
    "governed",
    "unclassified",
    "removed",
    "held",
    "findings",
)


@click.command("status")
@click.option("--environment", help="Only this environment.  [default: all]")
@warehouse_option
@schema_option
@format_option
def command(environment: str | None, warehouse: Path | None, schema: str | None, output: str) -> int:
    """What the warehouse holds, and whether something needs a person.

    Only counts, by project and environment. Exit code 1 where evidence is older than attest.yml allows,
    nothing was collected, removals are held, the resolvers are missing, or the membership that attest.yml
    names is older than it allows.
    """
    from dbt_attest.resolution import Warehouse
    from dbt_attest.warehouse.state import state

    path, _ = place(warehouse, environment)
    membership = _membership()
    with Warehouse(path, schema=schema).connection() as (connection, in_schema):
        found = state(connection, in_schema, environment)
    needs_a_person = found.needs_a_person or (membership is not None and membership.absent)
    if output == "json":
        values = {
            "warehouse": str(path),
            "resolvers": found.resolvers,
            "needs_a_person": needs_a_person,
            "projects": [_as_json(project) for project in found.projects],
            "membership": membership and membership.as_json(),
        }
        click.echo(as_json(values))
    else:
        _print(path, found, membership)
    return 1 if needs_a_person else 0


def _membership() -> Membership | None:
    """The membership of the project around the present folder, None where its attest.yml names none."""
    from dbt_attest.resolution.membership import read_membership

    project = project_dir()
    source = read_settings(project / "attest.yml").membership if project else None
    return None if source is None else read_membership(source)


def _print(path: Path, found: State, membership: Membership | None) -> None:
    click.echo(f"{path}\n")
    if found.projects:
        import agate  # type: ignore[import-untyped]

        # counts stand right, texts left; numbers are shown as they are
        number, text = agate.Number(), agate.Text()
        types = [number if column in _COUNTED else text for column in _COLUMNS]
        table = agate.Table([_as_row(project) for project in found.projects], _COLUMNS, types)
        table.print_table(output=sys.stdout, max_columns=None, max_column_width=None, locale="en_US")
        click.echo()
    if membership is not None and membership.age is not None:
        click.echo(
            f"Membership: {len(membership.groups_of)} subjects in {safe(membership.source.name)}, "
            f"{_duration(membership.age)} old, at most {_duration(membership.source.max_age)}.\n"
        )
    for sentence in _advice(found, membership):
        click.echo(safe(sentence))


_COUNTED = {"collections", "stated", "governed", "unclassified", "removed", "held", "findings"}


def _as_row(project: ProjectState) -> list[Any]:
    return [
        safe(project.project_name),
        safe(project.environment),
        project.collections,
        _instant(project.collected_at),
        _duration(project.age) + (" (stale)" if project.stale else ""),
        _duration(project.max_age) if project.max_age else "any",
        project.stated,
        project.governed,
        project.unclassified,
        project.removed,
        project.held,
        project.findings,
    ]


def _as_json(project: ProjectState) -> dict[str, Any]:
    return vars(project) | {
        "collected_at": project.collected_at.astimezone(timezone.utc).isoformat(),
        "age": int(project.age.total_seconds()),
        "max_age": None if project.max_age is None else int(project.max_age.total_seconds()),
        "stale": project.stale,
    }


def _advice(found: State, membership: Membership | None) -> list[str]:
    said = [
        f"{project.project_name} ({project.environment}) is stale: expected a manifest of the last "
        f"{_duration(project.max_age or timedelta())}, found one {_duration(project.age)} old; "
        "run `dbt parse` and `attest build`."
        for project in found.projects
        if project.stale
    ]
    said += [
        f"{project.project_name} ({project.environment}) holds {project.held} removals: expected the "
        "definitions to be stated as before, found manifests that lack them or what makes them count; repair "
        "that and run `attest build`, or run `attest build --allow-removals`."
        for project in found.projects
        if project.held
    ]
    if not found.projects:
        said.append("Nothing has been collected: run `attest build`.")
    if not found.resolvers:
        said.append("The resolvers are missing: run `dbt build` in the project, it creates them.")
    if membership is not None and membership.warning:
        said.append(membership.warning)
    return said or ["Nothing needs a person."]


def _instant(instant: datetime) -> str:
    return f"{instant.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"


def _duration(duration: timedelta) -> str:
    minutes = int(duration.total_seconds() // 60)
    if minutes >= 48 * 60:
        return f"{minutes // (24 * 60)}d"
    return f"{minutes // 60}h" if minutes >= 120 else f"{minutes}min"
