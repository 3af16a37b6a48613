"""`attest build` as a terminal and a CI system meet it: the bar that shows how far it is, and its early end."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

ATTEST = Path(sys.executable).with_name("attest")
JANUARY, FEBRUARY = "2025-01-10T09:00:00Z", "2025-02-10T09:00:00Z"
V1 = {"entity_id": "metric.b", "evidence_id": "v1", "definition": "first"}
COUNT = "select count(*) from attest.{} where environment = 'prod'"


@pytest.fixture
def past(world, make_project, make_manifest):
    """A project and three copied target folders of its past."""
    make_project(world.folder, make_manifest(FEBRUARY, {"v1": V1}))
    for day in (1, 2, 3):
        manifest = make_manifest(f"2025-01-0{day}T09:00:00Z", {"v1": V1 | {"definition": f"of day {day}"}})
        make_project(world.folder, manifest, target=f"past/{day}")
    return world.folder


def _on_terminal(folder, *streams):
    """Run `attest build --archive past` with these streams on a terminal; its code, pipe and terminal."""
    terminal, inner = pty.openpty()
    named = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | dict.fromkeys(streams, inner)
    environ = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    with subprocess.Popen(
        [ATTEST, "build", "--archive", "past", "--format", "json"], cwd=folder, env=environ | {"TERM": "xterm"},
        **named,
    ) as process:  # fmt: skip
        os.close(inner)
        shown = b""
        try:
            while chunk := os.read(terminal, 4096):
                shown += chunk
        except OSError:
            pass  # the other end was closed
        output, errors = process.communicate(timeout=120)
    os.close(terminal)
    return process.returncode, (output or b"") + (errors or b""), shown.decode()


def test_a_terminal_is_shown_how_far_it_is(past):
    code, output, shown = _on_terminal(past, "stderr")
    assert code == 0
    assert "Recording" in shown
    assert re.search(r"\d+%", shown)
    assert shown.endswith("\x1b[2K"), "the bar is gone at the end"
    assert output.startswith(b"{")
    assert b"\x1b" not in output


def test_nobody_else_is_shown_a_bar(past):
    code, errors, shown = _on_terminal(past, "stdout")
    assert (code, errors) == (0, b"")
    assert shown.startswith("{")
    assert "\x1b" not in shown


_ENDED = """
import os, signal, sys
from dbt_attest.cli.main import main
import dbt_attest.warehouse.{module} as module

real = module.{step}
def step(*arguments, **named):
    {before}
    result = real(*arguments, **named)
    os.kill(os.getpid(), signal.SIGTERM)
    return result
module.{step} = step
sys.argv = ["attest", "build", *sys.argv[1:]]
main()
"""


def _left(folder):
    """Every file and folder but the lock, which is no temporary one."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if ".lock" not in path.name
    )


def _ended(folder, module, step, *words, before="pass"):
    """A build that gets SIGTERM at a step; its code and sentences. Nothing temporary may be left."""
    temporary = folder.parent / f"{folder.name}-tmp"
    temporary.mkdir()
    code = _ENDED.format(module=module, step=step, before=before)
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"TMPDIR": str(temporary)},
    )  # fmt: skip
    assert _left(temporary) == []
    temporary.rmdir()
    return ended.returncode, ended.stdout + ended.stderr


WORKS_UNTIL_ENDED = (
    "import duckdb, threading; threading.Timer(0.3, os.kill, (os.getpid(), signal.{name})).start(); "
    # of several threads the main one may only wait, and looks at no signal before the query is done
    "duckdb.connect(config={{'threads': 1}}).execute("
    "'select count(*) from range(100000000000) as one(n), range(100) as two(n) where one.n % 7 = two.n')"
)


STEPS = [("redactions", "read_place"), ("building", "keep_files"), ("loading", "append"), ("changes", "load"),
         ("recording", "append_history"), ("writing", "record"), ("writing", "are_built")]  # fmt: skip


@pytest.mark.parametrize("before", ["pass", "os.kill(os.getpid(), signal.SIGTERM)"], ids=["after", "before"])
@pytest.mark.parametrize(("module", "step"), STEPS)
def test_ended_while_it_writes_a_stand_alone_warehouse(
    world, make_project, make_manifest, module, step, before
):
    make_project(world.folder, make_manifest(JANUARY, {"v1": V1}), "archive: .attest/artifacts\n")
    kept = world.warehouse.read_bytes()
    files = _left(world.folder)
    assert _ended(world.folder, module, step, before=before) == (143, "")
    assert world.warehouse.read_bytes() == kept
    # what was archived is kept by its hash: the next build finds it there
    assert [name for name in _left(world.folder) if not name.startswith(".attest")] == files
    assert not list(world.folder.rglob(".part-*"))
    assert not list(world.folder.rglob(".attest/artifacts/collections/*"))


def test_ended_while_duckdb_works(tmp_path, make_project, make_manifest):
    """DuckDB makes an error of its own of what a signal handler raises during a query."""
    make_project(tmp_path / "shop", make_manifest(JANUARY, {"v1": V1}))
    files = _left(tmp_path / "shop")
    assert _ended(
        tmp_path / "shop", "writing", "build_resolvers", before=WORKS_UNTIL_ENDED.format(name="SIGTERM")
    ) == (143, "")
    assert _left(tmp_path / "shop") == files


@pytest.mark.parametrize(("module", "step"), [("recording", "append_history"), ("writing", "record")])
def test_ended_while_it_writes_a_projects_own_file(
    tmp_path, make_project, make_manifest, count_rows, module, step
):
    folder = tmp_path / "shop"
    manifest = make_manifest(JANUARY, {"v1": V1}, own_file="own.duckdb")
    make_project(folder, manifest, "warehouse: own.duckdb\n")
    duckdb.connect(str(folder / "own.duckdb")).close()
    files = _left(folder)
    assert _ended(folder, module, step) == (143, "")
    assert _left(folder) == files
    # the transaction had come to its end, or all of it is undone
    counts = count_rows(folder / "own.duckdb", "main_attest")
    whole = step == "record"
    assert {table for table, count in counts.items() if count} - {"contract_versions"} == (
        {"artifacts", "assertions", "collections", "names", "project_files"} if whole else set()
    )


def test_ended_while_it_records_an_archive(past, world):
    kept = world.warehouse.read_bytes()
    assert _ended(past, "writing", "record", "--archive", "past") == (143, "")
    assert world.warehouse.read_bytes() == kept


@pytest.mark.parametrize(
    "control_c", ["os.kill(os.getpid(), signal.SIGINT)", WORKS_UNTIL_ENDED.format(name="SIGINT")],
    ids=["between queries", "while DuckDB works"],
)  # fmt: skip
def test_ended_by_a_person(world, make_project, make_manifest, control_c):
    make_project(world.folder, make_manifest(JANUARY, {"v1": V1}))
    kept = world.warehouse.read_bytes()
    code, said = _ended(world.folder, "recording", "append_history", before=control_c)
    assert (code, said.strip()) == (130, "")
    assert world.warehouse.read_bytes() == kept
