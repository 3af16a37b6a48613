"""Whatever is done to a build: afterwards the warehouse opens and holds whole collections only."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from dbt_attest.artifacts import read_manifest
from dbt_attest.errors import InputError

ATTEST = Path(sys.executable).with_name("attest")
MANY = 400
V1 = {"authority": "authoritative", "permissions": ["everyone"], "effective_from": "2024-01-01"}


def _states(text):
    return {
        f"m{number}": V1 | {"evidence_id": f"m{number}", "entity_id": f"metric.m{number}",
                            "definition": f"{text} of {number}, {'at length ' * 40}"}
        for number in range(MANY)
    }  # fmt: skip


def _attest(folder, *words, **named):
    return subprocess.Popen(
        [ATTEST, *words], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **named,
    )  # fmt: skip


def _finished(process):
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


def _whole(path, schema="attest"):
    """How many collections there are; every one of them has all of its rows, and no row has no collection."""
    with duckdb.connect(str(path), read_only=True) as connection:
        collections = connection.execute(
            f"select collection_id from {schema}.collections where environment = 'prod'"
        ).fetchall()
        by_collection = connection.execute(
            f"select collection_id, count(*) from {schema}.assertions group by collection_id"
        ).fetchall()
        artifacts = connection.execute(
            f"select count(*) from {schema}.artifacts where collection_id not in "
            f"(select collection_id from {schema}.collections)"
        ).fetchall()
    assert {count for _, count in by_collection} <= {MANY}
    assert {one for one, _ in by_collection} == {one for (one,) in collections}
    assert artifacts == [(0,)]
    return len(collections)


@pytest.fixture
def own(tmp_path, make_project, make_manifest):
    """Writes the manifests of a project with its own DuckDB file; returns the folder and the writer."""
    duckdb.connect(str(tmp_path / "own.duckdb")).close()

    def write(day, target="target"):
        manifest = make_manifest(
            f"2025-03-{day:02}T09:00:00Z", _states(f"text of day {day}"), own_file="own.duckdb"
        )
        make_project(tmp_path, manifest, "warehouse: own.duckdb\n", target)

    return tmp_path, write


def _seconds_of_a_build(folder):
    begin = time.monotonic()
    code, output, errors = _finished(_attest(folder, "build"))
    assert code == 0, output + errors
    return time.monotonic() - begin


def _kill(process, after):
    """Kill it where it has not come to the end by then; whether it had."""
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == 0


def test_a_build_into_a_projects_own_file_killed_at_any_moment(own):
    folder, write = own
    write(1)
    longest = _seconds_of_a_build(folder)
    chance, done, killed = random.Random(11), 1, 0
    for day in range(2, 9):
        write(day)
        # most of a build is reading: the second half is where it writes
        came_to_the_end = _kill(_attest(folder, "build"), chance.uniform(0.3, 1.0) * longest)
        killed += not came_to_the_end
        found = _whole(folder / "own.duckdb", "main_attest")
        assert done + came_to_the_end <= found <= done + 1
        done = found
    assert killed, "no build was killed: the machine is too fast for this test"
    write(9)
    assert _finished(_attest(folder, "build"))[0] == 0
    assert _whole(folder / "own.duckdb", "main_attest") == done + 1


_SLOW_WRITER = """
import os, signal, sys, threading
import duckdb
from dbt_attest.cli.main import main
from dbt_attest.warehouse import {module} as module

real = module.{step}
def step(*arguments, **named):
    {before}
    result = real(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)
    return result
module.{step} = step
sys.argv = ["attest", "build"]
main()
"""


@pytest.mark.parametrize("before", ["pass", "os.kill(os.getpid(), signal.SIGKILL)"], ids=["after", "before"])
@pytest.mark.parametrize(("module", "step"), [("recording", "append_history"), ("writing", "record")])
def test_killed_at_each_step_of_writing(own, module, step, before):
    folder, write = own
    write(1)
    assert _finished(_attest(folder, "build"))[0] == 0
    write(2)
    code = _SLOW_WRITER.format(module=module, step=step, before=before)
    killed = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    committed = (step, before) == ("record", "pass")
    assert _whole(folder / "own.duckdb", "main_attest") == 1 + committed
    assert _finished(_attest(folder, "build"))[0] == 0
    assert _whole(folder / "own.duckdb", "main_attest") == 2


def test_two_builds_and_a_reader_at_once(world, make_project, make_manifest):
    """A stand-alone warehouse: the reader never waits, and sees nothing, one or both, each whole."""
    for day, target in ((1, "one"), (2, "two")):
        manifest = make_manifest(f"2025-03-{day:02}T09:00:00Z", _states(f"text of day {day}"))
        make_project(world.folder, manifest, target=target)
    builds = [_attest(world.folder, "build", "--target-dir", target) for target in ("one", "two")]
    seen = []
    while any(build.poll() is None for build in builds):
        begin = time.monotonic()
        seen.append(_whole(world.warehouse))
        assert time.monotonic() - begin < 5
        time.sleep(0.02)
    for build in builds:
        code, output, errors = _finished(build)
        assert code == 0, output + errors
    assert seen == sorted(seen)
    assert _whole(world.warehouse) == 2


def test_two_builds_and_a_reader_of_a_projects_own_file(own):
    """One file, one writer: whoever comes second waits, the reader asks through the command and waits too."""
    folder, write = own
    for day, target in ((1, "one"), (2, "two"), (3, "three")):
        write(day, target)
    assert _finished(_attest(folder, "build", "--target-dir", "three"))[0] == 0
    builds = [_attest(folder, "build", "--target-dir", target) for target in ("one", "two")]
    readers = [_attest(folder, "status", "--format", "json") for _ in range(2)]
    for reader in readers:
        _, output, errors = _finished(reader)
        assert json.loads(output)["projects"][0]["collections"] in (1, 2, 3), errors
    for build in builds:
        code, output, errors = _finished(build)
        assert code == 0, output + errors
    with duckdb.connect(str(folder / "own.duckdb"), read_only=True) as connection:
        assert connection.execute("select count(*) from main_attest.collections").fetchall() == [(3,)]


def _small_files(limit):
    def limited():
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return limited


@pytest.mark.parametrize("room", [0, 100_000, 400_000])
def test_a_full_disk_under_a_stand_alone_warehouse(world, make_project, make_manifest, room):
    """No file may grow beyond the limit: the copy, the rows on their way, or the warehouse."""
    world.collect("2025-03-01T09:00:00Z", _states("first"))
    make_project(world.folder, make_manifest("2025-03-02T09:00:00Z", _states("second")))
    before = world.warehouse.read_bytes()
    limit = len(before) - 1 if room == 0 else room
    code, output, errors = _finished(_attest(world.folder, "build", preexec_fn=_small_files(limit)))
    assert code == 3, output + errors
    assert len(errors.strip().splitlines()) == 1
    assert "Traceback" not in errors
    assert world.warehouse.read_bytes() == before
    assert list(world.folder.glob(".evidence.duckdb-*")) == []
    assert _finished(_attest(world.folder, "build"))[0] == 0
    assert _whole(world.warehouse) == 2


def test_a_full_disk_under_a_projects_own_file(own):
    folder, write = own
    write(1)
    assert _finished(_attest(folder, "build"))[0] == 0
    size = (folder / "own.duckdb").stat().st_size
    for day, room in enumerate((1, 50_000, 300_000), start=2):
        write(day)
        process = _attest(folder, "build", preexec_fn=_small_files(size + room))
        code, output, errors = _finished(process)
        assert "Traceback" not in errors
        assert code in (0, 3), output + errors
        if code:
            assert len(errors.strip().splitlines()) == 1
        _whole(folder / "own.duckdb", "main_attest")
    write(9)
    assert _finished(_attest(folder, "build"))[0] == 0
    _whole(folder / "own.duckdb", "main_attest")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of sixteen megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True, check=False
    ) if shutil.which("mount") else None  # fmt: skip
    if mount is None or mount.returncode:
        pytest.skip("no tmpfs can be mounted here; the file-size limit above stands for it")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_file_system(small_disk, make_project, make_manifest, empty_warehouse):
    shutil.copy(empty_warehouse, small_disk / "evidence.duckdb")
    before = (small_disk / "evidence.duckdb").read_bytes()
    make_project(small_disk, make_manifest("2025-03-01T09:00:00Z", _states("first")))
    filler = small_disk / "filler"
    free = shutil.disk_usage(small_disk).free
    filler.write_bytes(b"x" * max(free - len(before) // 2, 0))
    code, output, errors = _finished(_attest(small_disk, "build"))
    assert code == 3, output + errors
    assert "Traceback" not in errors
    assert (small_disk / "evidence.duckdb").read_bytes() == before
    filler.unlink()
    assert _whole(small_disk / "evidence.duckdb") == 0


def test_an_artifact_that_is_cut_off_is_refused_at_any_place(tmp_path, make_manifest):
    whole = json.dumps(make_manifest("2025-03-01T09:00:00Z", {"m": V1 | {"definition": '純額 \\ " text'}}))
    content = whole.encode()
    path = tmp_path / "manifest.json"
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(InputError) as refused:
            read_manifest(path)
        assert len(str(refused.value).splitlines()) == 1
    path.write_bytes(content)
    assert read_manifest(path).metrics


def test_a_build_of_an_artifact_that_is_cut_off_changes_nothing(
    world, make_project, make_manifest, attest_code
):
    world.collect("2025-03-01T09:00:00Z", _states("first"))
    make_project(world.folder, make_manifest("2025-03-02T09:00:00Z", _states("second")))
    path = world.folder / "target" / "manifest.json"
    content, before = path.read_bytes(), world.warehouse.read_bytes()
    chance = random.Random(5)
    for end in [0, 1, len(content) - 1, *(chance.randrange(len(content)) for _ in range(20))]:
        path.write_bytes(content[:end])
        code, errors = attest_code(world.folder, "build")
        assert code == 2
        assert len(errors.strip().splitlines()) == 1
        assert "manifest.json" in errors
    assert world.warehouse.read_bytes() == before


@pytest.fixture
def attest_code(monkeypatch, capsys):
    """Run `attest` in this process: exit code and errors."""
    from dbt_attest.cli.main import main

    def run(folder, *words):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["attest", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr().err

    return run


@pytest.mark.parametrize("keep", [0, 100, 4096, 12_288, 0.5, 0.9])
def test_a_warehouse_that_is_cut_off_is_refused_and_left_alone(world, attest_code, keep):
    world.collect("2025-03-01T09:00:00Z", _states("first"))
    content = world.warehouse.read_bytes()
    damaged = content[: int(keep * len(content)) if isinstance(keep, float) else keep]
    world.warehouse.write_bytes(damaged)
    for words in (("build",), ("status",), ("resolve", "metric.m1")):
        code, errors = attest_code(world.folder, *words)
        assert code == 3, words
        assert str(world.warehouse) in errors
        assert len(errors.strip().splitlines()) == 1
        assert world.warehouse.read_bytes() == damaged


def test_a_damaged_block_inside_is_told_in_a_sentence(world, attest_code):
    world.collect("2025-03-01T09:00:00Z", _states("first"))
    content = bytearray(world.warehouse.read_bytes())
    for place in range(16_384, len(content), 4096):
        content[place : place + 64] = b"\xff" * 64
    world.warehouse.write_bytes(content)
    for words in (("build",), ("status",), ("resolve", "metric.m1")):
        code, errors = attest_code(world.folder, *words)
        assert code == 3, words
        assert "Traceback" not in errors
        assert str(world.warehouse) in errors
