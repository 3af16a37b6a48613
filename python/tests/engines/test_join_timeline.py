"""attest.join_timeline on PostgreSQL and on Spark, over the file that `attest export` wrote, against the resolvers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dbt_attest.warehouse.contract import dbt_package_dir
from dbt_attest.warehouse.rendering import macro_sql

from .conftest import Facts, Postgres

pytestmark = pytest.mark.engines

DOCS = (dbt_package_dir() / "docs" / "in-your-models.md").read_text(encoding="utf-8")
(PROPERTIES,) = re.findall(r"```yaml\n(seeds:.*?)```", DOCS, re.DOTALL)
JOINED = "attest.join_timeline({facts}, {timeline}, 'happened_on', entity_column='entity_id', prefix='its_')"


def test_postgresql_with_the_package_installed(postgres: Postgres, facts: Facts, tmp_path: Path) -> None:
    """`dbt deps`, `dbt build` of a project whose target is PostgreSQL: seeds, a view and a test on it."""
    package = tmp_path / "attest"
    for part in ("macros", "models"):
        shutil.copytree(dbt_package_dir() / part, package / part)
    shutil.copy(dbt_package_dir() / "dbt_project.yml", package)
    target = {
        "type": "postgres", "host": "127.0.0.1", "port": postgres.port, "user": "attest", "password": "",
        "dbname": "postgres", "schema": "shop", "threads": 1,
    }  # fmt: skip
    joined = JOINED.format(facts="ref('facts')", timeline="ref('attest_timeline')")
    project = tmp_path / "shop"
    for path, text in {
        "dbt_project.yml": "name: shop\nversion: 1.0.0\nprofile: shop\n",
        "packages.yml": json.dumps({"packages": [{"local": str(package)}]}),
        "profiles.yml": json.dumps({"shop": {"target": "dev", "outputs": {"dev": target}}}),
        "seeds/attest_timeline.csv": facts.timeline.read_text(encoding="utf-8"),
        "seeds/facts.csv": facts.facts.read_text(encoding="utf-8"),
        "seeds/properties.yml": f"version: 2\n{PROPERTIES}",
        "models/defined.sql": f"select * from {{{{ {joined} }}}} as defined",
        "models/defined.yml": "models:\n  - {name: defined, columns: [{name: its_outcome, data_tests: [not_null]}]}",
    }.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, encoding="utf-8")
    environ = {key: value for key, value in os.environ.items() if not key.startswith("DBT_")}
    for words in (["deps"], ["build"]):
        ran = subprocess.run(
            [Path(sys.executable).with_name("dbt"), "--no-use-colors", *words],
            cwd=project,
            env=environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout
    with postgres.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "select fact, its_outcome, its_reason, its_evidence_id from shop.defined order by fact"
        )
        assert cursor.fetchall() == facts.expected
        cursor.execute(
            "select its_version, its_valid_from::text, its_valid_to::text, length(its_content_hash) "
            "from shop.defined where entity_id = 'metric.a' and happened_on = '2024-07-01'"
        )
        # the stretch ends where its rival begins
        assert cursor.fetchall() == [("1.10", "2024-07-01", "2025-01-01", 64)] * 2


SPARK = """
import json, sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
timeline, facts, sql = sys.argv[1:]
text = "entity_id string, valid_from date, valid_to date, outcome string, reason string, evidence_id string, "
text += "version string, content_hash string"
read = spark.read.option("header", True).option("escape", '"')
read.schema(text).csv(timeline).createOrReplaceTempView("attest_timeline")
read.schema("fact int, entity_id string, happened_on date").csv(facts).createOrReplaceTempView("facts")
print(json.dumps([list(row) for row in spark.sql(sql).collect()]))
"""


@pytest.fixture(scope="session")
def spark_python() -> str:
    """A Python with PySpark."""
    python = os.environ.get("SPARK_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import pyspark"], capture_output=True, check=False).returncode != 0:
        pytest.fail(
            f"expected PySpark for {Path(python).name}, found none; install pyspark, which needs Java 17, or "
            "name a Python that has it: make check-engines SPARK_PYTHON=...",
            pytrace=False,
        )
    return python


def test_spark(spark_python: str, facts: Facts, tmp_path: Path) -> None:
    """The compiled SQL in a Spark session on this machine."""
    asked = ("facts", "attest_timeline", "happened_on")
    joined = macro_sql("join_timeline", "attest", "prod", *asked, entity_column="entity_id", prefix="its_")
    columns = "fact, its_outcome, its_reason, its_evidence_id"
    sql = f"select {columns} from {joined} as defined order by fact"
    ran = subprocess.run(
        [spark_python, "-c", SPARK, facts.timeline, facts.facts, sql],
        cwd=tmp_path,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = [tuple(row) for row in json.loads(ran.stdout.splitlines()[-1])]
    assert found == facts.expected
