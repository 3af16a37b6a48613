"""What `attest build` costs on a big project: its time over that of json.load, its memory over the file.

The manifest is a made one of 20,000 models, 30,000 tests, 2,000 sources and 1,000 metrics, all annotated
(`made_manifest.py`). Every build is a whole process, from its start to its end, into a stand-alone warehouse
that has its resolvers; `build_first_with_resolvers` also has dbt make them, which happens once a release.
The reference is json.load of the same file alone, in a process of its own. Memory is the peak resident set of
the build's process, as wait4 gives it. The kinds alternate and of each the quickest run counts; on a machine
that others use, `--processor` compares processor seconds, which waiting does not lengthen.

    build_first        a warehouse that has seen nothing of the project        at most 2.5
    build_memory       its peak memory, over the size of the file              at most 3
    build_same_file    the same file again                                     at most 0.5
    build_same_content a new invocation of dbt that says the same              at most 1.5
    build_changed      a new invocation in which 1 % of the definitions differ at most 1.7

    python benchmarks/build_cost.py [--runs 3] [--scale 1.0] [--processor] [--verbose]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LIMITS = {
    "build_first": 2.5,
    "build_same_file": 0.5,
    "build_same_content": 1.5,
    "build_changed": 1.7,
}
MEMORY_LIMIT = 3.0
MADE = Path(__file__).with_name("made_manifest.py")
ATTEST = Path(sys.executable).with_name("attest")
JANUARY, FEBRUARY = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
_JSON_LOAD = """
import json, sys, time
with open(sys.argv[1], encoding="utf-8") as file:
    wall, processor = time.perf_counter(), time.process_time()
    json.load(file)
print(time.perf_counter() - wall, time.process_time() - processor)
"""


@dataclass(frozen=True)
class Cost:
    """One process: wall seconds, processor seconds and peak resident bytes."""

    wall: float
    processor: float
    memory: int


def build(folder: Path, *words: str) -> Cost:
    """Run `attest build` in `folder` to its end."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "ATTEST_"))}
    with tempfile.TemporaryFile() as said:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [ATTEST, "build", *words], cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"attest build failed in {folder}:\n{said.read().decode()}")
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * kilobyte)


def json_load(path: Path) -> Cost:
    """json.load alone."""
    done = subprocess.run(
        [sys.executable, "-c", _JSON_LOAD, path], capture_output=True, text=True, check=True
    )
    wall, processor = map(float, done.stdout.split())
    return Cost(wall, processor, 0)


def told(name: str, cost: Cost) -> None:
    """Print one run on stderr."""
    times = f"{cost.wall:6.2f} s, processor {cost.processor:6.2f} s"
    print(f"{name:28} {times}, {cost.memory / 1e6:5.0f} MB", file=sys.stderr)


def write_files(folder: Path, scale: float) -> dict[str, Path]:
    """The manifests: none of the project yet, the first, one more that says the same, and a changed one."""
    files = {name: folder / f"{name}.json" for name in ("nothing", "first", "same", "changed")}
    made = (
        ("nothing", "2025-12-01T00:00:00Z", 0.0, 0.0),
        ("first", JANUARY, scale, 0.0),
        ("changed", FEBRUARY, scale, 0.01),
    )
    for name, at, of, changed in made:
        # in a process of its own: a child counts the memory of the process that started it as its peak
        words = [files[name], "--at", at, "--scale", str(of), "--changed", str(changed)]
        subprocess.run([sys.executable, MADE, *words], check=True, stdout=subprocess.DEVNULL)
    with files["first"].open("rb") as first, files["same"].open("wb") as same:
        # the instants are in the metadata at the beginning
        same.write(first.read(10_000).replace(JANUARY.encode(), FEBRUARY.encode()))
        shutil.copyfileobj(first, same)
    return files


def report(name: str, value: float, limit: float | None) -> bool:
    """Print one ratio; whether it is over its limit."""
    over = limit is not None and value > limit
    print(f"ratio {name} {value:.2f} limit {'none' if limit is None else limit} {'over' if over else 'ok'}")
    return over


def measured(
    folder: Path, files: dict[str, Path], runs: int, verbose: bool
) -> tuple[list[Cost], dict[str, list[Cost]]]:
    """The reference and the costs of each kind of build."""
    reference: list[Cost] = []
    costs: dict[str, list[Cost]] = {"build_first_with_resolvers": [], **{name: [] for name in LIMITS}}
    (folder / "target").mkdir()
    (folder / "dbt_project.yml").write_text("name: made\n")
    manifest, warehouse, primed = (
        folder / one for one in ("target/manifest.json", "evidence.duckdb", "primed")
    )

    def step(name: str | None, file: str) -> None:
        manifest.unlink(missing_ok=True)
        manifest.hardlink_to(files[file])
        cost = build(folder)
        if name is not None:
            costs[name].append(cost)
            if verbose:
                told(name, cost)

    step("build_first_with_resolvers", "first")
    warehouse.unlink()
    step(None, "nothing")
    warehouse.rename(primed)
    for _ in range(runs):
        reference.append(json_load(files["first"]))
        if verbose:
            told("json.load", reference[-1])
        shutil.copyfile(primed, warehouse)
        step("build_first", "first")
        step("build_same_file", "first")
        first = warehouse.read_bytes()
        step("build_same_content", "same")
        warehouse.write_bytes(first)
        step("build_changed", "changed")
    return reference, costs


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each (default: 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of nodes (default: 1)")
    parser.add_argument("--processor", action="store_true", help="compare processor seconds, not wall time")
    parser.add_argument("--verbose", action="store_true", help="print every run on stderr")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "made"
        folder.mkdir()
        files = write_files(Path(temporary), options.scale)
        size = files["first"].stat().st_size
        reference, costs = measured(folder, files, options.runs, options.verbose)

    def quickest(runs: list[Cost]) -> float:
        return min(cost.processor if options.processor else cost.wall for cost in runs)

    ratios = {name: quickest(runs) / quickest(reference) for name, runs in costs.items()}
    over = [report(name, ratios[name], limit) for name, limit in LIMITS.items()]
    over.append(
        report("build_memory", max(cost.memory for cost in costs["build_first"]) / size, MEMORY_LIMIT)
    )
    report("build_first_with_resolvers", ratios["build_first_with_resolvers"], None)
    return 1 if any(over) else 0


if __name__ == "__main__":
    sys.exit(main())
