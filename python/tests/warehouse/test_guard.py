"""The removals guard: what would take too much away at once is held until a person allows it."""

from __future__ import annotations

import duckdb
import pytest

from dbt_attest.warehouse.building import build

JANUARY, FEBRUARY, MARCH, APRIL = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3, 4))
BETWEEN = "2025-01-20T09:00:00Z"


def _named(*names, **said):
    stated = {"authority": "authoritative", "permissions": ["everyone"], "effective_from": "2024-01-01",
              "definition": "first"}  # fmt: skip
    return {name: stated | {"entity_id": f"metric.{name}", "evidence_id": name} | said for name in names}


TWENTY = [f"d{number:02}" for number in range(20)]
ALL = _named(*TWENTY)


def _rows(world, sql):
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def _stated(world):
    found = _rows(
        world,
        "select evidence_id from attest.recorded_assertions where environment = 'prod' "
        "and known_until is null and removed_on is null",
    )
    return sorted(row[0] for row in found)


def _held(world):
    """What is held now, by reason."""
    return sorted(
        _rows(
            world,
            "select evidence_id, reason from (from attest.held_removals qualify row_number() over ("
            "partition by environment, project_name, evidence_id "
            "order by generated_at desc, manifest_id desc, ingested_at desc) = 1) where held",
        )
    )


def _allow(world):
    """The same files again, with leave."""
    return build(world.folder, removals_allowed=True).recorded


def test_more_than_a_fifth_is_held_and_everything_else_is_recorded(world):
    world.collect(JANUARY, ALL)
    recorded = world.collect(
        FEBRUARY, _named(*TWENTY[5:19]) | _named("d19", definition="changed") | _named("new")
    ).recorded
    assert (recorded.changed, recorded.no_longer_stated, recorded.held) == (2, 0, 5)
    assert _stated(world) == sorted([*TWENTY, "new"])
    assert _held(world) == [(name, "removed") for name in TWENTY[:5]]
    assert _rows(world, "select definition from attest.assertions where evidence_id = 'd19'") == [
        ("first",),
        ("changed",),
    ]


@pytest.mark.parametrize(("stated", "removed"), [(20, 4), (25, 5), (4, 4)])
def test_a_fifth_and_what_is_few_is_recorded(world, stated, removed):
    names = [f"d{number:02}" for number in range(stated)]
    world.collect(JANUARY, _named(*names))
    recorded = world.collect(FEBRUARY, _named(*names[removed:])).recorded
    assert (recorded.no_longer_stated, recorded.held) == (removed, 0)


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        ({"authority": "non_authoritative"}, "authority"),
        ({"authority": None}, "authority"),
        ({"effective_from": None}, "dates"),
        ({"permissions": []}, "permissions"),
    ],
)
def test_losing_what_makes_a_definition_count_is_held_too(world, lost, reason):
    world.collect(JANUARY, ALL)
    recorded = world.collect(FEBRUARY, ALL | _named(*TWENTY[:6], definition="changed", **lost)).recorded
    assert (recorded.changed, recorded.held) == (0, 6)
    assert _held(world) == [(name, reason) for name in TWENTY[:6]]
    assert _allow(world).changed == 6
    assert _held(world) == []


def test_removed_and_stripped_are_counted_together(world):
    world.collect(JANUARY, ALL)
    states = _named(*TWENTY[2:]) | _named("d10", authority=None) | _named("d11", "d12", permissions=[])
    assert world.collect(FEBRUARY, states).recorded.held == 5


@pytest.mark.parametrize(("share", "held"), [("50%", 0), ("40%", 9), ("0%", 9)])
def test_attest_yml_says_how_much(world, share, held):
    world.collect(JANUARY, ALL)
    recorded = world.collect(
        FEBRUARY, _named(*TWENTY[9:]), attest_yml=f"collection: {{max_removed: {share}}}\n"
    ).recorded
    assert (recorded.held, recorded.no_longer_stated) == (held, 9 - held)


def test_the_same_files_with_leave_record_what_was_held(world):
    world.collect(JANUARY, ALL)
    states = _named(*TWENTY[10:])
    assert world.collect(FEBRUARY, states).recorded.held == 10
    before = world.rows()
    again = world.collect(FEBRUARY, states).recorded
    assert (again.collection_id, again.held) == (None, 10)
    assert world.rows() == before
    allowed = _allow(world)
    assert (allowed.no_longer_stated, allowed.held) == (10, 0)
    assert _stated(world) == TWENTY[10:]
    assert _held(world) == []
    after = world.rows()
    assert _allow(world).collection_id is None
    assert world.rows() == after


def test_allowed_at_once_nothing_is_held(world, make_project, make_manifest):
    world.collect(JANUARY, ALL)
    world.collect(FEBRUARY, _named("other"), project="elsewhere")
    world.collect(MARCH, ALL)

    make_project(world.folder, make_manifest(APRIL, {}))
    recorded = build(world.folder, removals_allowed=True).recorded
    assert (recorded.no_longer_stated, recorded.held) == (20, 0)
    assert world.rows()["held_removals"] == 0


def test_stated_again_clears_what_was_held_as_if_nothing_had_happened(world):
    world.collect(JANUARY, ALL)
    world.collect(FEBRUARY, {})
    before = _rows(world, "select count(*) from attest.assertions")
    recorded = world.collect(MARCH, ALL).recorded
    assert (recorded.changed, recorded.held) == (0, 0)
    assert _held(world) == []
    assert _rows(world, "select count(*) from attest.assertions") == before


def test_what_comes_back_in_part_leaves_few_enough_to_record(world):
    world.collect(JANUARY, ALL)
    world.collect(FEBRUARY, _named(*TWENTY[10:]))
    recorded = world.collect(MARCH, _named(*TWENTY[3:])).recorded
    assert (recorded.no_longer_stated, recorded.held) == (3, 0)
    assert _held(world) == []
    assert _stated(world) == TWENTY[3:]


def test_it_stays_held_collection_after_collection_until_it_is_allowed(world):
    world.collect(JANUARY, ALL)
    world.collect(FEBRUARY, _named(*TWENTY[10:]))
    assert world.collect(MARCH, _named(*TWENTY[10:])).recorded.held == 10
    assert _stated(world) == TWENTY
    assert _allow(world).no_longer_stated == 10
    assert (_stated(world), _held(world)) == (TWENTY[10:], [])


def test_a_late_manifest_that_lacks_much_is_guarded_too(world):
    world.collect(JANUARY, ALL)
    world.collect(MARCH, ALL)
    assert world.collect(BETWEEN, _named(*TWENTY[10:])).recorded.held == 10
    assert _rows(world, "select count(*) from attest.assertions where not stated") == [(0,)]
    assert _stated(world) == TWENTY
    assert world.collect(APRIL, ALL).recorded.held == 0
    assert _held(world) == []


def test_what_was_held_speaks_for_nothing_behind_a_late_manifest(world):
    """February lacks them and is held, so the change of late January holds on until March says otherwise."""
    world.collect(JANUARY, ALL)
    world.collect(FEBRUARY, _named(*TWENTY[10:]))
    world.collect(BETWEEN, ALL | _named("d00", definition="late"))
    said = (
        "select definition from attest.recorded_assertions where evidence_id = 'd00' and known_until is null"
    )
    assert _rows(world, said) == [("late",)]
    assert [row for row in _held(world) if row[0] == "d00"] == [("d00", "removed")]
    world.collect(MARCH, ALL)
    assert _rows(world, said) == [("first",)]
    assert _held(world) == []


def test_a_late_manifest_that_says_what_was_held_before_is_held_too(world):
    """It says the same as February, but nothing of February's removals was recorded to compare with."""
    world.collect(JANUARY, ALL)
    world.collect(FEBRUARY, _named(*TWENTY[10:]))
    world.collect(APRIL, ALL)
    world.collect(MARCH, _named(*TWENTY[10:]))
    held = "select generated_at, count(*) from attest.held_removals where held group by all order by all"
    assert [count for _, count in _rows(world, held)] == [10, 10]
    assert _stated(world) == TWENTY
    assert _held(world) == []


def test_lineage_of_what_is_held_stays(world, make_manifest, make_project):
    def manifest(at, names):
        states = make_manifest(at, _named(*names))
        for name in names:
            states["metrics"][f"metric.shop.{name}"]["depends_on"] = {"nodes": ["model.shop.orders"]}
        return states

    edges = "select count(*) filter (stated), count(*) filter (not stated) from attest.lineage_edges"
    make_project(world.folder, manifest(JANUARY, TWENTY))
    build(world.folder)
    make_project(world.folder, manifest(FEBRUARY, TWENTY[10:]))
    assert build(world.folder).recorded.held == 10
    assert _rows(world, edges) == [(20, 0)]
    _allow(world)
    assert _rows(world, edges) == [(20, 10)]


def test_a_disabled_node_is_neither_held_nor_counted(world):
    world.collect(JANUARY, ALL)
    assert world.collect(FEBRUARY, {}, disabled=TWENTY).recorded.held == 0
    assert world.rows()["held_removals"] == 0


def test_environments_and_other_projects_are_guarded_apart(world):
    world.collect(JANUARY, ALL)
    world.collect(JANUARY, ALL, environment="feature-x")
    assert world.collect(FEBRUARY, {}, environment="feature-x").recorded.held == 20
    assert world.collect(FEBRUARY, ALL).recorded.held == 0
    assert _stated(world) == TWENTY
