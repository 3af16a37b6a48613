"""What the package costs its host: the time of `dbt build` on a small project with it, over that without it.

Prints one line, `ratio guest_build VALUE limit 1.25 ok|over`, and exits with 1 when over. The project has 20
models and 20 tests on DuckDB; both variants are installed and built once before anything is timed, so that
what is compared is the steady state: partial parsing, nothing new to create. The builds alternate, so that a
slow minute of the machine hits both. The value is the median with the package over the median without.

    python benchmarks/guest_cost.py [--runs 7] [--verbose]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.25
MODELS = 20
ROOT = Path(__file__).resolve().parents[1]
DBT = Path(sys.executable).with_name("dbt")


def write_project(folder: Path, with_package: bool) -> None:
    """Write a chain-and-fan project of 20 models with one `not_null` test each."""
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text("name: host\nversion: 1.0.0\nconfig-version: 2\nprofile: host\n")
    (folder / "profiles.yml").write_text(
        "host: {target: dev, outputs: {dev: {type: duckdb, path: host.duckdb, threads: 4}}}\n"
    )
    schema = ["version: 2", "models:"]
    for number in range(MODELS):
        source = f"{{{{ ref('model_{number // 3}') }}}}" if number else "(select 1 as id)"
        kind = "table" if number % 2 else "view"
        (folder / "models" / f"model_{number}.sql").write_text(
            f"{{{{ config(materialized='{kind}') }}}}\nselect id, {number} as number from {source}\n"
        )
        schema.append(f"  - {{name: model_{number}, columns: [{{name: id, data_tests: [not_null]}}]}}")
    (folder / "models" / "schema.yml").write_text("\n".join(schema) + "\n")
    if with_package:
        package = folder.parent / "attest"
        for part in ("macros", "models"):
            shutil.copytree(ROOT / part, package / part)
        shutil.copy(ROOT / "dbt_project.yml", package)
        (folder / "packages.yml").write_text("packages: [{local: ../attest}]\n")
        dbt(folder, "deps")


def dbt(folder: Path, command: str) -> float:
    """Run one dbt command in `folder`; its wall time in seconds."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DBT_")}
    environment |= {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_PROFILES_DIR": str(folder)}
    begin = time.perf_counter()
    done = subprocess.run(
        [DBT, command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"dbt {command} failed in {folder}:\n{done.stdout}{done.stderr}")
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7, help="timed builds of each variant (default: 7)")
    parser.add_argument("--verbose", action="store_true", help="print every time on stderr")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        variants = {name: Path(temporary) / name for name in ("without", "with")}
        for name, folder in variants.items():
            write_project(folder, with_package=name == "with")
            dbt(folder, "build")
        times: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(options.runs):
            for name, folder in variants.items():
                times[name].append(dbt(folder, "build"))

    if options.verbose:
        for name, seconds in times.items():
            print(name, " ".join(f"{second:.2f}" for second in seconds), file=sys.stderr)
    ratio = statistics.median(times["with"]) / statistics.median(times["without"])
    verdict = "ok" if ratio <= LIMIT else "over"
    print(f"ratio guest_build {ratio:.2f} limit {LIMIT} {verdict}")
    return 0 if verdict == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
