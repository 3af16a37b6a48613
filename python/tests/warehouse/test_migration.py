"""Moving to a new version: an older warehouse is brought forward without loss, or refused with a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from dbt_attest import resolution
from dbt_attest.errors import WarehouseError
from dbt_attest.warehouse import contract
from dbt_attest.warehouse.building import build
from dbt_attest.warehouse.contract import bring_up_to_date, evidence_tables

FROZEN = Path(__file__).with_name("contract_1.sql")
FEBRUARY = "2025-02-10T09:00:00Z"


def frozen_tables():
    """What `contract_1.sql` is to be until version 1 is released; then it is never written again."""
    lines = ["-- The evidence tables of contract version 1, frozen: a warehouse that people have."]
    for table, columns in evidence_tables().items():
        described = ",\n".join(f"  {name} {data_type}" for name, data_type in columns.items())
        lines.append(f"create table attest.{table} (\n{described}\n);")
    return "\n".join(lines) + "\n"


#: What was recorded in it: a definition, and in another collection its correction and another one's removal.
RECORDED = {
    "contract_versions": [{"version": 1, "applied_at": "2025-01-10 10:00:00+00"}],
    "collections": [
        {"collection_id": f"c{month}", "project_name": "shop", "environment": "prod",
         "manifest_id": f"m{month}", "artifact_ids": [f"m{month}"], "generated_at": f"2025-0{month}-05 09:00:00+00",
         "known_until": f"2025-0{month}-05 09:00:00+00", "disabled": [],
         "ingested_at": f"2025-0{month}-05 10:00:00+00"}
        for month in (1, 2)
    ],
    "assertions": [
        {"evidence_id": evidence_id, "stated": stated, "definition": said if stated else None,
         "environment": "prod", "entity_id": f"metric.{evidence_id}", "content_hash": said,
         "state_hash": said,
         "project_name": "shop", "package_name": "shop", "node_id": f"metric.shop.{evidence_id}",
         "asserted_at": f"2025-0{month}-05 09:00:00+00", "generated_at": f"2025-0{month}-05 09:00:00+00",
         "artifact_id": f"m{month}", "collection_id": f"c{month}", "names": ["n"], "version": "1",
         "status": "approved", "authority": "authoritative", "effective_from": "2024-01-01",
         "permissions": ["everyone"], "supersedes": [], "superseded_by": [], "links_elsewhere": False,
         "ingested_at": f"2025-0{month}-05 10:00:00+00"}
        for evidence_id, month, said, stated in [
            ("v1", 1, "first", True), ("gone", 1, "gone", True),
            ("v1", 2, "corrected", True), ("gone", 2, "", False)]
    ],
}  # fmt: skip


@pytest.fixture
def version_1(tmp_path, make_project, make_manifest):
    """A project whose stand-alone warehouse was made by the first release."""
    path = tmp_path / "evidence.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema attest")
        connection.execute(FROZEN.read_text(encoding="utf-8"))
        for table, rows in RECORDED.items():
            lines = tmp_path / "rows.json"
            lines.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
            kinds = dict(
                connection.execute(
                    "select column_name, data_type from duckdb_columns() where table_name = $table",
                    {"table": table},
                ).fetchall()
            )
            described = ", ".join(f"{name}: '{kind}'" for name, kind in kinds.items())
            connection.execute(
                f"insert into attest.{table} by name from read_json('{lines}', columns = {{{described}}})"
            )
    stated = {"entity_id": "metric.v1", "evidence_id": "v1", "authority": "authoritative"}
    make_project(tmp_path, make_manifest("2025-03-05T09:00:00Z", {"v1": stated | {
        "permissions": ["everyone"], "effective_from": "2024-01-01", "definition": "of March"}}))  # fmt: skip
    return path


def _content(path):
    """Every row of every table that there is, as text."""
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.execute(
            "select table_name from duckdb_tables() where schema_name = 'attest' order by 1"
        ).fetchall()
        return {
            table: sorted(map(str, connection.execute(f"from attest.{table}").fetchall()))
            for (table,) in tables
        }


def _migrated(path):
    connection = duckdb.connect(str(path))
    try:
        bring_up_to_date(connection, path, "attest")
    finally:
        connection.close()


@pytest.fixture
def version_2(monkeypatch):
    """A next release, which says another word for one thing, says one thing more, and has one more table."""
    tables = {table: dict(columns) for table, columns in evidence_tables().items()}
    tables["assertions"]["said_by"] = tables["assertions"].pop("approved_by")
    tables["collections"]["branch"] = "varchar"
    tables["reviews"] = {"evidence_id": "varchar"}
    monkeypatch.setattr(contract, "CONTRACT_VERSION", 2)
    monkeypatch.setattr(contract, "evidence_tables", lambda: tables)
    steps = (
        "alter table {schema}.assertions rename column approved_by to said_by",
        "alter table {schema}.collections add column branch varchar",
        "update {schema}.collections set branch = environment",
    )
    monkeypatch.setattr(contract, "MIGRATIONS", {1: steps})
    return steps


@pytest.mark.skipif(contract.CONTRACT_VERSION > 1, reason="version 1 is what it was")
def test_the_frozen_tables_are_those_of_version_1():
    """Before the first release: write contract_1.sql again. After it: a new version and its step."""
    assert FROZEN.read_text(encoding="utf-8") == frozen_tables()


def test_every_version_since_the_first_has_a_step_forward():
    assert sorted(contract.MIGRATIONS) == list(range(1, contract.CONTRACT_VERSION))


def test_a_warehouse_of_the_first_version_goes_on_without_loss(version_1):
    before = _content(version_1)
    recorded = build(version_1.parent).recorded
    assert (recorded.changed, recorded.no_longer_stated) == (1, 0)
    after = _content(version_1)
    assert all(set(rows) <= set(after[table]) for table, rows in before.items())
    asked = resolution.open(version_1)
    assert [asked.resolve("metric.v1", known_at=f"2025-0{month}-20").definition for month in (1, 2, 3)] == [
        "first",
        "corrected",
        "of March",
    ]


@pytest.mark.usefixtures("version_2")
def test_a_step_forward_loses_nothing(version_1):
    before = _content(version_1)
    _migrated(version_1)
    after = _content(version_1)
    assert {table: len(rows) for table, rows in before.items()} | {"reviews": 0, "contract_versions": 2} == {
        table: len(rows) for table, rows in after.items()
    }
    with duckdb.connect(str(version_1)) as connection:
        assert connection.execute("select version from attest.contract_versions").fetchall() == [(1,), (2,)]
        assert connection.execute("select distinct branch from attest.collections").fetchall() == [("prod",)]
        assert connection.execute("select said_by from attest.assertions limit 1").fetchall() == [(None,)]
        definitions = connection.execute("select definition from attest.assertions where stated").fetchall()
    assert sorted(definitions) == [("corrected",), ("first",), ("gone",)]
    _migrated(version_1)
    assert _content(version_1) == after


def test_a_step_that_fails_leaves_the_old_version(version_1, version_2, monkeypatch):
    monkeypatch.setattr(contract, "MIGRATIONS", {1: (*version_2, "select * from {schema}.nowhere")})
    before = _content(version_1)
    with pytest.raises(duckdb.CatalogException):
        _migrated(version_1)
    assert _content(version_1) == before


@pytest.mark.usefixtures("version_2")
def test_a_question_to_an_older_warehouse_says_what_brings_it_forward(version_1):
    with pytest.raises(WarehouseError, match=re.escape("found version 1; run `attest build` once")):
        resolution.open(version_1)


@pytest.mark.usefixtures("version_2")
def test_an_older_version_without_a_step_is_refused(version_1, monkeypatch):
    monkeypatch.setattr(contract, "MIGRATIONS", {})
    before = _content(version_1)
    with pytest.raises(WarehouseError, match="found version 1; make it again from the archive"):
        _migrated(version_1)
    assert _content(version_1) == before


@pytest.mark.parametrize("act", [lambda path: build(path.parent), resolution.open], ids=["build", "question"])
def test_a_newer_warehouse_is_refused_and_left_alone(version_1, act):
    with duckdb.connect(str(version_1)) as connection:
        connection.execute("insert into attest.contract_versions values (2, now())")
    before = version_1.read_bytes()
    with pytest.raises(WarehouseError, match=r"expected evidence of contract version 1 .* found version 2; "):
        act(version_1)
    assert version_1.read_bytes() == before
