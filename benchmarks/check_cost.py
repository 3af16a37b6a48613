"""What `attest check` of a target folder costs: its time over that of json.load of the manifest.

The manifest is the made one of 20,000 models, 30,000 tests, 2,000 sources and 1,000 metrics, all annotated
(`made_manifest.py`). Every check is a whole process, from its start to its end, without a warehouse; the
reference is a process that does json.load of the same file. They alternate and of each the quickest run
counts; on a machine that others use, `--processor` compares processor seconds, which waiting does not
lengthen.

    check             all gaps of the target folder                              at most 2
    check_against     only those it brings, against an earlier manifest of it    no limit, two manifests are read
    check_500_nodes   seconds beyond Python's start on a project of 500 nodes    at most 1

    python benchmarks/check_cost.py [--runs 3] [--scale 1.0] [--processor] [--verbose]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MADE = Path(__file__).with_name("made_manifest.py")
ATTEST = Path(sys.executable).with_name("attest")
JANUARY, FEBRUARY = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
LOAD = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
OF_500_NODES = 500 / 53_000


def seconds(folder: Path, words: list[str | Path], processor: bool) -> float:
    """Run a command to its end: wall seconds, or the processor's."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "ATTEST_"))}
    begin = time.perf_counter()
    process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode > 1:
        raise SystemExit(f"{' '.join(map(str, words))} failed in {folder}")
    return usage.ru_utime + usage.ru_stime if processor else wall


def write_project(folder: Path, scale: float) -> Path:
    """A project with an earlier manifest beside the present one, of which 1 % of the definitions differ."""
    (folder / "target").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text("name: made\n")
    for name, at, changed in (("earlier.json", JANUARY, 0.0), ("target/manifest.json", FEBRUARY, 0.01)):
        words = [folder / name, "--at", at, "--scale", str(scale), "--changed", str(changed)]
        subprocess.run([sys.executable, MADE, *words], check=True, stdout=subprocess.DEVNULL)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each (default: 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of nodes (default: 1)")
    parser.add_argument("--processor", action="store_true", help="compare processor seconds, not wall time")
    parser.add_argument("--verbose", action="store_true", help="print every run on stderr")
    options = parser.parse_args()

    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        big = write_project(Path(temporary) / "big", options.scale)
        small = write_project(Path(temporary) / "small", OF_500_NODES)
        check = [ATTEST, "check", "--target-dir", "target"]
        kinds: dict[str, tuple[Path, list[str | Path]]] = {
            "json.load": (big, [sys.executable, "-c", LOAD, "target/manifest.json"]),
            "check": (big, [*check]),
            "check_against": (big, [*check, "--against", "earlier.json"]),
            "start": (small, [sys.executable, "-c", "pass"]),
            "check_500_nodes": (small, [*check]),
        }
        for _ in range(options.runs):
            for name, (folder, words) in kinds.items():
                took = seconds(folder, words, options.processor)
                best[name] = min(took, best.get(name, took))
                if options.verbose:
                    print(f"{name:16} {took:6.2f} s", file=sys.stderr)

    values = (
        ("check", best["check"] / best["json.load"], 2.0),
        ("check_against", best["check_against"] / best["json.load"], None),
        ("check_500_nodes", best["check_500_nodes"] - best["start"], 1.0),
    )
    over = False
    for name, value, limit in values:
        over = over or (limit is not None and value > limit)
        state = "over" if limit is not None and value > limit else "ok"
        print(f"ratio {name} {value:.2f} limit {'none' if limit is None else f'{limit:g}'} {state}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
