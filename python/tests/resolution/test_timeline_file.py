"""The exported timeline, joined by attest.join_timeline, answers random worlds as attest.join_definition does."""

from __future__ import annotations

from pathlib import Path

from dbt_attest.warehouse.rendering import macro_sql

from .worlds import REQUESTERS, SCOPES, Grid, Recorded, draw_worlds, side_by_side

ASKED = [(REQUESTERS[0], SCOPES[0]), (REQUESTERS[1], SCOPES[4]), (REQUESTERS[3], SCOPES[2])]


def test_it_answers_as_join_definition_for_any_requester_scope_and_state_of_knowledge(
    grid: Grid, empty_warehouse: Path, tmp_path: Path
) -> None:
    timeline = Grid("timeline_sql")
    asked = ("grid", "exported", "day")
    joined = macro_sql("join_timeline", "attest", "prod", *asked, entity_column="entity_id")

    worlds = side_by_side(draw_worlds(20, 10))
    recorded = Recorded(
        tmp_path / "recorded", empty_warehouse, [one for drawn in worlds for one in drawn.arrivals]
    )
    try:
        recorded.make_grid(sorted({entity for drawn in worlds for entity in drawn.entities}))
        instants = sorted({instant for drawn in worlds for instant in drawn.instants})
        outcomes = set()
        for known_at, (groups, scope) in zip((None, instants[len(instants) // 2], None), ASKED, strict=True):
            question = known_at, groups, scope, "prod"
            recorded.connection.execute(
                f"create or replace temp table exported as {timeline.query(*question)}"
            )
            columns = "entity_id, day, outcome, reason, evidence_id, version, content_hash"
            expected = recorded.rows(f"select {columns} from {grid.query(*question)} order by all")
            assert recorded.rows(f"select {columns} from {joined} order by all") == expected
            outcomes |= {row["outcome"] for row in expected}
            _is_one_row_a_stretch(recorded)
        assert outcomes == {"answer", "abstain", "clarify", "deny", "review"}
    finally:
        recorded.close()


def _is_one_row_a_stretch(recorded: Recorded) -> None:
    """The rows of an entity cover all days once, and two that follow each other say different things."""
    wrong = recorded.rows(
        "select * from (select *, "
        "lag(valid_to) over entity as before_from, lead(valid_from) over entity as after_to, "
        "row_number() over entity as number, count(*) over (partition by entity_id) as rows, "
        "lag((outcome, reason, evidence_id, content_hash)) over entity as said_before "
        "from exported window entity as (partition by entity_id order by valid_from nulls first)) "
        "where valid_from is distinct from before_from or valid_to is distinct from after_to "
        "or (number = 1) <> (valid_from is null) or (number = rows) <> (valid_to is null) "
        "or number > 1 and said_before is not distinct from (outcome, reason, evidence_id, content_hash)"
    )
    assert wrong == []
