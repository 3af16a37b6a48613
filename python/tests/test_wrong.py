"""The project that is wrong on purpose: every planted gap is found, in SQL and by the command, and nothing else."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dbt_attest.resolution.gaps import KINDS
from dbt_attest.warehouse.rendering import renderer

WRONG = Path(__file__).resolve().parents[2] / "integration_tests" / "wrong"
BIN = Path(sys.executable).parent


def run(folder: Path, *words: str) -> str:
    """Run a command that stands beside this Python, free of the caller's dbt settings."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "ATTEST_"))}
    ran = subprocess.run(
        [str(BIN / words[0]), *words[1:]],
        cwd=folder,
        env=environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, collected as it stood before and as it stands, with its gap models built."""
    folder = tmp_path_factory.mktemp("wrong") / "wrong"
    shutil.copytree(
        WRONG, folder, ignore=shutil.ignore_patterns("dbt_packages", "target", "logs", "*.duckdb*")
    )
    # what `dbt deps` does for a local package
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages" / "attest").symlink_to(WRONG.parents[1])
    shutil.copytree(folder / "before" / "models", folder / "models", dirs_exist_ok=True)
    run(folder, "dbt", "--quiet", "parse")
    run(folder, "attest", "build")
    shutil.copy(folder / "target" / "manifest.json", folder / "before" / "manifest.json")
    shutil.rmtree(folder / "models")
    shutil.copytree(WRONG / "models", folder / "models")
    run(folder, "dbt", "--quiet", "parse")
    run(folder, "attest", "build")
    # the evidence is there, so that one build makes the views and tests them
    (folder / "built").write_text(run(folder, "dbt", "build"), encoding="utf-8")
    return folder


def planted() -> set[tuple[str, ...]]:
    with (WRONG / "seeds" / "expected_gaps.csv").open(encoding="utf-8", newline="") as file:
        return {tuple(row.values()) for row in csv.DictReader(file)}


def test_every_kind_is_planted():
    assert {row[0] for row in planted()} == set(KINDS)


def test_sql_finds_every_planted_gap_and_no_other_and_each_kind_warns(wrong):
    said = (wrong / "built").read_text(encoding="utf-8")
    assert "PASS every_planted_gap_is_found" in said, said
    assert f"WARN={len(KINDS) - 1} ERROR=0" in said, said  # stale_collection is a notice there


def test_rendering_without_dbt_gives_what_dbt_compiles(wrong):
    render = renderer("main_attest", "prod")
    compiled = wrong / "target" / "compiled" / "attest" / "models"
    for model in (*KINDS, "gaps", "readiness", "recorded_assertions", "definition_timeline"):
        (path,) = compiled.glob(f"*/{model}.sql")
        assert words(render(model)) == words(path.read_text(encoding="utf-8")), model
    (path,) = compiled.glob("*/attribute_on.sql")
    assert words(path.read_text(encoding="utf-8").rstrip(";\n")).endswith(words(render("attribute_on"))[1:])


def words(sql: str) -> list[str]:
    return re.sub(r'"', "", sql).split()


def test_a_target_folder_alone_has_what_needs_no_history(wrong):
    found = check(wrong, "--target-dir", "target")
    of_history = {
        ("history_rewritten", "REVENUE"), ("logic_changed", "VISITS"), ("relation_broken", "GHOST"),
    }  # fmt: skip
    assert {(row[0], row[3]) for row in planted()} - {
        (gap["kind"], gap["evidence_id"] or "") for gap in found
    } == of_history


def test_against_an_earlier_manifest_only_what_the_change_broke(wrong):
    found = check(wrong, "--against", "before/manifest.json")
    assert [(gap["kind"], gap["evidence_id"]) for gap in found] == [
        ("history_rewritten", "REVENUE"),
        ("logic_changed", "VISITS"),
        ("relation_broken", "GHOST"),
        ("attribute_missing", "ORDERS"),
        ("attribute_missing", "model.wrong.customers"),
    ]
    rewritten = found[0]
    assert rewritten["found"].endswith("; shown by exposure.wrong.board_report")
    assert "write a new version" in rewritten["repair"]


def check(folder: Path, *words: str) -> list[dict[str, str]]:
    ran = subprocess.run(
        [str(BIN / "attest"), "check", "--format", "json", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr
    return json.loads(ran.stdout)["gaps"]
