"""Reading a manifest: `read_manifest` beside dbt-artifacts-parser, which parses it and does nothing else.

Prints `ratio parsers_made VALUE limit none ok`, our time over theirs, on the made manifest
of `made_manifest.py`, and `ratio parsers_real ...` on the largest manifest in ../shared/artifacts where there
is such a folder. There is no limit: the two serve different purposes. dbt-artifacts-parser is no dependency
(`pip install dbt-artifacts-parser`); where it is missing, a line says that nothing was compared.

    python benchmarks/parsers.py [--runs 3] [--scale 1.0] [--verbose]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from made_manifest import write_manifest

REAL = Path(__file__).resolve().parents[2] / "shared" / "artifacts"
# both read the file and decode it; what is imported beforehand is not timed
_READERS = {
    "ours": """
import sys, time
from pathlib import Path
from dbt_attest.artifacts import read_manifest
begin = time.perf_counter()
read_manifest(Path(sys.argv[1]))
print(time.perf_counter() - begin)
""",
    "theirs": """
import json, sys, time
from dbt_artifacts_parser.parser import parse_manifest
begin = time.perf_counter()
with open(sys.argv[1], encoding="utf-8") as file:
    parse_manifest(json.load(file))
print(time.perf_counter() - begin)
""",
}


def seconds(reader: str, path: Path) -> float:
    """Wall seconds of one reading, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _READERS[reader], path], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{reader} cannot read {path}:\n{done.stderr[-2000:]}")
    return float(done.stdout)


def compare(name: str, path: Path, runs: int, verbose: bool) -> None:
    """Print the ratio of the quickest readings of a file."""
    times: dict[str, list[float]] = {reader: [] for reader in _READERS}
    for _ in range(runs):
        for reader, found in times.items():
            found.append(seconds(reader, path))
    if verbose:
        for reader, found in times.items():
            print(name, reader, " ".join(f"{one:.3f}" for one in found), file=sys.stderr)
    print(f"ratio {name} {min(times['ours']) / min(times['theirs']):.3f} limit none ok")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3, help="readings of each (default: 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="of the made manifest (default: 1)")
    parser.add_argument("--verbose", action="store_true", help="print every time on stderr")
    options = parser.parse_args()
    if find_spec("dbt_artifacts_parser") is None:
        print("parsers: nothing was compared: dbt-artifacts-parser is not installed")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / "manifest.json"
        write_manifest(made, at="2026-01-01T00:00:00Z", scale=options.scale)
        compare("parsers_made", made, options.runs, options.verbose)
    real = sorted(REAL.rglob("*manifest*.json"), key=lambda path: path.stat().st_size)
    if real:
        compare("parsers_real", real[-1], options.runs, options.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
