"""The workflow and the hook of docs/pull-requests.md, run as they are written, on a repository with a pull request."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MODELS = """
models:
  - name: revenue
    config:
      meta:
        attest:
          evidence_id: REVENUE
          authority: authoritative
          approved_by: Council
          effective_from: 2024-01-01
          owner: Finance
          grain: one row a day
          permissions: [everyone]
          definition: Net of tax.
"""
FILES = {
    "dbt_project.yml": "name: shop\nprofile: shop\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}\n",
    ".gitignore": "target/\nlogs/\n.user.yml\n",
    "models/revenue.sql": "select 1 as amount\n",
    "models/models.yml": MODELS,
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A branch that edits a definition in force, checked out beside the main branch of its origin."""
    origin = tmp_path_factory.mktemp("github") / "origin"
    for name, content in FILES.items():
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        (origin / name).write_text(content, encoding="utf-8")
    sh(origin, "git init -q -b main && git add . && git commit -qm one")
    sh(origin, "git checkout -qb edit && sed -i.bak 's/Net of tax/Net of tax and refunds/' models/models.yml")
    sh(origin, "rm models/*.bak && git commit -qam two && git checkout -q main")
    sh(origin.parent, f"git clone -q {origin} work && cd work && git checkout -q edit")
    return origin.parent / "work"


def sh(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script as the runner of a workflow does, free of the caller's dbt settings."""
    environ = {
        key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "ATTEST_", "GIT"))
    }
    environ |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"}
    environ |= {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "GIT_CONFIG_GLOBAL": os.devnull}
    for who in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{who}_NAME": "somebody", f"GIT_{who}_EMAIL": "somebody@example.com"}
    ran = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if not environment:
        assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


def test_the_workflow_and_then_the_hook(checkout):
    page = (ROOT / "docs" / "pull-requests.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    steps = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    assert steps.pop(0).startswith("pip install dbt-attest")
    summary = checkout.parent / "summary.md"
    given = {
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(checkout),
    }
    parse, check = steps
    assert sh(checkout, parse, **given).returncode == 0
    ran = sh(checkout, check, **given)
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith("::error file=models/models.yml,line=7,title=attest history_rewritten::")
    assert summary.read_text(encoding="utf-8").startswith("### attest check: 1 error")

    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    # pre-commit splits the entry as a shell would, and adds the args
    words = shlex.split(hook["entry"])
    compared = sh(checkout, shlex.join([*words, "--against", "../base/target/manifest.json"]), CI="true")
    assert (compared.returncode, "history_rewritten" in compared.stdout) == (1, True)
