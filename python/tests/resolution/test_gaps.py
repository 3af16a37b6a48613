"""Gaps in small worlds: what the project that is wrong on purpose cannot show."""

from __future__ import annotations

import pytest

from dbt_attest.resolution.gaps import Gap, find_gaps
from dbt_attest.warehouse.files import connect

GOOD = {
    "entity_id": "metric.a",
    "evidence_id": "A",
    "authority": "authoritative",
    "approved_by": "Council",
    "effective_from": "2024-01-01",
    "owner": "Finance",
    "grain": "one value a day",
    "definition": "What it is.",
    "permissions": ["everyone"],
}


@pytest.fixture
def gaps_after(world):
    """Collects, in this order, what each argument states, and gives the gaps there are then by kind."""

    def collect(*states, attest_yml=None, environment="prod"):
        for month, stated in enumerate(states, start=1):
            at = f"2025-{month:02}-10T09:00:00Z"
            world.collect(at, stated, attest_yml=attest_yml, environment=environment)
        connection = connect(world.warehouse, read_only=True)
        try:
            return {gap.kind: gap for gap in find_gaps(connection, "attest", environment)}
        finally:
            connection.close()

    return collect


def test_a_right_definition_has_no_gap(gaps_after):
    assert gaps_after({"a": GOOD}) == {}


@pytest.mark.parametrize(
    ("edit", "reach"),
    [
        ({"definition": "Another thing."}, "2024-01 to 2025-02"),
        ({"effective_from": "2023-06-01"}, "2023-06 to 2025-02"),
        ({"effective_to": "2024-12-31"}, "2024-01 to 2025-02"),
        ({"effective_to": "2025-02-09"}, None),  # the day before the edit: nothing that had been is another
        ({"effective_to": "2025-12-31"}, None),
        ({"definition": "Another thing.", "corrects": "It was wrong."}, None),
        ({"owner": "Sales"}, None),
    ],
)
def test_an_edit_of_what_had_governed_is_a_rewrite_unless_it_is_called_a_correction(gaps_after, edit, reach):
    found = gaps_after({"a": GOOD}, {"a": GOOD | edit}).get("history_rewritten")
    assert (found and found.found.split("; reaches ")[1]) == reach


def test_a_correction_that_was_left_standing_excuses_no_other_edit(gaps_after):
    once = GOOD | {"definition": "Second.", "corrects": "It was wrong."}
    assert "history_rewritten" in gaps_after({"a": GOOD}, {"a": once}, {"a": once | {"definition": "Third."}})


def test_a_rewrite_that_is_explained_later_is_none(gaps_after):
    second = GOOD | {"definition": "Second."}
    assert gaps_after({"a": GOOD}, {"a": second}, {"a": second | {"corrects": "It was wrong."}}) == {}


def test_a_draft_may_be_rewritten(gaps_after):
    draft = GOOD | {"status": "draft"}
    assert gaps_after({"a": draft}, {"a": draft | {"definition": "Second."}}) == {}


def test_a_gap_is_excepted_until_a_day_and_its_severity_is_configured(gaps_after):
    rules = (
        "gaps: {{severity: {{version_expired: error}}, "
        "exceptions: [{{kind: version_expired, {of}, reason: r, until: {until}}}]}}"
    )
    ended = {"a": GOOD | {"effective_to": "2024-06-30"}}
    for of, until, excepted in (
        ("entity: metric.a", "2999-12-31", True),
        ("entity: A", "2999-12-31", True),
        ("path: models/**", "2999-12-31", True),
        ("entity: metric.b", "2999-12-31", False),
        ("path: models/old/**", "2999-12-31", False),
        ("entity: metric.a", "2024-12-31", False),
    ):
        found = gaps_after(ended, attest_yml=rules.format(of=of, until=until))
        assert (list(found), [gap.severity for gap in found.values()]) == (
            ([], []) if excepted else (["version_expired"], ["error"])
        )


def test_an_ignored_kind_is_left_out(gaps_after):
    ended = {"a": GOOD | {"effective_to": "2024-06-30"}}
    assert gaps_after(ended, attest_yml="gaps: {severity: {version_expired: ignore}}") == {}


def test_gaps_are_in_the_view_of_a_stand_alone_warehouse(world):
    world.collect("2025-01-10T09:00:00Z", {"a": GOOD | {"effective_to": "2024-06-30"}})
    connection = connect(world.warehouse, read_only=True)
    try:
        found = connection.execute("from attest.gaps")
        names = [column[0] for column in found.description]
        rows = [Gap(**dict(zip(names, row, strict=True))) for row in found.fetchall()]
        assert tuple(rows) == find_gaps(connection, "attest", "prod")
        assert [(row.kind, row.since.isoformat()) for row in rows] == [
            ("version_expired", "2025-01-10T09:00:00+00:00")
        ]
    finally:
        connection.close()
