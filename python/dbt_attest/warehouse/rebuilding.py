"""`attest verify --rebuild`: a new warehouse from the archive, compared with the present one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_attest.annotations import read_project_file
from dbt_attest.errors import InputError, WarehouseError
from dbt_attest.warehouse.archive import InArchive, is_archive, read_archive
from dbt_attest.warehouse.building import archive_dir
from dbt_attest.warehouse.contract import check_version, evidence_tables, quoted
from dbt_attest.warehouse.files import connect, find_schema
from dbt_attest.warehouse.replay import Progress, Replay, Skipped, replay
from dbt_attest.warehouse.resolvers import resolvers_present
from dbt_attest.warehouse.writing import STAND_ALONE_SCHEMA, Destination

if TYPE_CHECKING:
    import duckdb

_EXAMPLES = 5
# When this warehouse learned of something, and by which release, is no answer.
_NOT_COMPARED = {"collection_id", "ingested_at", "attest_version"}
# Assertions are compared as the resolvers know them. Findings are about reading: of what could not be read at
# all, nothing is in the archive.
_NO_ANSWERS = {"assertions", "contract_versions", "reader_findings", "redactions"}


@dataclass(frozen=True)
class Difference:
    """What differs in one kind of rows of one environment; `examples` name some of the rows."""

    what: str
    environment: str
    only_in_warehouse: int
    only_in_rebuilt: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Rebuilt:
    """What the comparison found; `collections` and `definitions` count what the rebuilt warehouse has."""

    warehouse: Path
    archive: Path
    collections: int
    definitions: int
    differences: tuple[Difference, ...]
    skipped: tuple[Skipped, ...]

    @property
    def identical(self) -> bool:
        """Whether both give the same answers, and everything in the archive could be read."""
        return not self.differences and not self.skipped

    def as_json(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return {
            "identical": self.identical,
            "warehouse": str(self.warehouse),
            "archive": str(self.archive),
            "collections": self.collections,
            "definitions": self.definitions,
            "skipped": [vars(one) for one in self.skipped],
            "differences": [vars(one) for one in self.differences],
        }


def rebuild_and_compare(
    project_dir: Path,
    *,
    archive: Path | None = None,
    warehouse: Path | None = None,
    progress: Progress[InArchive] = iter,
) -> Rebuilt:
    """Make a new warehouse from the archive, in a temporary folder, and compare it with the present one.

    Raises InputError where there is no archive, WarehouseError where the warehouse cannot be asked.
    """
    project_file = read_project_file(project_dir / "attest.yml")
    archive = archive or archive_dir(project_dir, project_file)
    if archive is None:
        raise InputError(
            f"{project_dir / 'attest.yml'}: expected the key `archive`, found none; add `archive: "
            ".attest/artifacts`, and what is built from then on can be rebuilt."
        )
    if not is_archive(archive):
        raise InputError(f"{archive}: expected an archive, found none; `attest build` makes one.")
    path = warehouse or project_dir / (project_file.warehouse or "evidence.duckdb")
    with tempfile.TemporaryDirectory(prefix="attest-rebuild-") as folder:
        present = _Rows(path, Path(folder) / "present")
        found, broken = read_archive(archive)
        done = Replay(skipped=[Skipped(*one) for one in broken])
        new = Destination(
            Path(folder) / "rebuilt.duckdb", STAND_ALONE_SCHEMA, False, project_file.environment
        )
        replay(progress(found), new, None, 0, done)
        rebuilt = _Rows(new.path, Path(folder) / "rebuilt")
        return Rebuilt(
            warehouse=path,
            archive=archive,
            collections=rebuilt.counts["collections"],
            definitions=rebuilt.counts["recorded_assertions"],
            differences=tuple(_differences(present, rebuilt)),
            skipped=tuple(done.skipped),
        )


class _Rows:
    """What of a warehouse is compared, in files: neither it nor its copy stays open."""

    def __init__(self, path: Path, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.counts: dict[str, int] = {}
        connection = connect(path, read_only=True)
        try:
            schema = find_schema(connection, path)
            check_version(connection, path, schema)
            if not resolvers_present(connection, schema):
                raise WarehouseError(
                    f"{path}: expected the resolvers in the warehouse, found none; run `dbt build` in the "
                    "project that has the dbt package attest."
                )
            for name, query in _queries(quoted(schema)).items():
                written = connection.execute(
                    f"copy (select distinct * from ({query})) to '{_text(self.file(name))}' (format parquet)"
                ).fetchall()
                self.counts[name] = written[0][0]
        finally:
            connection.close()

    def file(self, name: str) -> Path:
        """The file of one kind of rows."""
        return self.folder / f"{name}.parquet"


def _queries(schema: str) -> dict[str, str]:
    """Of each kind of rows, the query; each has a column `of`, the environment, and `example`, for people.

    Answers are functions of `recorded_assertions`, which has every D and K, of the lineage and of the facts.
    """
    read = f"(select distinct unnest(artifact_ids) as artifact_id, environment from {schema}.collections)"
    queries = {
        "recorded_assertions": "select environment as of, evidence_id || ' known from ' || known_from as "
        f"example, * exclude (environment) from {schema}.recorded_assertions",
        "definition_timeline": "select environment as of, evidence_id || ' from ' || valid_from as example, "
        f"* exclude (environment) from {schema}.definition_timeline",
        "lineage_edges": f"""
            select environment as of, from_node || ' → ' || to_node as example, project_name, kind, strength,
              broken, stated, asserted_at
            from {schema}.lineage_edges
            qualify (stated, strength, broken) is distinct from lag((stated, strength, broken)) over (
              partition by environment, project_name, from_node, to_node, kind
              order by asserted_at, generated_at, artifact_id, ingested_at)
            """,
        "artifacts": "select read.environment as of, artifact.path as example, artifact.artifact_id, "
        f"artifact.kind, artifact.git_commit from {schema}.artifacts as artifact "
        f"join {read} as read on read.artifact_id = artifact.artifact_id",
    }
    for table, columns in evidence_tables().items():
        if table in queries or table in _NO_ANSWERS:
            continue
        compared = [column for column in columns if column not in _NOT_COMPARED]
        listed = ", ".join(f"rows.{quoted(column)}" for column in compared)
        example = ", ".join(
            f"cast(rows.{quoted(column)} as varchar)"
            for column in [column for column in compared if columns[column] == "varchar"][:4]
        )
        if "environment" in columns:
            queries[table] = (
                f"select rows.environment as of, concat_ws(' ', {example}) as example, {listed} "
                f"from {schema}.{quoted(table)} as rows"
            )
            continue
        owner = "collection_id" if "collection_id" in columns else "project_file_id"
        queries[table] = (
            f"select owner.environment as of, concat_ws(' ', {example}) as example, {listed} "
            f"from {schema}.{quoted(table)} as rows "
            f"join {schema}.collections as owner on owner.{owner} = rows.{owner}"
        )
    return queries


def _differences(present: _Rows, rebuilt: _Rows) -> Iterator[Difference]:
    with _nowhere() as connection:
        for name in present.counts:
            here, there = (f"read_parquet('{_text(one.file(name))}')" for one in (present, rebuilt))
            rows = connection.execute(
                f"""
                with
                one_sided as (
                  select of, example, true as here from (from {here} except from {there})
                  union all
                  select of, example, false from (from {there} except from {here})
                )
                select coalesce(of, ''), count(*) filter (here), count(*) filter (not here),
                  list(distinct example order by example)[:{_EXAMPLES}]
                from one_sided group by all order by all
                """
            ).fetchall()
            for environment, here_only, there_only, examples in rows:
                yield Difference(
                    name.replace("_", " "), environment, here_only, there_only, tuple(filter(None, examples))
                )


@contextmanager
def _nowhere() -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    connection = duckdb.connect()
    try:
        connection.execute("set timezone = 'UTC'")
        yield connection
    finally:
        connection.close()


def _text(path: Path) -> str:
    return str(path).replace("'", "''")
