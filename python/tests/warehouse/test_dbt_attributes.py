"""dbt's `access`, `latest_version` and `deprecation_date`: recorded as attributes; they permit and decide nothing."""

from __future__ import annotations

import pytest

JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))
STATED = {"authority": "authoritative", "effective_from": "2024-01-01"}
ATTRIBUTES = "access, latest_version, deprecation_date::varchar"


@pytest.fixture
def versions(shop, node):
    """Writes a model in versions 1 and 2, annotated, each with attributes as given."""

    def write(at, first=None, second=None, **annotation):
        nodes = {}
        for number, keys in ((1, first), (2, second)):
            unique_id = f"model.shop.fct.v{number}"
            attest = STATED | annotation | {"effective_from": f"202{3 + number}-01-01"}
            nodes[unique_id] = node(
                unique_id, name="fct", version=number, config={"meta": {"attest": attest}}
            )
            nodes[unique_id] |= keys or {}
        shop.manifest(at, nodes=nodes)
        return shop.record()

    return write


@pytest.mark.parametrize(
    ("written", "day"),
    [("2025-06-30T00:00:00+00:00", "2025-06-30"), ("2025-06-30T00:00:00-08:00", "2025-06-30"),
     ("2025-06-30T23:59:59.000001", "2025-06-30"), ("2025-06-30", "2025-06-30"), (None, None)],
)  # fmt: skip
def test_they_are_recorded_as_dbt_writes_them(shop, versions, written, day):
    assert versions(JANUARY, {"access": "public", "latest_version": 1, "deprecation_date": written}) == []
    rows = shop.rows(f"select evidence_id, {ATTRIBUTES} from recorded_assertions where node_id like '%fct%'")
    assert sorted(rows) == [
        ("model.shop.fct.v1", "public", "1", day), ("model.shop.fct.v2", None, None, None)
    ]  # fmt: skip


@pytest.mark.parametrize("written", ["soon", "2025-02-30T00:00:00Z", 20250630])
def test_a_deprecation_date_that_is_none_is_named(shop, versions, written):
    (found,) = versions(JANUARY, {"deprecation_date": written})
    assert found.endswith("; not recorded")
    assert shop.rows("select json_path, node_id from reader_findings where found like '%not recorded'") == [
        ("deprecation_date", "model.shop.fct.v1")
    ]
    assert shop.rows("select count(deprecation_date) from assertions") == [(0,)]


def test_another_access_is_a_new_state_of_the_same_content(shop, versions):
    for at, access in ((JANUARY, "protected"), (FEBRUARY, "public"), (MARCH, "public")):
        versions(at, {"access": access}, {"access": "private"})
    assert shop.rows(
        "select access, known_from::date::varchar, count(*) over (partition by content_hash) "
        "from recorded_assertions where evidence_id = 'model.shop.fct.v1' order by known_from"
    ) == [("protected", "2025-01-10", 2), ("public", "2025-02-10", 2)]


def test_their_history_is_told_to_whom_may_see_it(shop, versions):
    allowed = {"permissions": ["readers"]}
    versions(JANUARY, {"latest_version": 1}, **allowed)
    versions(FEBRUARY, {"latest_version": 2, "deprecation_date": "2025-06-30T00:00:00Z"}, **allowed)
    changed = (
        "select attribute, before, after from definition_history('model.shop.fct', groups := ['readers']) "
        "where known_from::date = date '2025-02-10'"
    )
    assert shop.rows(changed) == [("latest_version", "1", "2"), ("deprecation_date", None, "2025-06-30")]


@pytest.mark.parametrize("permissions", [[], ["finance"]])
def test_public_access_permits_nobody(shop, versions, permissions):
    attributes = {"access": "public"}
    versions(JANUARY, attributes, attributes, permissions=permissions)
    outcomes = [
        shop.rows(f"select outcome from definition_on('model.shop.fct', '2024-06-01', groups := {groups})")
        for groups in ([], ["public", "everyone"], ["finance"])
    ]
    assert outcomes == [[("deny",)], [("deny",)], [("answer" if permissions else "deny",)]]


@pytest.mark.parametrize(
    "attributes",
    [{}, {"latest_version": 1, "deprecation_date": "2020-01-01"}, {"latest_version": 2}],
)  # fmt: skip
def test_they_decide_nothing_about_what_is_in_force(shop, versions, attributes):
    versions(JANUARY, attributes, attributes, permissions=["everyone"])
    in_force = "select outcome, evidence_id, warnings from definition_on('model.shop.fct', '{}')"
    assert [shop.rows(in_force.format(day)) for day in ("2024-12-31", "2025-01-01")] == [
        [("answer", "model.shop.fct.v1", [])],
        [("answer", "model.shop.fct.v2", [])],
    ]
