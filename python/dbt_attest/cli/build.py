"""`attest build`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dbt_attest.cli.options import environment_option, format_option, required_project_dir, warehouse_option
from dbt_attest.cli.terminal import as_json, safe

if TYPE_CHECKING:
    from dbt_attest.warehouse.building import Built
    from dbt_attest.warehouse.replay import Replay, Skipped
    from dbt_attest.warehouse.writing import Destination

_One = TypeVar("_One")
_HELD = (
    "  held      {count} definitions would no longer be stated, or lose authority, dates or permissions:\n"
    "            more than attest.yml allows at once; they stay as they were until --allow-removals"
)


@click.command("build")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR]...")
@click.option(
    "--target-dir",
    type=click.Path(path_type=Path),
    help="Folder with dbt's manifest.json.  [default: target in the project]",
)
@click.option(
    "--archive",
    is_flag=True,
    help="Record the past from DIR...: archives, copied target folders, or trees of them, in any order.  "
    "[default: the archive of attest.yml]",
)
@click.option(
    "--from-git",
    metavar="[RANGE]",
    is_flag=False,
    flag_value="HEAD",
    help="Record the past from the project's commits, each parsed by dbt; RANGE is one as git takes it, such "
    "as v1.0..main.  [default: HEAD]",
)
@click.option(
    "--wait",
    type=float,
    default=30,
    show_default=True,
    help="Seconds to wait while another process holds the file.",
)
@click.option(
    "--allow-removals",
    is_flag=True,
    help="Also record what takes away more of the project than attest.yml allows at once.",
)
@click.option(
    "--redact",
    metavar="EVIDENCE_ID[@HASH]",
    help="Take the text of a definition, or of its version with this content_hash, out of warehouse and archive.",
)
@click.option("--why", help="With --redact: the reason, which is kept.")
@environment_option
@warehouse_option
@format_option
def command(
    folders: tuple[Path, ...],
    target_dir: Path | None,
    archive: bool,
    from_git: str | None,
    wait: float,
    allow_removals: bool,
    redact: str | None,
    why: str | None,
    environment: str | None,
    warehouse: Path | None,
    output: str,
) -> int:
    """Read a target folder and record it in the evidence warehouse.

    In the project's own DuckDB file the resolvers come from the project's `dbt build`; any other file is a
    stand-alone warehouse and gets them here. The same files again change nothing; nothing recorded is ever
    changed.

    With --redact nothing is read from the project: a text that should never have been recorded, such as a secret,
    is taken out for good, and its hash, the time and the reason stay. Warehouse and archive are made again from the
    archive, which has to have every collection. What was exported or bundled before still has the text.

    With --archive or --from-git the past is recorded: exit code 1 where some of it could not be read; the
    rest is recorded.
    """
    if sum([archive, from_git is not None, target_dir is not None, redact is not None]) > 1:
        raise click.UsageError("Name one of --target-dir, --archive, --from-git and --redact.")
    if (redact is None) != (not why):
        raise click.UsageError("--redact and --why: expected both or none; say why the text is taken out.")
    if folders and not archive:
        raise click.UsageError(f"Expected no folder without --archive, found {folders[0]}.")
    chosen: dict[str, Any] = {"warehouse": warehouse, "environment": environment, "patience": wait}
    if from_git is None:
        chosen["removals_allowed"] = allow_removals
    with _cleaned_up_when_ended():
        if redact is not None:
            return _redacted(redact, why or "", warehouse, wait, output)
        if archive:
            return _from_archives(folders, chosen, output)
        if from_git is not None:
            return _from_git(from_git, chosen, output)
        return _from_target(target_dir, chosen, output)


@contextmanager
def _cleaned_up_when_ended() -> Iterator[None]:
    """A CI system ends a job with SIGTERM: then temporary files go, too, and each collection is whole or not there."""
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True
        sys.exit(143)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except Exception:
        # what a handler raises while DuckDB works comes out as an error of DuckDB's
        if ended:
            sys.exit(143)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _from_target(target_dir: Path | None, chosen: dict[str, Any], output: str) -> int:
    from dbt_attest.warehouse.building import build

    built = build(required_project_dir(), target_dir=target_dir, **chosen)
    _show(built, output)
    return 1 if built.recorded.held else 0


def _redacted(named: str, why: str, warehouse: Path | None, wait: float, output: str) -> int:
    from dbt_attest.warehouse.redacting import redact

    evidence_id, at, content_hash = named.rpartition("@")
    if not at or not content_hash or set(content_hash) - set("0123456789abcdef"):
        # an evidence_id can have an @ of its own
        evidence_id, content_hash = named, ""
    done = redact(
        required_project_dir(),
        evidence_id,
        why,
        content_hash=content_hash or None,
        warehouse=warehouse,
        patience=wait,
    )
    if output == "json":
        click.echo(as_json(vars(done) | {"warehouse": str(done.warehouse), "archive": str(done.archive)}))
        return 0
    click.echo(f"{done.warehouse}")
    for text_hash in done.text_hashes:
        click.echo(
            f"  redacted  {safe(evidence_id)}: a text with the hash {text_hash}, here and in {done.archive}"
        )
    click.echo(
        "  next      remove it from the project and from what was exported before, and change the secret"
    )
    return 0


def _from_archives(folders: tuple[Path, ...], chosen: dict[str, Any], output: str) -> int:
    from dbt_attest.warehouse.building import build_past

    destination, done = build_past(required_project_dir(), folders, progress=progress("Recording"), **chosen)
    return _show_past(destination, done, {}, [], output)


def _from_git(revisions: str, chosen: dict[str, Any], output: str) -> int:
    from dbt_attest.warehouse.from_git import build_from_git

    found = build_from_git(required_project_dir(), revisions, progress=progress("Parsing commits"), **chosen)
    counts = {"commits": found.commits, "recorded_before": found.known, "shallow": found.shallow}
    lines = [
        f"  commits   {found.commits} touched the project"
        + (f", {found.known} of them were recorded before" if found.known else "")
    ]
    if found.shallow:
        lines.append("  shallow   this clone lacks earlier commits: `git fetch --unshallow` gets them")
    code = _show_past(found.destination, found.done, counts, lines, output)
    if output == "text":
        click.echo("  next      `dbt parse` and `attest build` record the present, with today's permissions")
    return code


def progress(what: str) -> Any:
    """Shows on a terminal how far it is; standard output stays clean."""

    def track(sequence: Sequence[_One]) -> Iterable[_One]:
        if not sys.stderr.isatty():
            return sequence
        from rich.console import Console
        from rich.progress import track as bar

        return bar(sequence, description=what, console=Console(stderr=True), transient=True)

    return track


def _show_past(
    destination: Destination, done: Replay, counts: dict[str, Any], lines: list[str], output: str
) -> int:
    if output == "json":
        values = {"warehouse": str(destination.path), "schema": destination.schema} | counts | vars(done)
        values["skipped"] = [vars(one) for one in done.skipped]
        click.echo(as_json(values))
        return 1 if done.skipped or done.held else 0
    click.echo(f"{destination.path}, schema {destination.schema}")
    for line in lines:
        click.echo(line)
    unchanged = f"; {done.unchanged} were recorded before" if done.unchanged else ""
    click.echo(
        f"  recorded  {done.recorded} collections: {done.changed} definitions new or changed, "
        f"{done.no_longer_stated} no longer stated{unchanged}"
    )
    if done.resolvers_missing:
        click.echo("  next      run `dbt build`: it creates the resolvers in this file")
    if done.held:
        click.echo(_HELD.format(count=done.held))
    for sentence in _skipped(done.skipped):
        click.echo(f"attest: {safe(sentence)}", err=True)
    return 1 if done.skipped or done.held else 0


def _skipped(skipped: list[Skipped]) -> list[str]:
    """One sentence for those in a row that were skipped for one reason."""
    said: list[str] = []
    start = 0
    for number, one in enumerate(skipped):
        if number + 1 < len(skipped) and skipped[number + 1].reason == one.reason:
            continue
        many = f" and {number - start} more until {one.name}" if number > start else ""
        said.append(f"skipped {skipped[start].name}{many}: {one.reason}")
        start = number + 1
    return said


def _show(built: Built, output: str) -> None:
    if output == "json":
        values = vars(built) | {"warehouse": str(built.warehouse), "recorded": vars(built.recorded)}
        click.echo(as_json(values))
        return
    recorded = built.recorded
    click.echo(
        f"{safe(built.project_name)} ({safe(built.environment)}) → {built.warehouse}, schema {built.schema}"
    )
    if built.definitions is not None:
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
    if recorded.held:
        click.echo(_HELD.format(count=recorded.held))
    for finding in built.findings[:20]:
        click.echo(f"  finding   {safe(str(finding))}")
    if len(built.findings) > 20:
        click.echo(f"  finding   and {len(built.findings) - 20} more, all in the table reader_findings")
    if built.annotated == 0:
        click.echo(
            "  next      nothing is annotated yet: add meta.attest to a model or metric (see the README)"
        )
    if built.resolvers_missing:
        click.echo("  next      run `dbt build`: it creates the resolvers in this file")
