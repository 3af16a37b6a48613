"""What a question costs on the demonstration warehouse, in time: `attest resolve` over `import duckdb`, and
`attest resolve --bundle` over `attest resolve`.

Prints two lines, `ratio resolve VALUE limit 3 ok|over` and `ratio bundle VALUE limit 3 ok|over`, and exits with
1 when one is over. All are whole processes and alternate, so that a slow minute of the machine hits each. The
values are median over median.

    python benchmarks/resolve_cost.py [--runs 15]
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

LIMIT = 3
ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


def run(folder: Path, *words: str) -> float:
    """Run one command in `folder`; its wall time in seconds."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "ATTEST_"))}
    environment |= {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "ATTEST_GROUPS": "analytics_readers"}
    begin = time.perf_counter()
    done = subprocess.run(
        [BIN / words[0], *words[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed in {folder}:\n{done.stdout}{done.stderr}")
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=15, help="timed runs of each (default: 15)")
    runs = parser.parse_args().runs

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "revenue"
        ignored = shutil.ignore_patterns("dbt_packages", "target", "logs", "*.duckdb*")
        shutil.copytree(ROOT / "integration_tests" / "revenue", folder, ignore=ignored)
        packages = folder / "packages.yml"
        packages.write_text(packages.read_text().replace("../../", str(ROOT)))
        for words in (
            ("dbt", "--quiet", "deps"), ("dbt", "--quiet", "build"), ("attest", "build"),
        ):  # fmt: skip
            run(folder, *words)
        questions = {
            "resolve": ("attest", "resolve", "revenue", "--on", "2025-06-30"),
            "bundle": ("attest", "resolve", "revenue", "--on", "2025-06-30", "--bundle"),
            "import": (Path(sys.executable).name, "-c", "import duckdb"),
        }
        times: dict[str, list[float]] = {name: [] for name in questions}
        for turn in range(runs + 1):
            for name, words in questions.items():
                seconds = run(folder, *words)
                if turn:  # the first of each fills the file cache
                    times[name].append(seconds)

    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    over = False
    for name, base in (("resolve", "import"), ("bundle", "resolve")):
        ratio = medians[name] / medians[base]
        over |= ratio > LIMIT
        print(f"ratio {name} {ratio:.2f} limit {LIMIT} {'over' if ratio > LIMIT else 'ok'}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
