"""What `attest.join_definition` costs beside the range join that a person would write by hand.

10 million facts of 1,000 entities, five definitions each (`made_evidence.py`), become a table, as in a dbt
model. The join by hand finds the same six columns in a table that a person would have to keep: the macro
works them out from the evidence each time. They take turns, and of each the median counts.

    join_definition  over the join by hand  at most 1.2

    python benchmarks/join_cost.py [--facts 10000000] [--runs 3] [--processor]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from made_evidence import GROUP, VERSIONS, compiled, make_warehouse

from dbt_attest.warehouse.files import connect

ENTITIES = 1000
LIMIT = 1.2
MACRO = (
    "select * from {{ attest.join_definition('facts', 'sold_on', entity_column='measure', "
    f"groups=['{GROUP}']) }}}}"
)
BY_HAND = """
select facts.*, periods.outcome, periods.reason, periods.evidence_id, periods.version, periods.valid_from,
  periods.valid_to
from facts
left join periods on periods.entity_id = facts.measure
  and facts.sold_on >= periods.valid_from and facts.sold_on < coalesce(periods.valid_to, date 'infinity')
"""
_FACTS = """
create table facts as
select n as sale_id, format('metric.measure_{:06}', n * 7919 % $entities) as measure,
  date '2022-01-01' + (n * 31 % 1800)::integer as sold_on, n % 1000 / 10 as amount
from range($facts) as facts(n)
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=int, default=10_000_000, help="how many (default: 10,000,000)")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each (default: 3)")
    parser.add_argument("--processor", action="store_true", help="compare processor seconds, not wall time")
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter

    times: dict[str, list[float]] = {"by hand": [], "macro": []}
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "made.duckdb"
        make_warehouse(path, ENTITIES * VERSIONS)
        queries = {"by hand": BY_HAND, "macro": compiled(Path(temporary) / "asks", MACRO)}
        connection = connect(path, read_only=False)
        try:
            connection.execute(_FACTS, {"entities": ENTITIES, "facts": options.facts})
            connection.execute(
                "create table periods as "
                "select entity_id, 'answer' as outcome, 'in_force' as reason, evidence_id, version, valid_from, "
                "valid_to from attest.definition_timeline"
            )
            for turn in range(options.runs + 1):
                found = {}
                for name, sql in queries.items():
                    begin = clock()
                    connection.execute(f"create or replace table made as {sql}")
                    if turn:  # the first of each fills the caches
                        times[name].append(clock() - begin)
                    found[name] = connection.execute(
                        "select count(*), count(evidence_id), min(valid_from), max(valid_to) from made"
                    ).fetchall()
                if found["macro"] != found["by hand"] or found["macro"][0][:2] != (options.facts,) * 2:
                    raise SystemExit(f"expected the same definitions of all facts, found {found}")
        finally:
            connection.close()

    ratio = statistics.median(times["macro"]) / statistics.median(times["by hand"])
    print(f"ratio join_definition {ratio:.2f} limit {LIMIT} {'ok' if ratio <= LIMIT else 'over'}")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
