"""What the verbs share: where the project and its warehouse are, who asks, and the options that say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from dbt_attest.cli.terminal import as_json, safe
from dbt_attest.errors import InputError
from dbt_attest.resolution.settings import read_settings

if TYPE_CHECKING:
    from dbt_attest.resolution import Requester, Resolution, Warehouse


class _AsJson(Protocol):
    def as_json(self) -> dict[str, Any]: ...


_Command = TypeVar("_Command", bound=Callable[..., Any])
_Told = TypeVar("_Told", bound=_AsJson)


def project_dir() -> Path | None:
    """The dbt project around the present folder, None outside of one."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "dbt_project.yml").exists()), None)


def required_project_dir() -> Path:
    """The dbt project around the present folder; raises InputError outside of one."""
    found = project_dir()
    if found is None:
        raise InputError(
            f"{Path.cwd()}: expected a folder of a dbt project, found no dbt_project.yml here or above; "
            "change into the project."
        )
    return found


def place(warehouse: Path | None, environment: str | None) -> tuple[Path, str | None]:
    """The warehouse and the environment to ask: options first, then attest.yml, then the defaults.

    Raises InputError where attest.yml is needed and cannot be read.
    """
    project = project_dir()
    if project is None:
        return warehouse or Path("evidence.duckdb"), environment
    if warehouse is not None and environment is not None:
        return warehouse, environment
    said = read_settings(project / "attest.yml")
    return (
        warehouse or said.warehouse or project / "evidence.duckdb",
        environment or said.environment or "prod",
    )


def asked_warehouse(path: Path, schema: str | None, environment: str | None) -> Warehouse:
    """The warehouse to ask, with the audit that belongs to it; raises InputError where attest.yml cannot be read."""
    from dbt_attest.resolution import Warehouse
    from dbt_attest.resolution.settings import audit_around

    audit = audit_around(path, project_dir())
    return Warehouse(path, schema=schema, environment=environment, audit=audit)


warehouse_option = click.option(
    "--warehouse",
    type=click.Path(path_type=Path),
    help="The evidence warehouse, a DuckDB file.  [default: attest.yml, else evidence.duckdb in the project]",
)
schema_option = click.option(
    "--schema", help="Schema with the evidence.  [default: the one schema of the file that has evidence]"
)
environment_option = click.option(
    "--environment", help="What was collected: prod, a branch, a developer.  [default: attest.yml, else prod]"
)
known_at_option = click.option(
    "--known-at",
    help="State of knowledge: an instant in UTC, or a date for the end of that day.  "
    "[default: everything recorded]",
)
_groups_option = click.option(
    "--groups",
    envvar="ATTEST_GROUPS",
    default="",
    help="Groups of the requester, with commas.  [env: ATTEST_GROUPS; default: only everyone]",
)
_subject_option = click.option(
    "--subject",
    envvar="ATTEST_SUBJECT",
    default="",
    help="Who the requester is; the groups are those of the membership, where attest.yml names one.  "
    "[env: ATTEST_SUBJECT]",
)
format_option = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or for programs.",
)


def question_options(command: _Command) -> _Command:
    """The options of every question: what `request_options` has, and the format."""
    return request_options(format_option(command))


def request_options(command: _Command) -> _Command:
    """State of knowledge, requester, scope and place."""
    options = [
        known_at_option,
        _groups_option,
        _subject_option,
        click.option(
            "--scope",
            multiple=True,
            metavar="KEY=VALUE",
            help="Where the definition is to apply, such as region=EU; can be given several times.",
        ),
        environment_option,
        warehouse_option,
        schema_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def requester_options(command: _Command) -> _Command:
    """Who asks: groups, or a subject whose groups the membership knows."""
    return _groups_option(_subject_option(command))


def requester_of(groups: str, subject: str) -> Requester:
    """Who asks, as the options say; a membership that counts as absent is told on standard error.

    Raises InputError where groups and a membership would both say in which groups the subject is, and
    where that or attest.yml cannot be read.
    """
    from dbt_attest.resolution import Requester

    named, subject = groups_of(groups), subject.strip()
    project = project_dir()
    source = read_settings(project / "attest.yml").membership if project and subject else None
    if source is None:
        return Requester(groups=named, subject=subject or None)
    if named:
        raise InputError(
            f"--groups: expected none beside --subject {subject}, whose groups are in {source.name}, found "
            f"{', '.join(named)}; leave one of the two out (ATTEST_GROUPS and ATTEST_SUBJECT count, too)."
        )
    from dbt_attest.resolution.membership import read_membership

    membership = read_membership(source)
    if membership.warning:
        click.echo(f"attest: warning: {safe(membership.warning)}", err=True)
    return membership.requester(subject)


def groups_of(text: str) -> list[str]:
    """Groups from text with commas."""
    return [group.strip() for group in text.split(",") if group.strip()]


def scope_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """A scope from KEY=VALUE texts; raises InputError."""
    scope: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (key and equals and value):
            raise InputError(f"--scope: expected KEY=VALUE such as region=EU, found {pair!r}.")
        if scope.setdefault(key, value) != value:
            raise InputError(f"--scope: expected one value of {key}, found {scope[key]} and {value}.")
    return scope


def show(
    found: _Told,
    resolution: Resolution,
    output: str,
    as_text: Callable[[_Told], str],
    asked: Warehouse,
    requester: Requester,
) -> int:
    """Print what a question gave and give the exit code of its resolution, as `exit_code_of` does."""
    if output == "json":
        click.echo(as_json(found.as_json()))
    else:
        click.echo(as_text(found))
    return exit_code_of(resolution.asked, resolution.reason, asked, requester)


def exit_code_of(name: str, reason: str, asked: Warehouse, requester: Requester) -> int:
    """The exit code of an answer about `name`; of an unknown entity, near names go to standard error."""
    if reason != "unknown_entity":
        return 0
    near = asked.near_names(name, requester=requester)
    advice = (
        f"did you mean {' or '.join(map(safe, near))}?"
        if near
        else "`attest status` tells what was collected."
    )
    click.echo(
        f"attest: expected an entity that you may see, found none named {safe(name)}; {advice}", err=True
    )
    return 2
