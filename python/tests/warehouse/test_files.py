"""One file and several processes: nobody sees half of anything, and whoever waits is told for whom."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

ATTEST = Path(sys.executable).with_name("attest")
V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first"}  # fmt: skip
JANUARY, FEBRUARY = "2025-01-10T09:00:00Z", "2025-02-10T09:00:00Z"


def _attest(folder, *words):
    return subprocess.Popen(
        [ATTEST, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _finished(process):
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


@pytest.fixture
def own(tmp_path, make_project, make_manifest):
    """A project with its own DuckDB file and two target folders."""
    duckdb.connect(str(tmp_path / "own.duckdb")).close()
    for target, at in (("one", JANUARY), ("two", FEBRUARY)):
        make_project(
            tmp_path, make_manifest(at, {"v1": V1}, own_file="own.duckdb"), "warehouse: own.duckdb\n", target
        )
    return tmp_path


@pytest.fixture
def holder(own):
    """Another process that reads the project's own file for three seconds."""
    with duckdb.connect(str(own / "own.duckdb")):
        pass
    code = (
        "import duckdb, time; held = duckdb.connect('own.duckdb', read_only=True); "
        "print('held', flush=True); time.sleep(3)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=own, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_two_builds_at_once_into_a_stand_alone_warehouse(world, make_project, make_manifest):
    make_project(world.folder, make_manifest(JANUARY, {"v1": V1}), target="one")
    make_project(world.folder, make_manifest(FEBRUARY, {"v1": V1}), target="two")
    before = world.rows()["collections"]
    both = [_attest(world.folder, "build", "--target-dir", target) for target in ("one", "two")]
    for process in both:
        code, output, errors = _finished(process)
        assert code == 0, output + errors
    assert world.rows()["collections"] == before + 2


def test_two_builds_at_once_into_a_projects_own_file(own, count_rows):
    both = [_attest(own, "build", "--target-dir", target) for target in ("one", "two")]
    for process in both:
        code, output, errors = _finished(process)
        assert code == 0, output + errors
    assert count_rows(own / "own.duckdb", "main_attest")["collections"] == 2


@pytest.mark.usefixtures("holder")
def test_a_build_waits_for_a_reader_of_the_projects_own_file(own, count_rows):
    code, output, errors = _finished(_attest(own, "build", "--target-dir", "one", "--wait", "60"))
    assert code == 0, output + errors
    assert count_rows(own / "own.duckdb", "main_attest")["collections"] == 1


def test_a_build_that_waited_in_vain_names_the_holder(own, holder):
    code, _, errors = _finished(_attest(own, "build", "--target-dir", "one", "--wait", "0.2"))
    assert code == 3
    assert f"(process {holder.pid}) holds the file" in errors
    assert str(own / "own.duckdb") in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_build_that_waits_for_a_build_in_vain_says_so(world, make_project, make_manifest):
    import fcntl

    make_project(world.folder, make_manifest(JANUARY, {"v1": V1}))
    before = world.rows()
    with (world.folder / ".evidence.duckdb.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, _, errors = _finished(_attest(world.folder, "build", "--wait", "0.2"))
    assert code == 3
    assert "another `attest build` writes it" in errors
    assert world.rows() == before


def test_a_reader_of_a_stand_alone_warehouse_goes_on_while_it_is_replaced(world):
    world.collect(JANUARY, {"v1": V1})
    with duckdb.connect(str(world.warehouse), read_only=True) as reader:
        count = "select count(*) from attest.collections where environment = 'prod'"
        assert reader.execute(count).fetchall() == [(1,)]
        world.collect(FEBRUARY, {"v1": V1 | {"definition": "changed"}})
        assert reader.execute(count).fetchall() == [(1,)]
        assert reader.execute("select definition from attest.recorded_assertions").fetchall() == [("first",)]
    assert world.rows()["collections"] == 3


def test_a_killed_build_leaves_whole_collections_only(world, make_project, make_manifest):
    many = {
        f"m{number}": V1 | {"evidence_id": f"m{number}", "entity_id": f"metric.m{number}"}
        for number in range(300)
    }
    clock = random.Random(7)
    for day in range(1, 7):
        changed = {name: said | {"definition": f"text of day {day}"} for name, said in many.items()}
        make_project(world.folder, make_manifest(f"2025-03-{day:02}T09:00:00Z", changed))
        process = _attest(world.folder, "build")
        time.sleep(clock.uniform(0.2, 1.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with duckdb.connect(str(world.warehouse), read_only=True) as connection:
            torn = connection.execute(
                "select collection_id from attest.assertions group by collection_id having count(*) <> 300 "
                "or collection_id not in (select collection_id from attest.collections)"
            ).fetchall()
        assert torn == []
    code, output, errors = _finished(_attest(world.folder, "build"))
    assert code == 0, output + errors
    assert sorted(path.name for path in world.folder.glob(".evidence*")) == [".evidence.duckdb.lock"]


def test_the_file_keeps_its_mode_and_a_link_stays_a_link(world, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    world.warehouse.rename(elsewhere / "real.duckdb")
    (elsewhere / "real.duckdb").chmod(0o640)
    world.warehouse.symlink_to(elsewhere / "real.duckdb")
    world.collect(JANUARY, {"v1": V1})
    assert world.warehouse.is_symlink()
    assert (elsewhere / "real.duckdb").stat().st_mode & 0o777 == 0o640
    assert world.rows()["collections"] == 2


def test_what_another_process_left_in_the_wal_is_kept(world):
    """A process that died after writing leaves its last transaction in a file of its own."""
    code = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); "
        "c.execute(\"set checkpoint_threshold = '1TB'\"); "
        "c.execute('create table attest.mine as select 1 as one'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(world.warehouse)], check=False)
    assert Path(f"{world.warehouse}.wal").exists()
    world.collect(JANUARY, {"v1": V1})
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        assert connection.execute("from attest.mine").fetchall() == [(1,)]
    assert not Path(f"{world.warehouse}.wal").exists()
