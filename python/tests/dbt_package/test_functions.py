"""The table functions: one row for every question, whatever the types, the session and the file's name."""

from __future__ import annotations

import json
import shutil
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest

from .conftest import SCHEMA, Project

Connection = duckdb.DuckDBPyConnection


def on(
    connection: Connection, arguments: str, columns: str = "outcome, reason, evidence_id"
) -> tuple[Any, ...]:
    found = connection.execute(f"select {columns} from definition_on({arguments})").fetchall()
    assert len(found) == 1, f"{len(found)} rows for {arguments}"
    return found[0]


V1, V2 = ("answer", "in_force", "B.v1"), ("answer", "in_force", "B.v2")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("'metric.b', '2024-06-30'", V1),
        ("'metric.b', '2024-07-01'", V2),
        ("'metric.b', '2023-12-31'", ("abstain", "before_first", None)),
        ("'b', '2024-07-01'", V2),
        ("'metric.nowhere', '2024-07-01'", ("abstain", "unknown_entity", None)),
        ("null, '2024-07-01'", ("abstain", "unknown_entity", None)),
        ("'metric.plan', '2024-07-01'", ("deny", "not_permitted", None)),
        ("'metric.b', '2024-08-01', known_at := '2023-12-14'", ("abstain", "not_recorded_yet", None)),
        ("'metric.b', '2024-07-01', environment := 'staging'", ("abstain", "nothing_collected", None)),
    ],
)
def test_exactly_one_row(ask: Connection, arguments: str, expected: tuple[Any, ...]) -> None:
    assert on(ask, arguments) == expected


def test_one_row_before_anything_was_collected(before_collection: Project) -> None:
    for arguments in ("'metric.b', '2024-07-01'", "'metric.b', null"):
        found = before_collection.sql(f"select outcome, reason from {SCHEMA}.definition_on({arguments})")
        assert found == [("abstain", "nothing_collected")]
    found = before_collection.sql(
        f"select outcome, reason from {SCHEMA}.definition_between('metric.b', '2024-01-01', '2024-12-31')"
    )
    assert found == [("abstain", "nothing_collected")]


def test_without_a_date_today_is_assumed_and_said(ask: Connection) -> None:
    today = datetime.now(timezone.utc).date()
    assert on(ask, "'metric.b', null", "evidence_id, on_date, assumed_today") == ("B.v2", today, True)
    assert on(ask, "'metric.b', '2024-07-01'", "on_date, assumed_today") == (date(2024, 7, 1), False)


def test_an_entity_named_like_a_parameter_is_an_entity_like_any_other(ask: Connection) -> None:
    assert on(ask, "'entity', '2024-07-01'") == ("answer", "in_force", "ENTITY.v1")


@pytest.mark.parametrize(
    "on_date",
    [
        "'2024-06-30'",
        "date '2024-06-30'",
        "timestamp '2024-06-30 23:59:59'",
        "timestamptz '2024-07-01 08:59:59+09:00'",
        "'2024-06-30'::varchar",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_every_form_of_date_in_every_time_zone(ask: Connection, zone: str, on_date: str) -> None:
    ask.execute(f"set timezone = '{zone}'")
    assert on(ask, f"'metric.b', {on_date}", "evidence_id, on_date") == ("B.v1", date(2024, 6, 30))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize(
    ("known_at", "expected"),
    [
        ("'2024-06-10T09:00:00Z'", "B.v2"),
        ("'2024-06-10T08:59:59Z'", "B.v1"),
        ("'2024-06-10 09:00'", "B.v2"),
        ("'2024-06-10 08:59:59'", "B.v1"),
        ("'2024-06-10T18:00:00+09:00'", "B.v2"),
        ("'2024-06-10T04:59:59-0400'", "B.v1"),
        ("timestamp '2024-06-10 09:00:00'", "B.v2"),
        ("timestamp '2024-06-10 08:59:59'", "B.v1"),
        ("timestamptz '2024-06-10 18:00:00+09:00'", "B.v2"),
        ("timestamptz '2024-06-10 17:59:59+09:00'", "B.v1"),
        ("date '2024-06-10'", "B.v2"),
        ("date '2024-06-09'", "B.v1"),
        ("'2024-06-10'", "B.v2"),
        ("'2024-06-09'", "B.v1"),
        ("null", "B.v2"),
    ],
)
def test_every_form_of_known_at_in_every_time_zone(
    ask: Connection, zone: str, known_at: str, expected: str
) -> None:
    ask.execute(f"set timezone = '{zone}'")
    assert on(ask, f"'metric.b', '2024-08-01', known_at := {known_at}") == ("answer", "in_force", expected)


def test_whole_rows_are_the_same_in_every_time_zone(ask: Connection) -> None:
    found = set()
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        ask.execute(f"set timezone = '{zone}'")
        row = on(ask, "'metric.b', '2024-08-01', known_at := '2024-09-01'", "columns(*)")
        found.add(str([one.astimezone(timezone.utc) if isinstance(one, datetime) else one for one in row]))
    assert len(found) == 1


@pytest.mark.parametrize(
    "groups", ["'readers'", "'others, readers'", "['others', 'readers']", "'readers,'", "['readers', null]"]
)
def test_groups_as_text_or_list(collected: Project, groups: str) -> None:
    with duckdb.connect(collected.folder / collected.database, read_only=True) as connection:
        connection.execute(f"use {SCHEMA}")
        assert on(connection, f"'metric.b', '2024-06-30', groups := {groups}") == V1


@pytest.mark.parametrize("groups", ["'readers'", "'others, readers'", "['others', 'readers']"])
def test_groups_of_the_session(collected: Project, groups: str) -> None:
    with duckdb.connect(collected.folder / collected.database, read_only=True) as connection:
        connection.execute(f"use {SCHEMA}")
        assert on(connection, "'metric.b', '2024-06-30'") == ("deny", "not_permitted", None)
        connection.execute(f"set variable attest_groups = {groups}")
        assert on(connection, "'metric.b', '2024-06-30'") == V1
        denied = on(connection, "'metric.b', '2024-06-30', groups := 'others'")
        assert denied == ("deny", "not_permitted", None)


@pytest.mark.parametrize(
    "scope",
    ["map {'region': 'EU'}", "{region: 'EU'}", "{'region': 'EU', 'team': 3}", """'{"region": "EU"}'"""],
)
def test_scope_as_map_struct_or_json(ask: Connection, scope: str) -> None:
    assert on(ask, f"'metric.regional', '2024-06-30', scope := {scope}") == ("answer", "in_force", "EU.v1")
    assert on(ask, "'metric.regional', '2024-06-30'") == ("clarify", "scope_needed", None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("'metric.b', '2024-02-30'", "attest: expected a date such as 2025-06-30, found 2024-02-30"),
        ("'metric.b', 'yesterday'", "attest: expected a date such as 2025-06-30, found yesterday"),
        (
            "'metric.b', '2024-06-30', known_at := 'soon'",
            "attest: expected known_at as an instant such as 2025-06-30T12:00:00Z, found soon",
        ),
        (
            "'metric.b', '2024-06-30', known_at := '2024-02-30'",
            "attest: expected known_at as an instant such as 2025-06-30T12:00:00Z, found 2024-02-30",
        ),
        (
            "'metric.b', '2024-06-30', known_at := '2999-01-01'",
            "attest: known_at lies in the future: 2999-01-01",
        ),
        (
            "'metric.b', '2024-06-30', known_at := '2999-01-01T00:00:00Z'",
            "attest: known_at lies in the future: 2999-01-01T00:00:00Z",
        ),
    ],
)
def test_bad_argument_is_one_clear_sentence(ask: Connection, arguments: str, sentence: str) -> None:
    with pytest.raises(duckdb.Error) as raised:
        on(ask, arguments)
    assert str(raised.value).removeprefix("Invalid Input Error: ") == sentence


@pytest.mark.parametrize("scope", ["'region=EU'", "'[1]'", "42"])
def test_bad_scope_is_one_clear_sentence(ask: Connection, scope: str) -> None:
    with pytest.raises(duckdb.Error, match="attest: expected scope as a map, a struct or a JSON object"):
        on(ask, f"'metric.b', '2024-06-30', scope := {scope}")


def test_period_that_ends_before_it_begins(ask: Connection) -> None:
    with pytest.raises(duckdb.Error, match="the period ends before it begins: 2024-07-01 to 2024-06-30"):
        ask.execute("from definition_between('metric.b', '2024-07-01', '2024-06-30')").fetchall()


def test_between_has_one_row_with_clipped_segments(ask: Connection) -> None:
    ((outcome, segments),) = ask.execute(
        "select outcome, segments from definition_between('metric.b', '2024-05-01', '2024-08-31')"
    ).fetchall()
    assert outcome == "split"
    assert [(one["from"], one["to"], one["outcome"], one["evidence_id"]) for one in segments] == [
        (date(2024, 5, 1), date(2024, 6, 30), "answer", "B.v1"),
        (date(2024, 7, 1), date(2024, 8, 31), "answer", "B.v2"),
    ]


def test_renamed_and_attached_file_still_answers(collected: Project, tmp_path: Path) -> None:
    renamed = tmp_path / "evidence of 2024.duckdb"
    shutil.copy(collected.folder / collected.database, renamed)
    with duckdb.connect() as connection:
        connection.execute(f"attach '{renamed}' as elsewhere (read_only)")
        view = f"elsewhere.{SCHEMA}.definition_timeline"
        timeline = f"select evidence_id, valid_to from {view} where entity_id = 'metric.b'"
        assert sorted(connection.execute(timeline).fetchall(), key=str) == [
            ("B.v1", date(2024, 7, 1)),
            ("B.v2", None),
        ]
        assert connection.execute("select evidence_id from elsewhere.main.asked_on").fetchall() == [("B.v1",)]
        # what DuckDB 1.5 keeps of a `ref` in people's own view is the name that the file had
        if duckdb.__version__ >= "2":
            defined = connection.execute("select count(*) from elsewhere.main.orders_defined").fetchall()
            assert defined == [(9,)]
        connection.execute("use elsewhere")
        question = "'metric.b', '2024-06-30', groups := 'readers'"
        asked = f"select evidence_id from {SCHEMA}.definition_on({question})"
        assert connection.execute(asked).fetchall() == [("B.v1",)]
        connection.execute(f"from {SCHEMA}.support_on({question})")


def test_no_catalog_in_any_body(collected: Project) -> None:
    bodies = collected.sql(
        f"""
        select view_name, sql from duckdb_views() where schema_name = '{SCHEMA}'
        union all
        select function_name, macro_definition from duckdb_functions() where schema_name = '{SCHEMA}'
        """
    )
    assert len(bodies) >= 6
    assert [name for name, body in bodies if f"shop.{SCHEMA}" in body.replace('"', "")] == []


def test_every_resolver_is_documented_column_by_column(collected: Project) -> None:
    """What their YAML says is what the views and functions give, names, order and types."""
    questions = {
        "definition_on": "('x', '2024-01-01')",
        "definition_between": "('x', '2024-01-01', '2024-01-02')",
        "support_on": "('x', '2024-01-01')",
        "names_like": "('x')",
        "definition_history": "('x')",
        "definition_changes_of": "('x')",
        "definition_timeline_at": "(null)",
        "explain_on": "('x', '2024-01-01')",
        "lineage_upstream": "('x')",
        "lineage_downstream": "('x')",
        "lineage_path": "('x', 'y')",
        "lineage_impact": "('x')",
        "source_freshness_on": "('x')",
    }
    manifest = collected.manifest()
    views = {
        node["name"]: (node["description"], list(node["columns"].values()))
        for unique_id, node in manifest["nodes"].items()
        if unique_id.startswith("model.attest.") and node["config"]["materialized"] == "view"
    }
    functions = {
        macro["name"].removesuffix("_function"): (macro["description"], macro["meta"]["columns"])
        for unique_id, macro in manifest["macros"].items()
        if unique_id.startswith("macro.attest.") and macro["meta"]
    }
    found = collected.sql(f"select function_name from duckdb_functions() where schema_name = '{SCHEMA}'")
    assert {name for (name,) in found} == functions.keys() == questions.keys()
    listed = manifest["nodes"]["model.attest.resolver_functions"]["columns"]
    assert listed.keys() == functions.keys()
    assert len(views) >= 4
    for name, (description, columns) in (views | functions).items():
        described = collected.sql(f"describe from {SCHEMA}.{name}{questions.get(name, '')}")
        actual = [(column, kind.replace('"', "").lower()) for column, kind, *_ in described]
        documented = [
            (column["name"], column["data_type"].replace("timestamptz", "timestamp with time zone"))
            for column in columns
        ]
        assert documented == actual, name
        assert description, name
        assert all(column["description"] for column in columns), json.dumps(columns)
