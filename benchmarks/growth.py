"""What the thousandth collection costs over the first ones, in time and in bytes.

1,000 collections of 2,000 definitions, in each 1 % of them changed and the others as before, are recorded one
after the other in one warehouse file, as a replay of an archive does. Only the recording is timed, since
reading the artifacts costs the same every time and would hide a growth; and the first hundred are timed in a
second file while the last hundred are, in turns, so that a busy machine disturbs both alike.

    growth_time   processor seconds of the last hundred over those of the first hundred    at most 1.3
    growth_bytes  bytes a changed definition: the file's growth in the last half over      at most 1.3
                  that in the first half

The first collection, in which everything is new, belongs to neither.

    python benchmarks/growth.py [--collections 1000] [--verbose]
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection
from made_manifest import MODELS, write_manifest

from dbt_attest.annotations import ProjectFile
from dbt_attest.artifacts import read_manifest
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.collection import Collection
from dbt_attest.warehouse.contract import create_tables
from dbt_attest.warehouse.files import connect
from dbt_attest.warehouse.recording import record

DEFINITIONS, CHANGED = 2_000, 0.01
LIMIT = 1.3


def collections(folder: Path, count: int) -> Iterator[Collection]:
    """Collections an hour apart, each with other changed definitions than the one before."""
    path = folder / "manifest.json"
    write_manifest(path, at="2026-01-01T00:00:00Z", scale=DEFINITIONS / MODELS)
    first, _ = collect(folder, read_manifest(path), ProjectFile(path=folder / "attest.yml"), "prod")
    rows = [dict(row) for row in first.assertions][:DEFINITIONS]
    others = {name: list(getattr(first, name)) for name in ("edges", "claims", "columns")}
    step = round(1 / CHANGED)
    for number in range(count):
        for row in rows[number % step :: step]:
            row["definition"] = f"{str(row['definition']).partition(' Since')[0]} Since {number}."
            row["state_hash"] = row["content_hash"] = _hash(row["evidence_id"], number)
        here = {
            "asserted_at": first.manifest.generated_at + timedelta(hours=number),
            "artifact_id": _hash("manifest", number),
        }
        manifest = replace(
            first.manifest, generated_at=here["asserted_at"], artifact_id=str(here["artifact_id"])
        )
        yield replace(
            first,
            manifest=manifest,
            assertions=[row | here for row in rows],
            **{name: [row | here for row in every] for name, every in others.items()},
        )


def _hash(name: Any, number: int) -> str:
    return hashlib.sha256(f"{name} {number}".encode()).hexdigest()


def opened(path: Path) -> DuckDBPyConnection:
    """A new warehouse, without resolvers."""
    connection = connect(path, read_only=False)
    create_tables(connection, "attest")
    return connection


def timed(connection: DuckDBPyConnection, collection: Collection, *, first: bool = False) -> float:
    """Record a collection; the processor seconds that it took."""
    begin = time.process_time()
    recorded = record(connection, "attest", collection)
    seconds = time.process_time() - begin
    expected = DEFINITIONS if first else round(DEFINITIONS * CHANGED)
    if recorded.changed != expected:
        raise SystemExit(f"expected {expected} changed definitions, found {recorded.changed}")
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collections", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--verbose", action="store_true", help="print every hundredth on stderr")
    options = parser.parse_args()
    count = options.collections

    part = max(count // 10, 1)
    first: list[float] = []
    last: list[float] = []
    sizes: list[int] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        all_of_them, again = opened(folder / "evidence.duckdb"), opened(folder / "again.duckdb")
        early = collections(folder, part + 1)
        timed(again, next(early), first=True)
        for number, collection in enumerate(collections(folder, count)):
            seconds = timed(all_of_them, collection, first=number == 0)
            if number >= count - part:
                last.append(seconds)
                first.append(timed(again, next(early)))
            if number in (0, count // 2, count - 1):
                all_of_them.execute("checkpoint")
                sizes.append((folder / "evidence.duckdb").stat().st_size)
            if options.verbose and number % 100 == 99:
                print(f"{number + 1}: {seconds:.3f} s", file=sys.stderr)
        all_of_them.close()
        again.close()

    ratios = {
        "growth_time": sum(last) / sum(first),
        "growth_bytes": (sizes[2] - sizes[1]) / max(sizes[1] - sizes[0], 1),
    }
    if options.verbose:
        print(f"bytes after the first, half and all collections: {sizes}", file=sys.stderr)
    for name, value in ratios.items():
        print(f"ratio {name} {value:.2f} limit {LIMIT} {'ok' if value <= LIMIT else 'over'}")
    return 1 if any(value > LIMIT for value in ratios.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
