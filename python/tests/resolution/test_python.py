"""The Python face: `dbt_attest.open(…).resolve(…)`."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone

import pytest

import dbt_attest
from dbt_attest import InputError, Requester, Resolution, WarehouseError

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["readers"],
      "effective_from": "2024-01-01", "definition": "first", "aliases": ["turnover"]}  # fmt: skip
V2 = V1 | {"evidence_id": "v2", "effective_from": "2024-07-01", "supersedes": ["v1"], "definition": "second"}
EU = V2 | {"evidence_id": "eu", "scope": {"region": "EU"}, "supersedes": []}
READERS = Requester(groups=["readers"])


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory, world_in):
    world = world_in(tmp_path_factory.mktemp("python"))
    world.collect("2023-12-15T00:00:00Z", {"v1": V1})
    world.collect("2024-06-10T09:00:00Z", {"v1": V1, "v2": V2})
    world.collect(
        "2024-06-11T09:00:00Z",
        {"v1": V1, "v2": V2, "eu": EU | {"entity_id": "metric.s"}},
        environment="branch",
    )
    return dbt_attest.open(world.warehouse)


def test_one_day(warehouse):
    found = warehouse.resolve("metric.b", on=date(2024, 8, 1), requester=READERS)
    assert isinstance(found, Resolution)
    assert (found.outcome, found.evidence_id, found.definition) == ("answer", "v2", "second")
    assert (found.on, found.from_date, found.to_date, found.assumed_today) == (date(2024, 8, 1),) * 3 + (
        False,
    )
    assert (found.valid_from, found.valid_to) == (date(2024, 7, 1), None)
    assert found.recorded_at == datetime(2024, 6, 10, 9, tzinfo=timezone.utc)
    assert found.support is None


def test_today_is_assumed_and_said(warehouse):
    found = warehouse.resolve("metric.b", requester=READERS)
    assert (found.evidence_id, found.assumed_today) == ("v2", True)
    assert found.on == datetime.now(timezone.utc).date()


@pytest.mark.parametrize(
    "asked",
    [
        {"during": "2024"},
        {"between": (date(2024, 1, 1), date(2024, 12, 31))},
        {"between": ("2024-01-01", "2024-12-31")},
    ],
)
def test_a_period(warehouse, asked):
    found = warehouse.resolve("metric.b", requester=READERS, **asked)
    assert (found.outcome, found.on) == ("split", None)
    assert [(part.from_date, part.to_date, part.evidence_id) for part in found.segments] == [
        (date(2024, 1, 1), date(2024, 6, 30), "v1"),
        (date(2024, 7, 1), date(2024, 12, 31), "v2"),
    ]


@pytest.mark.parametrize(
    ("during", "first", "last"),
    [
        ("2024", date(2024, 1, 1), date(2024, 12, 31)),
        ("2024-Q3", date(2024, 7, 1), date(2024, 9, 30)),
        ("2024q1", date(2024, 1, 1), date(2024, 3, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
    ],
)
def test_during(warehouse, during, first, last):
    found = warehouse.resolve("metric.b", during=during, requester=READERS)
    assert (found.from_date, found.to_date) == (first, last)


@pytest.mark.parametrize(
    "known_at", [datetime(2024, 6, 10, 8, 59, tzinfo=timezone.utc), date(2024, 6, 9), "2024-06-09"]
)
def test_known_at(warehouse, known_at):
    found = warehouse.resolve("metric.b", on="2024-08-01", known_at=known_at, requester=READERS)
    assert found.evidence_id == "v1"


def test_a_known_at_without_offset_is_utc(warehouse):
    asked = {"on": "2024-08-01", "requester": READERS}
    assert warehouse.resolve("metric.b", known_at=datetime(2024, 6, 10, 9), **asked).evidence_id == "v2"
    assert warehouse.resolve("metric.b", known_at=datetime(2024, 6, 10, 8, 59), **asked).evidence_id == "v1"


@pytest.mark.parametrize("groups", ["readers", ["readers"], ("others", "readers"), {"readers"}])
def test_the_requesters_groups_in_every_form(warehouse, groups):
    assert warehouse.resolve("metric.b", requester=Requester(groups)).outcome == "answer"


def test_without_groups_only_everyone(warehouse):
    assert warehouse.resolve("metric.b").outcome == "deny"
    assert Requester("readers").groups == ("readers",)


def test_environment_and_scope(warehouse):
    asked = {"on": "2024-08-01", "requester": READERS, "environment": "branch"}
    assert warehouse.resolve("metric.s", **asked).outcome == "clarify"
    assert warehouse.resolve("metric.s", scope={"region": "EU"}, **asked).evidence_id == "eu"
    assert warehouse.resolve("metric.s", on="2024-08-01", requester=READERS).reason == "unknown_entity"
    branch = dbt_attest.open(warehouse.path, environment="branch")
    assert branch.resolve("metric.s", scope={"region": "EU"}, requester=READERS).evidence_id == "eu"


def test_support(warehouse):
    found = warehouse.resolve("metric.b", on="2024-08-01", support=True, requester=READERS)
    assert [(one.outcome, one.reason) for one in found.support] == [("abstain", "lineage_missing")]


@pytest.mark.parametrize(
    "asked",
    [
        {"on": "2024-08-01", "support": True},
        {"during": "2024"},
        {"on": "2020-01-01"},
        {"known_at": "2020-01-01"},
    ],
)
def test_as_json_is_json(warehouse, asked):
    values = warehouse.resolve("turnover", requester=READERS, **asked).as_json()
    assert json.loads(json.dumps(values)) == values
    assert values["asked"] == "turnover"
    assert ("on" in values) is ("segments" not in values)


def test_the_keys_of_a_day_and_of_a_period(warehouse):
    day = warehouse.resolve("metric.b", on="2024-08-01", requester=READERS).as_json()
    period = warehouse.resolve("metric.b", during="2024", requester=READERS).as_json()
    assert (day["on"], period["between"]) == ("2024-08-01", ["2024-01-01", "2024-12-31"])
    assert set(period) - set(day) == {"between", "segments"}
    assert set(period["segments"][0]) == {"from", "to", "outcome", "reason", "evidence_id"}
    assert {"outcome", "reason", "evidence_id", "candidates", "conflicts", "warnings", "entity", "known_at",
            "environment", "version", "date_basis", "authority", "approved_by", "owner", "grain",
            "artifact_id", "content_hash", "policy_version", "collected_at"} <= set(day)  # fmt: skip


def test_the_known_at_of_an_answer_gives_it_again(warehouse):
    found = warehouse.resolve("metric.b", on="2024-08-01", requester=READERS)
    again = warehouse.resolve("metric.b", on="2024-08-01", known_at=found.known_at, requester=READERS)
    assert again == found


def test_timeline(warehouse):
    found = warehouse.timeline("metric.b", requester=READERS)
    assert [part.evidence_id or part.reason for part in found.segments] == ["before_first", "v1", "v2"]


def test_near_names_are_those_the_requester_may_see(warehouse):
    assert warehouse.near_names("turnovr", requester=READERS) == ["metric.b"]
    assert warehouse.near_names("turnovr") == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"on": "2024-08-01", "during": "2024"}, "found several"),
        ({"on": "2024-02-30"}, "2024-02-30"),
        ({"during": "24"}, "year, quarter or month"),
        ({"during": "0000"}, "year, quarter or month"),
        ({"between": ("2024-02-01", "2024-01-01")}, "ends before it begins"),
        ({"known_at": "2999-01-01T00:00:00Z"}, "future"),
        ({"known_at": "sometime"}, "known_at"),
        ({"during": "2024", "support": True}, "one day"),
    ],
)
def test_a_question_that_is_not_understood(warehouse, asked, said):
    with pytest.raises(InputError, match=said):
        warehouse.resolve("metric.b", requester=READERS, **asked)


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(WarehouseError, match="found no file"):
        dbt_attest.open(tmp_path / "none.duckdb")


def test_a_schema_that_is_missing(warehouse):
    with pytest.raises(WarehouseError, match="in schema other, found them in attest"):
        dbt_attest.open(warehouse.path, schema="other")


def test_the_public_names():
    assert [name for name in dbt_attest.__all__ if not hasattr(dbt_attest, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = dbt_attest.nonsense
