"""Takes each permission predicate out of the SQL, one at a time, and tells which test fails for it.

    python python/tests/mutate_permissions.py [--jobs 2] [--list] [PART OF A PREDICATE'S LINE…]

Predicates are found by their form, so there is no list to keep: what the requester's groups, `visible`, `hidden`,
`withheld` and `disclosed` decide is each a mutation. Every other line with one of these words has to be of a form in
`NO_PREDICATE`, or the script says so and ends with 2. Exit code 1 where a predicate can go without a failing test,
or where what is left without it is no SQL or no test ran: that proves nothing, and its form or its tests are to be
mended. A PART is of what `--list` prints, as `export_sql.sql:3`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
SQL = ["macros/**/*.sql", "models/**/*.sql", "python/dbt_attest/resolution/openlineage.py"]
WORDS = re.compile(r"groups|visible|hidden|withh|disclosed|open_to|\.seen\b|held_permissions")
# what a predicate looks like, and what it is without it
FORMS = {
    r"coalesce\(list_has_any\(\s*(?:[^()]|\([^()]*\))*hidden_policies\), (?:true|false)\)": "false",
    r"coalesce\(list_has_any\(held_permissions\.permissions, \w+(?:\.\w+)*\), true\)": "true",
    r"coalesce\(list_has_any\((?:[^()]|\([^()]*\))*\), (?:true|false)\)": "(not false)",
    r"list_has_any\((?:[^()]|\([^()]*\))*\)": "(not false)",
    r"len\(list_intersect\(known\.groups, \{\{ readers \}\}\)\) > 0": "true",
    r"len\(list_intersect\(recorded\.groups, \{\{ readers \}\}\)\) > 0": "true",
    r"not in \(select withheld\.node_id from withheld(?: where not withheld\.disclosed)?\)": "is not null",
    r"(?<!not )in \(select withheld\.node_id from withheld(?: where withheld\.disclosed)?\)": "is null",
    r"not in \(select hidden\.node_id from export_hidden_nodes as hidden\)": "is not null",
    r"not bool_or\(known\.seen\) and bool_and\(known\.hidden\)": "false",
    r"(?<=if\()(?:listed|access)\.visible(?=,)": "true",
    r"\b(?:seen|access|party|rights|meant|meanings|listed)\.visible\b(?!,)": "true",
    r"\b(?:known|elsewhere)\.seen\b": "true",
    r"not (?:\w+\.)?\w+\.hidden\b": "true",
    r"\b(?:access|barrier)\.disclosed\b": "true",
    r"\b(?:party\.withheld|ruled\.withholds|meant\.withholds)\b": "false",
    r"policy\.existence = 'hidden'": "false",
    r"barrier\.node_id is null(?! as)": "true",
    r"columns_withheld\.node_id is null": "true",
    r"held_permissions\.permissions is null or": "true or",
    r"list_intersect\(stated\.groups, \[stated\.policy\]\)": "stated.groups",
    r"list_intersect\(permitted, others\)": "permitted",
    r"list_intersect\(seen\.groups, \{\{ readers \}\}\)": "seen.groups",
    r"list_intersect\(told\.groups, request\.groups\)": "told.groups",
    r"if\(steps\.hidden, \['uncovered'\], \[\]\)": "cast([] as varchar[])",
}
# lines that pass a value on, give it a name, or are about something else
NO_PREDICATE = re.compile(
    r"^\s*(?:--|\{#|[\w ,.:;'()`/—-]*-#\}|#|\{%|\{\{ config|\{\{ attest\.|\w+ as (?:materialized )?\(|attest\.)"
    r"|groups_literal|getvariable\('attest_groups'\)|:= groups|as groups\b|in_groups\b|groups := null"
    r"|^\s*(?:\w+\.)+(?:groups|hidden|withheld|withholds|disclosed|hidden_policies|permissions_from),?$"
    r"|as (?:visible|hidden|disclosed|withheld|withholds|open_to|seen|hidden_policies|columns_withheld|masks?_\w+)\b"
    r"|as begins$"
    r"|ended_by_groups|^\s*(?:from|join|left join|union|cross join|group by|order by|select|having|where|on|and)\b"
    r"|^\s*partition by\b"
    r"|visible\.[\w*]+|columns_withheld|withheld_id|'withheld'|held_permissions|policy\.groups|stated\.hidden"
    r"|groups=groups|as groups_of\b|any_visible|by_entity\.disclosed|told\.hidden|hidden: said|ending\.seen"
    r"|groups_of\[|map_keys\(present_policies|question\.groups|\"\"\"|groups, permissions_from|export_"
)
# which tests are likeliest to see it, by the first part that the mutated file has; each list is one run, which builds
# the resolvers once
LIKELIEST = {
    "change_ctes": ["resolution/test_changes", "cli/test_every_surface"],
    "decision_ctes": ["resolution/test_cases", "resolution/test_explanation", "resolution/test_oracle"],
    "explain_on": ["resolution/test_explanation", "cli/test_every_surface"],
    "export_sql": ["cli/test_export_for_groups", "resolution/test_lineage"],
    "definition_history": ["cli/test_history", "cli/test_every_surface"],
    "openlineage": ["resolution/test_openlineage"],
    "lineage": ["cli/test_every_surface", "resolution/test_lineage"],
    "names_like": ["cli/test_every_surface", "resolution/test_cases"],
    "node_access": ["resolution/test_lineage", "warehouse/test_revoked"],
    "question_ctes": ["cli/test_every_surface"],
    "recorded_ctes": ["warehouse/test_revoked", "resolution/test_cases"],
    "support_on": ["warehouse/test_columns_seen", "resolution/test_lineage", "cli/test_every_surface"],
    "timeline_select": ["resolution/test_changes"],
    "who_sees": ["resolution/test_who_sees"],
}
ALL = [
    "resolution/test_cases", "resolution/test_explanation", "resolution/test_oracle", "warehouse/test_columns_seen",
    "resolution/test_lineage",
    "cli/test_every_surface", "warehouse/test_revoked", "resolution/test_bundle", "resolution/test_changes",
    "cli/test_history", "resolution/test_timeline_file", "resolution/test_openlineage", "dbt_package/test_functions",
    "resolution/test_leaks", "cli/test_export_for_groups",
]  # fmt: skip
# of these two only the tests that are about permission
OF_PERMISSION = "not test_cases and not every_surface or permissions or hidden or withheld"


class Mutation(NamedTuple):
    """One predicate taken out: the file, the line (from 1), and its text before and after."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.before.split())}"


def mutations() -> tuple[list[Mutation], list[str]]:
    """Every predicate, and the lines that look like one and are of no known form."""
    found, unknown = [], []
    for path in sorted(
        path for pattern in SQL for path in REPOSITORY.glob(pattern) if "gaps" not in path.parts
    ):
        name = path.relative_to(REPOSITORY).as_posix()
        text = path.read_text(encoding="utf-8")
        taken: list[Mutation] = []
        for form, after in FORMS.items():
            for match in re.finditer(form, text):
                if not any(one.start < match.end() and match.start() < one.end for one in taken):
                    line = text.count("\n", 0, match.start()) + 1
                    taken.append(Mutation(name, line, *match.span(), match[0], after))
        found += sorted(taken, key=lambda one: one.start)
        covered = {line for one in taken for line in range(one.line, one.line + one.before.count("\n") + 1)}
        if name.endswith(".sql"):
            without_comments = re.sub(
                r"\{#.*?#\}", lambda one: "\n" * one[0].count("\n"), text, flags=re.DOTALL
            )
            unknown += [
                f"{name}:{number}: {line.strip()}"
                for number, line in enumerate(without_comments.splitlines(), start=1)
                if WORDS.search(line) and number not in covered and not NO_PREDICATE.search(line)
            ]
    return found, unknown


def verdict(mutation: Mutation, copy: Path) -> tuple[str, str]:
    """What became of a mutation: killed, SURVIVED or INVALID; and the first test that fails, where it was killed."""
    path = copy / mutation.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: mutation.start] + mutation.after + text[mutation.end :], encoding="utf-8")
    try:
        first = next((names for part, names in LIKELIEST.items() if part in mutation.file), [])
        for tests in filter(None, (first, [one for one in ALL if one not in first])):
            ran = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pytest",
                    "-x",
                    "-q",
                    "-p",
                    "no:cacheprovider",
                    "-n",
                    "0",
                    "-k",
                    OF_PERMISSION,
                    *(f"python/tests/{name}.py" for name in tests),
                ],
                cwd=copy,
                env=os.environ | {"PYTHONPATH": str(copy / "python"), "ATTEST_LEAK_WORLDS": "40"},
                capture_output=True,
                text=True,
                check=False,
            )
            # above 1 pytest ran no test, or not to its end
            if ran.returncode > 1 or re.search(r"(Parser|Binder|Catalog)(Exception|: | Error)", ran.stdout):
                return "INVALID", ""
            if ran.returncode != 0:
                failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", ran.stdout, re.MULTILINE)
                by = failed[0].rpartition("/")[2] if failed else ran.stdout[-300:] + ran.stderr[-300:]
                return "killed", by
    finally:
        path.write_text(text, encoding="utf-8")
    return "SURVIVED", ""


def main() -> int:
    """Run them; the figures come last."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("only", nargs="*")
    asked = parser.parse_args()
    found, unknown = mutations()
    if unknown:
        print("\n".join(["Lines that may hold a predicate of an unknown form:", *unknown]))
        return 2
    found = [one for one in found if not asked.only or any(part in str(one) for part in asked.only)]
    if asked.list:
        print("\n".join(map(str, found)), f"\n{len(found)} predicates")
        return 0
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="attest-mutate-") as folder:
        for number in range(asked.jobs):
            copy = Path(folder) / f"{number}" / "attest"
            listed = subprocess.run(
                ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True
            )
            for name in filter(None, listed.stdout.decode().split("\0")):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPOSITORY / name, copy / name)
            (copy.parent / "shared").symlink_to(REPOSITORY.parent / "shared")
            copies.put(copy)

        def told(mutation: Mutation) -> bool:
            copy = copies.get()
            try:
                became, by = verdict(mutation, copy)
            finally:
                copies.put(copy)
            print(f"{became:8} {mutation}{by and f'  by {by}'}", flush=True)
            return bool(by)

        with ThreadPoolExecutor(asked.jobs) as pool:
            killed = list(pool.map(told, found))
    print(f"{sum(killed)} of {len(killed)} predicates have a test that fails without them")
    return 0 if all(killed) else 1


if __name__ == "__main__":
    sys.exit(main())
