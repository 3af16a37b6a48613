"""Running the bundled dbt package, to build the resolvers in a stand-alone warehouse."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_attest.errors import WarehouseError
from dbt_attest.warehouse.contract import dbt_package_dir, quoted

if TYPE_CHECKING:
    import duckdb

_MARKED = "definition_timeline"


@cache
def _package_hash() -> str:
    package = dbt_package_dir()
    digest = hashlib.sha256()
    for path in sorted(
        [package / "dbt_project.yml", *package.glob("macros/**/*.sql"), *package.glob("models/**/*")]
    ):
        if path.is_file():
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _mark(environment: str) -> str:
    return f"dbt-attest resolvers {_package_hash()} for {environment}"


def resolvers_present(connection: duckdb.DuckDBPyConnection, schema: str) -> bool:
    """Whether there are resolvers in `schema`, of whatever release."""
    found = connection.execute(
        "select exists (from duckdb_views() where schema_name = $schema and view_name = $view) "
        "and exists (from duckdb_functions() "
        "where schema_name = $schema and function_name = 'definition_between')",
        {"schema": schema, "view": _MARKED},
    ).fetchone()
    return found == (True,)


def are_built(connection: duckdb.DuckDBPyConnection, schema: str, environment: str) -> bool:
    """Whether the resolvers in `schema` are those of this release, with this default environment."""
    row = connection.execute(
        "select comment from duckdb_views() where schema_name = $schema and view_name = $view",
        {"schema": schema, "view": _MARKED},
    ).fetchone()
    return row is not None and row[0] == _mark(environment)


def mark_built(connection: duckdb.DuckDBPyConnection, schema: str, environment: str) -> None:
    """Remember in the file which resolvers it has."""
    mark = _mark(environment).replace("'", "''")
    connection.execute(f"comment on view {quoted(schema)}.{_MARKED} is '{mark}'")


def build_resolvers(path: Path, schema: str, environment: str) -> None:
    """Run the bundled package with dbt against the warehouse file at `path`, which nobody else may hold open.

    Nothing of the user's dbt configuration takes part. Raises WarehouseError with dbt's own words where it
    fails.
    """
    # the views of gaps cost less than a second here, once a release
    variables = {"attest_schema": schema, "attest_environment": environment, "attest_gaps": True}
    finished = _dbt("run", path=path, variables=variables)
    if finished.returncode != 0:
        said = (finished.stdout + finished.stderr).strip()
        raise WarehouseError(
            f"Building the resolvers in {path.name}: expected dbt to succeed, found that it says:\n{said}\n"
            "The warehouse is as it was before."
        )


def _dbt(*words: str, path: Path, variables: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="attest-") as folder:
        database = str(path) if path == Path(":memory:") else str(path.resolve())
        profile = {
            "attest": {
                "target": "warehouse",
                "outputs": {"warehouse": {"type": "duckdb", "path": database, "threads": 1}},
            }
        }
        (Path(folder) / "profiles.yml").write_text(json.dumps(profile), encoding="utf-8")
        # A leftover DBT_ variable could change the target, the profile or the output.
        environ = {key: value for key, value in os.environ.items() if not key.startswith("DBT_")}
        return subprocess.run(
            [
                *dbt_command(),
                "--quiet",
                "--no-use-colors",
                *words,
                *("--project-dir", str(dbt_package_dir())),
                *("--profiles-dir", folder),
                *("--target-path", str(Path(folder) / "target")),
                *("--log-path", str(Path(folder) / "logs")),
                *("--vars", json.dumps(variables)),
            ],
            env=environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )


def dbt_command() -> list[str]:
    """The dbt that stands beside this interpreter, never another one on the PATH."""
    beside = Path(sys.executable).parent / ("dbt.exe" if os.name == "nt" else "dbt")
    if not beside.exists():
        raise WarehouseError(
            f"{beside.parent}: expected the dbt command beside the Python that runs attest, found none; "
            "install dbt-core and dbt-duckdb in this environment."
        )
    return [str(beside)]
