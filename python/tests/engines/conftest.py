"""A PostgreSQL server of its own, on the loopback interface; facts, and what the resolvers answer for them."""

from __future__ import annotations

import csv
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.resolution import Requester, Warehouse
from dbt_attest.resolution.timeline_file import write_timeline

REQUESTER = Requester(groups=["readers"])
DAYS = [
    "2019-12-31",
    "2020-01-01",
    "2024-02-29",
    "2024-06-30",
    "2024-07-01",
    "2025-03-31",
    "2025-04-01",
    "2099-01-01",
]
DEFINITIONS: dict[str, dict[str, Any]] = {
    # two that follow each other, with a gap; the second is claimed by another one in early 2025
    "A.v1": {"entity_id": "metric.a", "effective_from": "2020-01-01", "effective_to": "2024-06-29"},
    "A.v2": {"entity_id": "metric.a", "effective_from": "2024-07-01", "version": "1.10"},
    "A.rival": {"entity_id": "metric.a", "effective_from": "2025-01-01", "effective_to": "2025-03-31"},
    'O\'B, "quoted"': {"entity_id": "metric.o'brien", "effective_from": "2024-02-29"},
    "PLAN": {"entity_id": "metric.plan", "effective_from": "2024-01-01", "permissions": ["board"]},
    "SECRET": {"entity_id": "metric.secret", "effective_from": "2024-01-01", "permissions": ["hidden"]},
    "EU": {"entity_id": "metric.regional", "effective_from": "2024-01-01", "scope": {"region": "EU"}},
    "NOTE": {"entity_id": "metric.noted", "authority": "untrusted", "effective_from": "2024-01-01"},
}
ENTITIES: list[str | None] = sorted({said["entity_id"] for said in DEFINITIONS.values()})
ENTITIES += ["metric.nowhere", None]


@dataclass(frozen=True)
class Facts:
    """Facts and the timeline as CSV files, and of each fact (its number) the outcome, reason and evidence_id."""

    facts: Path
    timeline: Path
    expected: list[tuple[int, str, str, str | None]]


@pytest.fixture(scope="session")
def facts(world_in: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """Every entity on every day, twice; and facts without a day."""
    world = world_in(tmp_path_factory.mktemp("facts"))
    world.collect(
        "2024-06-10T09:00:00Z",
        {
            f"d{number}": {"evidence_id": name, "authority": "authoritative", "permissions": ["readers"]}
            | said
            for number, (name, said) in enumerate(DEFINITIONS.items())
        },
        attest_yml="environment: prod\npolicies: {hidden: {groups: [board], existence: hidden}}\n",
    )
    warehouse = Warehouse(world.warehouse, environment="prod")
    facts, timeline = world.folder / "facts.csv", world.folder / "attest_timeline.csv"
    write_timeline(warehouse, timeline, "csv", requester=REQUESTER)
    rows: list[tuple[int, str | None, str | None]] = []
    expected = []
    for entity in ENTITIES:
        for day in [*DAYS, None]:
            asked = warehouse.resolve(entity or "", on=day, requester=REQUESTER)
            said = ("abstain", "no_date", None) if day is None else (
                asked.outcome, asked.reason, asked.evidence_id)  # fmt: skip
            for _ in range(2):
                expected.append((len(rows), *said))
                rows.append((len(rows), entity, day))
    assert {outcome for _, outcome, *_ in expected} == {"answer", "abstain", "deny", "clarify", "review"}
    with facts.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("fact", "entity_id", "happened_on"), *rows])
    return Facts(facts, timeline, expected)


@dataclass(frozen=True)
class Postgres:
    """A running server; its superuser is `attest` and needs no password."""

    port: int

    def connect(self) -> Any:
        import psycopg2

        connection = psycopg2.connect(host="127.0.0.1", port=self.port, user="attest", dbname="postgres")
        connection.autocommit = True
        return connection


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    found = shutil.which("initdb") or next(
        iter(sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), reverse=True)), None
    )
    if found is None:
        pytest.fail(
            "expected PostgreSQL's server programs, found no initdb on the PATH or in /usr/lib/postgresql; "
            "install postgresql (Debian: apt-get install postgresql).",
            pytrace=False,
        )
    programs = Path(found).parent
    # the server refuses to run as root
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="attest-postgres-"))
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(program: str, *words: str) -> None:
        subprocess.run(
            [programs / program, "-D", folder / "data", *words],
            check=True,
            user=user,
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )

    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    try:
        run("initdb", "-U", "attest", "-A", "trust", "-E", "UTF8", "--no-sync")
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        yield Postgres(port)
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
