"""`attest check`: the gaps of a warehouse, or those that a target folder has or brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_attest.annotations import ProjectFile, read_project_file
from dbt_attest.errors import InputError
from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.demand import NOTHING_ASKED, Demand, find_demand
from dbt_attest.resolution.gaps import SEVERITIES, Gap, find_gaps
from dbt_attest.resolution.held import Held
from dbt_attest.resolution.readiness import Readiness, find_readiness
from dbt_attest.resolution.warehouse import Warehouse
from dbt_attest.warehouse.contract import quoted, unquoted
from dbt_attest.warehouse.garbage import without_collector
from dbt_attest.warehouse.thrown_away import SCHEMA, copy_evidence, in_memory, record_manifest

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Checked:
    """What a check found, the worst first, of those what more questions asked for, and always in one order.

    `place` is the warehouse or manifest that was checked, `against` what it was compared with. `before` counts
    gaps that were there before and are not in `gaps`; it is 0 where nothing was compared. `demand` is what was
    asked and not answered.
    """

    place: Path
    environment: str
    against: Path | None
    gaps: tuple[Gap, ...]
    before: int = 0
    demand: Demand = NOTHING_ASKED

    @property
    def counts(self) -> dict[str, int]:
        """How many gaps there are of each severity."""
        return {severity: sum(gap.severity == severity for gap in self.gaps) for severity in SEVERITIES}

    def as_json(self) -> dict[str, Any]:
        """The check as JSON values."""
        return {
            "checked": str(self.place),
            "against": None if self.against is None else str(self.against),
            "environment": self.environment,
            "counts": self.counts,
            "gaps_before": self.before,
            "gaps": [gap.as_json() | {"questions": self.demand.questions(gap.entity)} for gap in self.gaps],
            "demand": self.demand.as_json(),
        }


def check_warehouse(
    path: Path, *, schema: str | None = None, environment: str, questions: Path | None = None
) -> Checked:
    """The gaps that a warehouse knows of an environment; `questions` is an audit, which tells what is asked for.

    Raises WarehouseError where it cannot be read, InputError where nothing of the environment was collected.
    """
    with _collected(path, schema, environment) as (connection, in_schema):
        demand = find_demand(
            connection, in_schema, environment, questions, _asking(connection, in_schema, path)
        )
        found = find_gaps(connection, in_schema, environment)
        return Checked(path, environment, None, _by_demand(found, demand), demand=demand)


@without_collector()
def check_target(
    project_dir: Path,
    target_dir: Path,
    *,
    environment: str | None = None,
    against: Path | None = None,
    questions: Path | None = None,
) -> Checked:
    """The gaps of a target folder; with `against`, an earlier manifest.json, the folder of one, or a
    warehouse, only those that were not there before.

    No warehouse is needed and none is written. attest.yml and documents are those of `project_dir`, of an
    earlier manifest those of the dbt project that it lies in, if it is in another folder. Raises
    InputError and AnnotationErrors as `attest build` does, WarehouseError where `against` cannot be read.
    """
    project_file = read_project_file(project_dir / "attest.yml")
    environment = environment or project_file.environment
    manifest = target_dir / "manifest.json"
    with in_memory() as connection:
        before = _gaps_before(connection, project_dir, project_file, environment, against)
        record_manifest(connection, project_dir, manifest, project_file, environment)
        demand = find_demand(connection, SCHEMA, environment, questions)
        found = find_gaps(connection, SCHEMA, environment)
    known = {gap.identity for gap in before}
    new = tuple(gap for gap in found if gap.identity not in known)
    return Checked(manifest, environment, against, _by_demand(new, demand), len(found) - len(new), demand)


def readiness_of_warehouse(
    path: Path,
    domain: str,
    manifest: Path,
    *,
    schema: str | None = None,
    environment: str,
    questions: Path | None = None,
) -> Readiness:
    """How ready a domain is by what a warehouse knows; tags and groups are read from the manifest."""
    with _collected(path, schema, environment) as (connection, in_schema):
        demand = find_demand(
            connection, in_schema, environment, questions, _asking(connection, in_schema, path)
        )
        return find_readiness(connection, in_schema, environment, domain, manifest, demand)


@without_collector()
def readiness_of_target(
    project_dir: Path,
    target_dir: Path,
    domain: str,
    *,
    environment: str | None = None,
    questions: Path | None = None,
) -> Readiness:
    """How ready a domain is by a target folder alone."""
    project_file = read_project_file(project_dir / "attest.yml")
    environment = environment or project_file.environment
    manifest = target_dir / "manifest.json"
    with in_memory() as connection:
        record_manifest(connection, project_dir, manifest, project_file, environment)
        demand = find_demand(connection, SCHEMA, environment, questions)
        return find_readiness(connection, SCHEMA, environment, domain, manifest, demand)


def _asking(connection: duckdb.DuckDBPyConnection, schema: str, path: Path) -> Warehouse:
    return Held(connection, quoted(schema), Warehouse(path))


def _by_demand(gaps: tuple[Gap, ...], demand: Demand) -> tuple[Gap, ...]:
    """Of each severity first what most questions got no answer about; the order else stays."""
    asked = {gap.entity: demand.questions(gap.entity) for gap in gaps} if demand.unanswered else {}
    return tuple(sorted(gaps, key=lambda gap: (SEVERITIES.index(gap.severity), -asked.get(gap.entity, 0))))


@contextmanager
def _collected(
    path: Path, schema: str | None, environment: str
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """A warehouse with something of the environment in it, and its schema: of nothing, no gap says nothing."""
    with Warehouse(path, schema=schema).connection() as (connection, quoted_schema):
        rows = rows_of(
            connection, f"select distinct environment from {quoted_schema}.collections order by 1", None
        )
        there = [row["environment"] for row in rows]
        if environment not in there:
            found = f"those of {', '.join(there)}" if there else "none"
            raise InputError(
                f"{path}: expected a collection of environment {environment}, found {found}; name one with "
                "--environment, or run `attest build`."
            )
        yield connection, unquoted(quoted_schema)


def _gaps_before(
    connection: duckdb.DuckDBPyConnection,
    project_dir: Path,
    project_file: ProjectFile,
    environment: str,
    against: Path | None,
) -> tuple[Gap, ...]:
    if against is None:
        return ()
    earlier = against / "manifest.json" if against.is_dir() else against
    if earlier.suffix == ".json":
        # beside a checkout's own manifest lie its own rules and documents
        checkout = next(
            (one for one in earlier.resolve().parents if (one / "dbt_project.yml").exists()), None
        )
        if checkout is not None and checkout != project_dir.resolve():
            project_dir, project_file = checkout, read_project_file(checkout / "attest.yml")
        record_manifest(connection, project_dir, earlier, project_file, environment)
    else:
        with _collected(earlier, None, environment):
            pass  # what lacks the environment would make everything new
        copy_evidence(connection, earlier, None, environment)
    return find_gaps(connection, SCHEMA, environment)
