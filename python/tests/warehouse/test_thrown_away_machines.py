"""CI machines that are thrown away: what docs/operations.md says to fetch and put back, by cp and tar."""

from __future__ import annotations

import os
import shutil
import subprocess

import duckdb
import pytest

from dbt_attest.warehouse.building import build, build_past

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01"}  # fmt: skip
MONTHS = [f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3)]
ATTEST_YML = "archive: .attest/artifacts\nrules: [{path: 'models/**', owner: finance}]\n"
HISTORY = (
    "select evidence_id, definition, known_from, known_until, owners from attest.recorded_assertions "
    "where environment = 'prod' order by all"
)


@pytest.fixture
def machine(tmp_path, make_project, make_manifest):
    """Makes a fresh machine with a checkout of a month, whose files are as new as the checkout."""
    made = []

    def fresh(month, **changes):
        made.append(tmp_path / f"machine {len(made)}" / "shop")
        manifest = make_manifest(MONTHS[month], {"v1": V1 | {"definition": f"of month {month}"} | changes})
        folder = make_project(made[-1], manifest, ATTEST_YML)
        os.utime(folder / "attest.yml", (1_600_000_000 + len(made),) * 2)
        return folder

    return fresh


@pytest.fixture
def bucket(tmp_path, empty_warehouse):
    """What outlives the machines; the warehouse in it is as an earlier build left it."""
    folder = tmp_path / "bucket"
    folder.mkdir()
    shutil.copyfile(empty_warehouse, folder / "evidence.duckdb")
    return folder


def _run(*words):
    subprocess.run([*map(str, words)], check=True)


def _rows(warehouse, sql=HISTORY):
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def _collections(warehouse):
    return _rows(warehouse, "select generated_at from attest.collections where environment = 'prod'")


def _fetched_built_put_back(machine, bucket, month):
    folder = machine(month)
    _run("cp", bucket / "evidence.duckdb", folder)
    build(folder)
    _run("cp", folder / "evidence.duckdb", bucket)
    # `aws s3 sync` up: adds what is new, removes nothing
    _run("cp", "-R", folder / ".attest" / "artifacts", bucket)
    return folder


def test_a_bucket_with_the_warehouse_and_the_archive(machine, bucket):
    for month in range(3):
        _fetched_built_put_back(machine, bucket, month)
    history = _rows(bucket / "evidence.duckdb")
    assert [row[1] for row in history] == ["of month 0", "of month 1", "of month 2"]
    assert len(_collections(bucket / "evidence.duckdb")) == 3
    # the warehouse is lost: the archive alone, in files as new as the download, gives it again
    for file in bucket.rglob("artifacts/**/*"):
        os.utime(file)
    folder = machine(2)
    shutil.copyfile(folder.parents[1] / "bucket" / "evidence.duckdb", folder / "lost.duckdb")
    _run("cp", "-R", bucket / "artifacts", folder / ".attest-download")
    done = build_past(folder, [folder / ".attest-download"], warehouse=folder / "again.duckdb")[1]
    assert (done.recorded, done.skipped) == (3, [])
    assert _rows(folder / "again.duckdb") == history


def test_a_cache_of_the_ci_with_both(machine, bucket):
    """Restored before and saved after each build; the second build of the same files adds nothing."""
    cache = bucket / "cache.tar"
    _run("tar", "-cf", cache, "-C", bucket, "evidence.duckdb")
    for month in (0, 1, 1):
        folder = machine(month)
        _run("tar", "-xf", cache, "-C", folder)
        recorded = build(folder).recorded
        _run("tar", "-cf", cache, "-C", folder, "evidence.duckdb", ".attest")
    assert recorded.collection_id is None
    assert [row[1] for row in _rows(folder / "evidence.duckdb")] == ["of month 0", "of month 1"]
    assert len(list((folder / ".attest" / "artifacts" / "collections").iterdir())) == 2


def test_two_machines_with_a_copy_each_lose_nothing_that_they_archived(machine, bucket):
    first, second = machine(0), machine(1)
    for folder in (first, second):
        _run("cp", bucket / "evidence.duckdb", folder)
        build(folder)
        _run("cp", "-R", folder / ".attest" / "artifacts", bucket)
    for folder in (first, second):  # the last one wins
        _run("cp", folder / "evidence.duckdb", bucket)
    assert len(_collections(bucket / "evidence.duckdb")) == 1
    third = machine(2)
    _run("cp", bucket / "evidence.duckdb", third)
    done = build_past(third, [bucket / "artifacts"])[1]
    assert (done.recorded, done.unchanged) == (1, 1)
    build(third)
    assert [row[1] for row in _rows(third / "evidence.duckdb")] == ["of month 0", "of month 1", "of month 2"]


def test_what_a_build_held_is_put_back_and_known_on_the_next_machine(
    machine, bucket, make_manifest, make_project
):
    many = {f"m{n}": V1 | {"entity_id": f"metric.m{n}", "evidence_id": f"m{n}"} for n in range(6)}
    for month, stated in enumerate((many, {}, {})):
        folder = machine(month)
        make_project(folder, make_manifest(MONTHS[month], stated))
        _run("cp", bucket / "evidence.duckdb", folder)
        assert build(folder).recorded.held == (6 if month else 0)
        _run("cp", folder / "evidence.duckdb", bucket)
    assert len(_collections(bucket / "evidence.duckdb")) == 3
