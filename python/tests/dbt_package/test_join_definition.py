"""attest.join_definition in a user's models: what each row gets, and that no row is lost or doubled."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import Any

import duckdb
import pytest

from .conftest import ROOT, Project, put

V1 = ("answer", "in_force", "B.v1", "1", date(2024, 1, 1), date(2024, 7, 1))
V2 = ("answer", "in_force", "B.v2", "2", date(2024, 7, 1), None)
NONE = (None, None, None, None)
ADDED = "outcome, reason, evidence_id, version, valid_from, valid_to"


def rows(project: Project, model: str, order_id: int) -> list[tuple[Any, ...]]:
    return project.sql(f"select {ADDED} from {model} where order_id = ? order by all", [order_id])


def test_each_row_gets_the_definition_of_its_own_date(collected: Project) -> None:
    assert rows(collected, "orders_defined", 1) == [V1, V1]
    assert rows(collected, "orders_defined", 2) == [V2]


def test_the_content_hash_is_that_of_what_was_said(collected: Project) -> None:
    said = collected.sql(
        "select evidence_id, content_hash from main_attest.assertions where entity_id = 'metric.b'"
    )
    found = collected.sql(
        "select distinct evidence_id, content_hash from orders_defined where outcome = 'answer'"
    )
    assert sorted(found) == sorted(said)


def test_null_and_uncovered_dates_say_why_there_is_none(collected: Project) -> None:
    assert rows(collected, "orders_defined", 3) == [("abstain", "no_date", *NONE)]
    assert rows(collected, "orders_defined", 4) == [("abstain", "before_first", *NONE)]


@pytest.mark.parametrize(
    "model",
    ["orders_defined", "orders_by_metric", "orders_as_known", "orders_contracted", "orders_of_the_public"],
)
def test_number_and_content_of_fact_rows_stay(collected: Project, model: str) -> None:
    facts = "select order_id, ordered_on, metric from {} order by all"
    assert collected.sql(facts.format(model)) == collected.sql(facts.format("orders"))


def test_entity_column_and_prefix(collected: Project) -> None:
    found = collected.sql(
        "select order_id, definition_outcome, definition_reason, definition_evidence_id "
        "from orders_by_metric where order_id >= 5 order by order_id"
    )
    assert found == [
        (5, "abstain", "unknown_entity", None),
        (6, "abstain", "unknown_entity", None),
        (7, "answer", "in_force", "O'BRIEN.v1"),
        (8, "deny", "not_permitted", None),
    ]


def test_every_added_column_bears_the_prefix(collected: Project) -> None:
    columns = [row[0] for row in collected.sql("describe orders_by_metric")]
    expected = [f"definition_{name}" for name in [*ADDED.split(", "), "content_hash"]]
    assert columns == ["order_id", "ordered_on", "metric", *expected]


def test_known_at_gives_what_was_known_then(collected: Project) -> None:
    assert rows(collected, "orders_as_known", 2) == [
        ("answer", "in_force", "B.v1", "1", date(2024, 1, 1), None)
    ]


def test_scope(collected: Project) -> None:
    found = collected.sql(
        "select asked, outcome, reason, evidence_id from orders_in_eu where order_id = 2 order by asked"
    )
    assert found == [
        ("EU", "answer", "in_force", "EU.v1"),
        ("US", "abstain", "out_of_scope", None),
        ("none", "clarify", "scope_needed", None),
    ]


def test_without_groups_nobody_but_everyone_is_asked_for(collected: Project) -> None:
    assert rows(collected, "orders_of_the_public", 1) == [("deny", "not_permitted", *NONE)] * 2


def test_relation_as_text_with_quotes_and_an_instant_taken_at_utc(collected: Project) -> None:
    found = collected.sql("select customer, outcome, evidence_id from orders_from_text")
    assert found == [("O'Brien", "answer", "O'BRIEN.v1")]


def test_incremental_model_doubles_nothing_and_sees_new_evidence_in_new_rows(collected: Project) -> None:
    """Built once before anything was collected and once after; only the last order was processed again."""
    found = collected.sql("select order_id, reason from orders_incremental order by order_id")
    assert found == [(number, "nothing_collected") for number in range(1, 8)] + [(8, "in_force")]


def test_before_any_collection_every_row_says_so(before_collection: Project) -> None:
    found = before_collection.sql(f"select distinct {ADDED} from orders_defined")
    assert found == [("abstain", "nothing_collected", *NONE)]
    assert before_collection.sql("select count(*) from orders_defined") == [(9,)]


def test_other_macros_answer_in_models(collected: Project) -> None:
    assert collected.sql("select outcome, reason, evidence_id from asked_on") == [
        ("answer", "in_force", "B.v1")
    ]
    ((outcome, segments),) = collected.sql("select outcome, segments from asked_between")
    assert outcome == "split"
    assert [(one["from"], one["to"], one["evidence_id"]) for one in segments] == [
        (date(2024, 5, 1), date(2024, 6, 30), "B.v1"),
        (date(2024, 7, 1), date(2024, 8, 31), "B.v2"),
    ]


@pytest.mark.parametrize(
    ("known_at", "sentence"),
    [
        ("last June", "expected known_at as an instant such as 2025-06-30T12:00:00Z, found last June"),
        ("2999-01-01", "known_at lies in the future: 2999-01-01"),
    ],
)
def test_a_mistyped_state_of_knowledge_is_refused(collected: Project, known_at: str, sentence: str) -> None:
    """It would else answer as if none had been given."""
    run = collected.dbt(
        "--no-populate-cache", "show", "--inline",
        "select * from {{ attest.join_definition(ref('orders'), 'ordered_on', entity='metric.b', "
        f"known_at='{known_at}') }}}}",
        succeeds=False,
    )  # fmt: skip
    assert f"attest: {sentence}" in " ".join(run.output.split())


@pytest.mark.parametrize(
    "arguments", ["'ordered_on'", "'ordered_on', entity='metric.b', entity_column='metric'"]
)
def test_one_entity_or_one_column_is_required(project: Project, arguments: str) -> None:
    project.write(
        "models/wrong.sql", f"select * from {{{{ attest.join_definition(ref('orders'), {arguments}) }}}}"
    )
    run = project.dbt("compile", "--select", "wrong", succeeds=False)
    assert "attest.join_definition expects either entity or entity_column." in run.output


def test_the_incremental_model_of_the_docs_takes_up_a_rewritten_past(project: Project) -> None:
    """Word for word, run around a late definition, a correction and a withdrawal, beside the whole built anew."""
    text = (ROOT / "docs" / "in-your-models.md").read_text(encoding="utf-8")
    (model,) = re.findall(r"```sql\n(\{\{ config\(materialized='incremental'.*?)```", text, re.DOTALL)
    project.write("models/revenue_orders.sql", model)
    project.write(
        "models/orders.sql",
        "select day as order_id, date '2024-01-01' + day::int as ordered_on, 'metric.b' as metric "
        "from range({{ var('orders', 200) }}) as days(day) union all select 999, null, 'metric.b'",
    )

    def run(*more: str) -> list[tuple[Any, ...]]:
        project.dbt("run", "--select", "orders", "revenue_orders", *more)
        return project.sql("from revenue_orders order by all")

    def governed(rows: list[tuple[Any, ...]]) -> dict[Any, int]:
        return dict(Counter(evidence_id for *_, evidence_id, _ in rows))

    revenue = {"entity": "metric.revenue", "permissions": ["everyone"]}
    with duckdb.connect(project.folder / project.database) as connection:
        put(connection, "2023-12-15T00:00:00Z", "R.v1", effective_from="2024-01-01", **revenue)
    first = run()
    assert governed(first) == {"R.v1": 200, None: 1}

    # recorded late: the last hundred days; and the first definition, corrected
    with duckdb.connect(project.folder / project.database) as connection:
        put(
            connection, "2024-12-01T00:00:00Z", "R.v2",
            effective_from="2024-04-10", effective_to="2024-07-03", supersedes=["R.v1"], **revenue,
        )  # fmt: skip
        put(
            connection, "2024-12-01T00:00:00Z", "R.v1", effective_from="2024-01-01", definition="!", **revenue
        )
    second = run("--vars", "{orders: 205}")
    assert "left join" in (project.folder / "target/compiled/shop/models/revenue_orders.sql").read_text()
    assert governed(second) == {"R.v1": 100, "R.v2": 85, None: 21}
    assert {row[-1] for row in first if row[-1]}.isdisjoint(row[-1] for row in second if row[-1])
    assert run("--vars", "{orders: 205}", "--full-refresh") == second

    # withdrawn: its days fall back to the first
    with duckdb.connect(project.folder / project.database) as connection:
        put(
            connection, "2025-01-01T00:00:00Z", "R.v2", status="void",
            effective_from="2024-04-10", effective_to="2024-07-03", supersedes=["R.v1"], **revenue,
        )  # fmt: skip
    third = run("--vars", "{orders: 205}")
    assert governed(third) == {"R.v1": 205, None: 1}
    pinned = run("--full-refresh", "--vars", "{orders: 200, known_at: 2024-06-30}")
    assert pinned == first


def test_a_relation_with_other_entities_each_time_is_an_error_and_no_answer(project: Project) -> None:
    sampled = "(select 'metric.' || random() as metric, date '2024-06-30' as ordered_on)"
    project.write(
        "models/sampled.sql",
        "{{ config(materialized='table') }}"
        f'select * from {{{{ attest.join_definition("{sampled}", "ordered_on", entity_column="metric") }}}}',
    )
    run = project.dbt("run", "--select", "sampled", succeeds=False)
    assert (
        "attest: expected a relation that gives the same entities each time it is read, found another; "
        "make it a table first"
    ) in " ".join(run.output.split())
