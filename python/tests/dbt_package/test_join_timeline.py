"""attest.join_timeline over an exported seed answers as attest.join_definition, in plain SQL."""

from __future__ import annotations

import csv
import re
import shutil
from datetime import date

import pytest

from dbt_attest.resolution import Requester, Warehouse
from dbt_attest.resolution.timeline_file import write_timeline

from .conftest import ROOT, SCHEMA, Project

DOCS = (ROOT / "docs" / "in-your-models.md").read_text(encoding="utf-8")
(PROPERTIES,) = re.findall(r"```yaml\n(seeds:.*?)```", DOCS, re.DOTALL)
(OF_THE_DOCS,) = re.findall(r"```sql\n(select \*\nfrom \{\{ attest.join_timeline.*?)```", DOCS, re.DOTALL)

MODELS = {
    "by_timeline": "select * from {{ attest.join_timeline(ref('orders'), ref('attest_timeline'), 'ordered_on', "
    "entity_column='metric', prefix='definition_') }} as defined",
    "of_text": 'select * from {{ attest.join_timeline("(select * from " ~ ref(\'orders\') ~ " where order_id < 3)", '
    "ref('attest_timeline'), 'ordered_on', entity=\"metric.o'brien\") }} as defined",
    "of_a_timeline_put_together": "select * from {{ attest.join_timeline(ref('orders'), "
    "'(select * from ' ~ ref('attest_timeline') ~ ' union all select * from ' ~ ref('attest_timeline') ~ "
    "\" where evidence_id = 'B.v2')\", 'ordered_on', entity='metric.b') }} as defined",
    "of_the_docs": OF_THE_DOCS,
}


@pytest.fixture(scope="module")
def joined(collected: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("joined") / "shop")
    shutil.copytree(collected.folder, project.folder, symlinks=True)
    (project.folder / "seeds").mkdir()
    write_timeline(
        Warehouse(project.folder / project.database, schema=SCHEMA, environment="prod"),
        project.folder / "seeds" / "attest_timeline.csv",
        "csv",
        requester=Requester(groups=["readers", "others"]),
    )
    for name, text in MODELS.items():
        project.write(f"models/{name}.sql", text)
    project.write("seeds/properties.yml", f"version: 2\n{PROPERTIES}")
    project.dbt("build", "--select", "attest_timeline", *MODELS)
    return project


def test_it_is_what_join_definition_gives_row_by_row(joined: Project) -> None:
    every = "from {} order by all"
    assert joined.sql(every.format("by_timeline")) == joined.sql(every.format("orders_by_metric"))
    described = joined.sql("describe by_timeline")
    assert described == joined.sql("describe orders_by_metric")


def test_the_seed_s_types_are_those_of_the_docs(joined: Project) -> None:
    found = {name: kind for name, kind, *_ in joined.sql("describe attest_timeline")}
    dates = {"valid_from", "valid_to"}
    assert found == {name: "DATE" if name in dates else "VARCHAR" for name in found}
    with (joined.folder / "seeds" / "attest_timeline.csv").open(encoding="utf-8") as file:
        assert list(found) == next(csv.reader(file))


def test_a_relation_as_text_and_an_entity_with_a_quote(joined: Project) -> None:
    found = joined.sql(
        "select order_id, outcome, evidence_id, valid_from, valid_to from of_text order by all"
    )
    answer = ("answer", "O'BRIEN.v1", date(2024, 1, 1), None)
    assert found == [(1, *answer), (1, *answer), (2, *answer)]


def test_an_entity_that_the_file_does_not_have(joined: Project) -> None:
    """The docs' own metric.revenue: nothing is known of it, and no row is lost."""
    found = joined.sql("select outcome, reason, count(*) from of_the_docs group by all order by all")
    assert found == [("abstain", "no_date", 1), ("abstain", "unknown_entity", 8)]


def test_rows_that_overlap_double_nothing_and_decide_nothing(joined: Project) -> None:
    found = joined.sql(
        "select order_id, outcome, reason, evidence_id from of_a_timeline_put_together "
        "where order_id < 5 order by all"
    )
    assert found == [
        (1, "answer", "in_force", "B.v1"),
        (1, "answer", "in_force", "B.v1"),
        (2, "review", "integrity", None),
        (3, "abstain", "no_date", None),
        (4, "abstain", "before_first", None),
    ]
    assert joined.sql("select count(*) from of_a_timeline_put_together") == [(9,)]


def test_it_is_plain_sql(joined: Project) -> None:
    """What only DuckDB, or only some, would understand; the rest is tried by `make check-engines`."""
    compiled = (joined.folder / "target/compiled/shop/models/by_timeline.sql").read_text(encoding="utf-8")
    assert not re.search(
        r"::|group by all|\bexclude\b|\bstruct|\blist|\bif\(|is distinct|unnest", compiled.lower()
    )
