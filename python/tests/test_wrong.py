"""The project that is wrong on purpose: every planted gap is found, in SQL and by the command, and nothing else.

It lies in a repository whose pull request plants what needs history, so that the workflow and the hook of
docs/pull-requests.md run here as they are written.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dbt_attest.resolution.gaps import KINDS
from dbt_attest.warehouse.rendering import renderer

ROOT = Path(__file__).resolve().parents[2]
WRONG = ROOT / "integration_tests" / "wrong"


def sh(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script as the runner of a workflow does, free of the caller's settings."""
    ours = ("DBT_", "ATTEST_", "GIT", "CI")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environ |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"}
    environ |= {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "GIT_CONFIG_GLOBAL": os.devnull}
    for who in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{who}_NAME": "somebody", f"GIT_{who}_EMAIL": "somebody@example.com"}
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def done(folder: Path, script: str, **environment: str) -> str:
    ran = sh(folder, script, **environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def workflow() -> list[str]:
    """The scripts of the workflow's steps."""
    page = (ROOT / "docs" / "pull-requests.md").read_text(encoding="utf-8")
    jobs = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])["jobs"]
    return [step["run"] for step in jobs["check"]["steps"] if "run" in step]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pull request, checked out, parsed as the workflow does beside what it is to be merged into."""
    origin = tmp_path_factory.mktemp("github") / "origin"
    shutil.copytree(
        WRONG, origin, ignore=shutil.ignore_patterns("dbt_packages", "target", "logs", "*.duckdb*")
    )
    # what `dbt deps` does for a local package
    (origin / "dbt_packages").mkdir()
    (origin / "dbt_packages" / "attest").symlink_to(ROOT)
    shutil.copytree(origin / "before" / "models", origin / "models", dirs_exist_ok=True)
    done(origin, "git init -q -b main && git add . && git add -f dbt_packages && git commit -qm before")
    shutil.rmtree(origin / "models")
    shutil.copytree(WRONG / "models", origin / "models")
    done(origin, "git checkout -qb now && git add . && git commit -qm now && git checkout -q main")
    done(origin.parent, "git clone -q origin work && cd work && git checkout -q now")
    work = origin.parent / "work"
    install, parse, _ = workflow()
    assert install == "pip install dbt-attest"
    done(work, parse, GITHUB_BASE_REF="main")
    return work


@pytest.fixture(scope="module")
def built(wrong: Path) -> str:
    """Both states recorded in the project's own warehouse, and its views built and tested; what dbt said."""
    done(wrong, "attest build --target-dir ../base/target && attest build")
    return done(wrong, "dbt build")


def planted() -> set[tuple[str, ...]]:
    with (WRONG / "seeds" / "expected_gaps.csv").open(encoding="utf-8", newline="") as file:
        return {tuple(row.values()) for row in csv.DictReader(file)}


def test_every_kind_is_planted():
    assert {row[0] for row in planted()} == set(KINDS)


def test_a_target_folder_alone_has_what_needs_no_history(wrong):
    ran = sh(wrong, "attest check --target-dir target --format json")
    assert ran.returncode == 1
    found = {(gap["kind"], gap["evidence_id"] or "") for gap in json.loads(ran.stdout)["gaps"]}
    assert {(row[0], row[3]) for row in planted()} - found == {
        ("history_rewritten", "REVENUE"),
        ("logic_changed", "VISITS"),
        ("relation_broken", "GHOST"),
    }


def test_the_workflow_tells_only_what_the_pull_request_breaks(wrong):
    summary = wrong.parent / "summary.md"
    ran = sh(wrong, workflow()[-1], GITHUB_STEP_SUMMARY=str(summary), GITHUB_WORKSPACE=str(wrong))
    assert ran.returncode == 1, ran.stderr
    said = [re.match(r"::(\w+) .*title=attest (\w+)::([\w.]+)", line) for line in ran.stdout.splitlines()]
    assert [one.groups() for one in said if one] == [
        ("error", "history_rewritten", "REVENUE"),
        ("warning", "logic_changed", "VISITS"),
        ("warning", "relation_broken", "GHOST"),
        ("warning", "attribute_missing", "ORDERS"),
        ("warning", "attribute_missing", "model.wrong.customers"),
    ]
    rewritten = ran.stdout.splitlines()[0]
    assert rewritten.startswith("::error file=models/_models.yml,line=40,")
    assert "reaches 2024-01 to " in rewritten
    assert "shown by exposure.wrong.board_report" in rewritten
    assert "write a new version" in rewritten
    assert summary.read_text(encoding="utf-8").startswith("### attest check: 1 error, 4 warnings; ")


def test_the_hook_stops_the_commit(wrong):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    # pre-commit splits the entry as a shell would, and adds the args
    ran = sh(wrong, shlex.join([*shlex.split(hook["entry"]), "--against", "../base/target/manifest.json"]))
    assert (ran.returncode, "history_rewritten  REVENUE" in ran.stdout) == (1, True), ran.stderr


def test_sql_finds_every_planted_gap_and_no_other_and_each_kind_warns(built):
    assert "PASS every_planted_gap_is_found" in built, built
    assert f"WARN={len(KINDS) - 1} ERROR=0" in built, built  # stale_collection is a notice there


@pytest.mark.usefixtures("built")
def test_rendering_without_dbt_gives_what_dbt_compiles(wrong):
    render = renderer("main_attest", "prod")
    compiled = wrong / "target" / "compiled" / "attest" / "models"
    models = sorted(compiled.glob("*/*.sql"))
    assert len(models) > len(KINDS) + 6
    for path in models:
        # a function is created with the name of its database
        named = path.read_text(encoding="utf-8").replace('"wrong"."main_attest"', "main_attest")
        assert words(render(path.stem)) == words(named), path.stem


def words(sql: str) -> list[str]:
    return sql.replace('"', "").split()
