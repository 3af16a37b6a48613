"""A newcomer's first minutes: the least annotation on a metric, and the command as it is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

PROJECT = {
    "dbt_project.yml": "name: shop\nversion: 1.0.0\nprofile: shop\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}\n",
    "models/fct_revenue_v1.sql": "select 1 as order_id, date '2025-03-31' as completed_at, 10 as amount\n",
    "models/fct_revenue_v2.sql": "select 1 as order_id, date '2025-03-31' as completed_at, 9 as amount\n",
    "models/days.sql": "select cast(day as date) as day from range(date '2025-01-01', date '2026-01-01', "
    "interval 1 day) as days(day)\n",
    "models/models.yml": """
models:
  - name: fct_revenue
    latest_version: 2
    versions: [{v: 1}, {v: 2}]
  - name: days
    time_spine: {standard_granularity_column: day}
    columns: [{name: day, granularity: day}]
semantic_models:
  - name: revenue_model
    model: ref('fct_revenue', v=2)
    defaults: {agg_time_dimension: completed_at}
    entities: [{name: order, type: primary, expr: order_id}]
    dimensions: [{name: completed_at, type: time, type_params: {time_granularity: day}}]
    measures: [{name: amount, agg: sum}]
""",
    # the least annotation of DESIGN, ten lines on a metric that was there before
    "models/metrics.yml": """
metrics:
  - name: revenue
    label: Revenue
    type: simple
    type_params: {measure: amount}
    config:
      meta:
        attest:
          authority: authoritative
          permissions: [everyone]
          versions:
            - {version: 1, effective_from: 2024-01-01, models: fct_revenue.v1, definition: Net of tax and discounts}
            - {version: 2, effective_from: 2025-07-01, models: fct_revenue.v2, definition: Also net of refunds}
""",
}


def run(folder: Path, *words: str, path: Path = BIN) -> str:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "ATTEST_"))}
    ran = subprocess.run(
        [str(path / words[0]), *words[1:]],
        cwd=folder,
        env=environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an annotated metric, what `attest init` wrote, and nothing else."""
    folder = tmp_path_factory.mktemp("newcomer")
    (folder / "models").mkdir()
    for name, text in PROJECT.items():
        (folder / name).write_text(text, encoding="utf-8")
    run(folder, "attest", "init", "--permissions", "everyone")
    run(folder, "dbt", "--quiet", "deps")
    run(folder, "dbt", "--quiet", "build")
    return folder


@pytest.mark.parametrize(
    "warehouse", [[], ["--warehouse", "alone.duckdb"]], ids=["in the project", "stand-alone"]
)
def test_the_least_annotation_governs_both_periods(project, warehouse):
    said = run(project, "attest", "build", *warehouse)
    assert "2 governed" in said
    for day, version in (("2025-03-31", "1"), ("2025-08-01", "2")):
        found = json.loads(
            run(project, "attest", "resolve", "revenue", "--on", day, *warehouse, "--format", "json")
        )
        assert (found["outcome"], found["version"]) == ("answer", version)
        assert found["models"] == [f"model.shop.fct_revenue.v{version}"]
    assert (
        run(project, "attest", "resolve", "Revenue", "--during", "2025", *warehouse).count("revenue.v") == 2
    )


def test_what_init_wrote_is_all_there_is(project):
    assert (project / "attest.yml").exists()
    assert (project / "packages.yml").read_text(encoding="utf-8").count("local:") == 1


def test_the_readme_does_what_it_says(tmp_path):
    """Its annotation, its model and its SQL and Python, word for word, in the same small project."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    annotated, asked, joined, python = (
        re.search(rf"```{language}\n({start}.*?)```", readme, re.DOTALL)[1]
        for language, start in (
            ("yaml", "metrics:"), ("sql", "-- exactly one row"), ("sql", "-- each order"), ("python", "from datetime"),
        )
    )  # fmt: skip
    there_already = "    label: Revenue\n    type: simple\n    type_params: {measure: amount}\n"
    (tmp_path / "models").mkdir()
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    metrics = annotated.replace("    # … what is there already …\n", there_already)
    (tmp_path / "models" / "metrics.yml").write_text(metrics, encoding="utf-8")
    (tmp_path / "models" / "orders.sql").write_text(
        "select * from {{ ref('fct_revenue', v=2) }}", encoding="utf-8"
    )
    (tmp_path / "models" / "joined.sql").write_text(joined, encoding="utf-8")
    run(tmp_path, "attest", "init", "--permissions", "everyone")
    for words in (("dbt", "--quiet", "deps"), ("dbt", "--quiet", "build"), ("attest", "build")):
        run(tmp_path, *words)
    assert "metric.revenue.v1" in run(tmp_path, "attest", "resolve", "revenue", "--on", "2025-03-31")
    with duckdb.connect(str(tmp_path / "shop.duckdb"), read_only=True) as connection:
        one_day, then, segments = (
            connection.execute(sql).fetchall() for sql in asked.strip().rstrip(";").split(";")
        )
        assert [row[:4] for row in one_day] == [("metric.revenue", "answer", "in_force", "metric.revenue.v1")]
        assert [row[2] for row in then] == ["not_recorded_yet"]
        assert len(segments) == 2
        assert connection.execute("select revenue_evidence_id from joined").fetchall() == [
            ("metric.revenue.v1",)
        ]
    printed = run(tmp_path, "python", "-c", python.replace("evidence.duckdb", "shop.duckdb"))
    assert printed == "answer in_force metric.revenue.v1\n"


def test_the_wheel_carries_the_dbt_package_and_the_schemas(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    installed = tmp_path / "installed" / "dbt_attest"
    schemas = {path.name for path in (installed / "annotations").glob("*.json")}
    assert schemas == {"annotation.schema.json", "attest_yml.schema.json", "property_file.schema.json"}
    in_wheel = {
        path.relative_to(installed / "dbt_package").as_posix()
        for path in (installed / "dbt_package").rglob("*")
        if path.is_file()
    }
    in_checkout = {"dbt_project.yml"} | {
        path.relative_to(ROOT).as_posix()
        for part in ("macros", "models")
        for path in (ROOT / part).rglob("*")
        if path.is_file()
    }
    assert in_wheel == in_checkout
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "from dbt_attest.warehouse.contract import *; print(dbt_package_dir(), len(evidence_tables()))",
        ],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert found.startswith(str(installed / "dbt_package"))
