"""What `definition_on` costs beside a bare lookup, and how that grows with the number of definitions.

The bare lookup is `select *` of the assertions of the same entity in the same file, through the same
connection; the two take turns. All warehouses are made ones of `made_evidence.py`, in which every entity has
five definitions, in one table of assertions. Rows lie in the file as five collections recorded them; the
lines `_at_once` are of a file in which they lie entity by entity, as one collection of everything would have
left them, where a bare lookup finds its rows side by side.

    lookup_p50, lookup_p95  median and 95th percentile over those of the bare lookup,
                            1,000,000 definitions                                           at most 5 and 7
    lookup_growth_N         median at N definitions over that at a tenth of them            at most 10
    lookup_10000            10,000 lookups in one call, `attest.join_definition` of a table
                            of entity and date, over one lookup                             at most 15
    lookup_masked           median with permissions in 50 policies over that without any    at most 1.2

    python benchmarks/lookup_cost.py [--questions 60] [--processor]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection
from made_evidence import GROUP, compiled, entity, make_warehouse

from dbt_attest.warehouse.files import connect

SIZES = (10_000, 100_000, 1_000_000)
LOOKUPS = 10_000
BARE = "select * from attest.assertions where entity_id = $entity"
ASKED = f"from attest.definition_on($entity, $day, groups := ['{GROUP}'])"
MANY = f"select * from {{{{ attest.join_definition('lookups', 'day', entity_column='entity', groups=['{GROUP}']) }}}}"
_LOOKUPS = """
create temp table lookups as
select format('metric.measure_{:06}', n * 7919 % $entities) as entity,
  date '2022-01-01' + (n * 31 % 1800)::integer as day
from range($lookups) as lookups(n)
"""


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(round(share * len(times)), len(times) - 1)]


def timed(clock: Callable[[], float], connection: DuckDBPyConnection, sql: str, values: Any = None) -> Any:
    """The rows of a query and the seconds until all of them were there."""
    begin = clock()
    rows = connection.execute(sql, values).fetchall()
    return rows, clock() - begin


def asked(
    path: Path, entities: int, questions: int, clock: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Seconds of the bare lookups and of the questions, in turns, about as many random entities."""
    chance = random.Random(1)
    bare: list[float] = []
    ours: list[float] = []
    connection = connect(path, read_only=True)
    try:
        for turn in range(questions + 5):
            name, day = entity(chance.randrange(entities)), f"{chance.randrange(2022, 2027)}-06-30"
            rows, lookup = timed(clock, connection, BARE, {"entity": name})
            answers, question = timed(clock, connection, ASKED, {"entity": name, "day": day})
            if len(rows) != 5 or [row[:2] for row in answers] != [(name, "answer")]:
                raise SystemExit(
                    f"expected five rows and one answer about {name}, found {rows} and {answers}"
                )
            if turn >= 5:  # the first fill the caches
                bare.append(lookup)
                ours.append(question)
    finally:
        connection.close()
    return bare, ours


def at_once(path: Path, folder: Path, entities: int, clock: Callable[[], float]) -> float:
    """Seconds of 10,000 lookups in one call, the median of three."""
    sql = f"select count(*) filter (outcome = 'answer') from ({compiled(folder, MANY)})"
    connection = connect(path, read_only=True)
    try:
        connection.execute(_LOOKUPS, {"entities": entities, "lookups": LOOKUPS})
        found = [timed(clock, connection, sql) for _ in range(3)]
    finally:
        connection.close()
    if any(rows != [(LOOKUPS,)] for rows, _ in found):
        raise SystemExit(f"expected {LOOKUPS} answers, found {found}")
    return statistics.median(seconds for _, seconds in found)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=60, help="timed questions of each (default: 60)")
    parser.add_argument("--processor", action="store_true", help="compare processor seconds, not wall time")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter

    ratios: list[tuple[str, float, float]] = []
    print(f"{'definitions':>11} {'rows lie':>8} {'bare p50':>9} {'p95':>6} {'ours p50':>9} {'p95':>6}  ms")

    def told(size: int, how: str, found: tuple[list[float], list[float]]) -> tuple[float, ...]:
        figures = tuple(percentile(times, share) * 1000 for times in found for share in (0.5, 0.95))
        print(f"{size:>11,} {how:>8} " + "{:9.1f} {:6.1f} {:9.1f} {:6.1f}".format(*figures), flush=True)
        return figures

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        medians: list[float] = []
        for size in SIZES:
            path = folder / f"grown_{size}.duckdb"
            entities = make_warehouse(path, size)
            bare, bare_late, ours, ours_late = told(
                size, "grown", asked(path, entities, options.questions, clock)
            )
            if medians:
                ratios.append((f"lookup_growth_{size}", ours / medians[-1], 10))
            medians.append(ours)
        ratios += [("lookup_p50", ours / bare, 5), ("lookup_p95", ours_late / bare_late, 7)]
        many = at_once(path, folder / "asks", entities, clock)
        ratios.append(("lookup_10000", many * 1000 / ours, 15))

        open_to_all = folder / "open.duckdb"
        make_warehouse(open_to_all, size, policies=0)
        found = asked(open_to_all, entities, options.questions, clock)
        masked = asked(path, entities, options.questions, clock)
        ratios.append(("lookup_masked", percentile(masked[1], 0.5) / percentile(found[1], 0.5), 1.2))
        open_to_all.unlink()

        path = folder / "at_once.duckdb"
        make_warehouse(path, size, at_once=True)
        bare, bare_late, ours, ours_late = told(
            size, "at once", asked(path, entities, options.questions, clock)
        )
        ratios += [("lookup_p50_at_once", ours / bare, 5), ("lookup_p95_at_once", ours_late / bare_late, 7)]

    for name, value, limit in ratios:
        print(f"ratio {name} {value:.2f} limit {limit} {'ok' if value <= limit else 'over'}")
    return 1 if any(value > limit for _, value, limit in ratios) else 0


if __name__ == "__main__":
    sys.exit(main())
