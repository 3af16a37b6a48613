"""What is recorded beside the definitions: executions, freshness, columns, claims, exposures, files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt_attest.annotations import read_project_file
from dbt_attest.artifacts import read_manifest
from dbt_attest.warehouse.collecting import files_here
from dbt_attest.warehouse.collection import files_id
from dbt_attest.warehouse.recording import recorded_as

JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))
MODEL, SOURCE, TEST = "model.shop.orders", "source.shop.raw.orders", "test.shop.not_null_orders_id.1"
FACTS = ("executions", "freshness_observations", "columns", "claims", "exposures", "groups", "project_files")


def columns(*names: str) -> dict[str, Any]:
    return {name: {"name": name, "description": f"the {name}"} for name in names}


def test_executions_are_recorded_once_with_what_their_tests_are_about(shop):
    shop.manifest()
    shop.run_results()
    assert shop.record() == []
    expected = [(MODEL, "executed", "success", None, None), (TEST, "executed", "pass", 0, MODEL)]
    sql = "select node_id, class, outcome, failures, tested_node from executions order by position"
    assert shop.rows(sql) == expected
    shop.manifest(FEBRUARY)  # another manifest beside the same results
    shop.record()
    assert shop.rows(sql) == expected
    assert shop.rows("select count(*) from artifacts where kind = 'run_results'") == [(1,)]


def test_results_of_another_invocation_are_recorded_for_themselves(shop):
    shop.manifest(invocation="two")
    shop.run_results(invocation="one")
    assert shop.record() == ["one; recorded for itself"]
    assert shop.rows("select distinct invocation_id, manifest_id, tested_node from executions") == [
        ("one", None, None)
    ]


@pytest.mark.parametrize("invocation", ["", None])
def test_results_without_an_invocation_are_not_joined(shop, invocation):
    shop.manifest(invocation=invocation)
    shop.run_results(JANUARY, invocation)
    assert shop.record() == ["none; recorded for itself"]


def test_freshness_is_an_observation_and_a_missing_row_is_unknown(shop):
    shop.manifest()
    model = {"unique_id": MODEL, "status": "Warn", "max_loaded_at": JANUARY, "snapshotted_at": JANUARY,
             "criteria": {"warn_after": {"count": 1, "period": "day"}}}  # fmt: skip
    shop.write("freshness", results=[model])
    assert shop.record() == []
    assert shop.rows(
        "select node_id, status, outcome, epoch(warn_after) from freshness_observations order by node_id"
    ) == [(MODEL, "Warn", "warn", 86400), (SOURCE, None, "unknown", 43200)]
    shop.manifest(FEBRUARY)
    shop.record()
    assert shop.counts(*FACTS)["freshness_observations"] == 2


def test_a_phantom_is_marked_and_said_where_there_is_a_catalog(shop):
    shop.manifest()
    assert shop.record() == []
    assert shop.rows("select distinct source from columns") == [("yaml",)]
    shop.catalog("ID", "price", at=FEBRUARY)
    assert shop.record() == ['none named "amount"']
    phantoms = "select column_name, source, phantom from columns where stated order by all"
    assert shop.rows(phantoms) == [
        ("ID", "catalog", False), ("amount", "catalog", True), ("amount", "yaml", None),
        ("id", "yaml", None), ("price", "catalog", False),
    ]  # fmt: skip


def test_without_a_catalog_nothing_is_concluded_about_what_it_said(shop):
    shop.manifest(JANUARY)
    shop.catalog("id")
    shop.record()
    before = shop.counts(*FACTS)
    (shop.target / "catalog.json").unlink()
    shop.manifest(FEBRUARY)
    shop.record()
    assert shop.counts(*FACTS) == before
    shop.manifest(MARCH)
    shop.catalog("amount", at=MARCH)
    shop.record()
    now = shop.rows(
        "select column_name, arg_max(phantom, asserted_at) from columns where source = 'catalog' "
        "group by column_name order by column_name"
    )
    assert now == [("amount", False), ("id", True)]


def test_an_older_catalog_says_so(shop):
    shop.manifest(FEBRUARY)
    shop.catalog("id", "amount", at=JANUARY, invocation="before")
    (found,) = shop.record()
    assert "its phantoms may be columns that came since" in found


def test_every_place_that_states_an_owner_is_kept(shop):
    shop.manifest()
    shop.record()
    of_model = (
        "select attribute, source, place, value, certified, collector from claims "
        f"where node_id = '{MODEL}' order by all"
    )
    assert shop.rows(of_model) == [
        ("description", "dbt", "description", "All orders", False, "dbt"),
        ("grain", "meta", "meta.primary_key", "id", False, "dbt"),
        ("owner", "group", "group.finance", "Finance team", False, "dbt"),
        ("owner", "meta", "meta.owner", "O'Brien", False, "dbt"),
    ]
    annotated = json.loads(json.dumps(shop.sections["nodes"]))
    annotated[MODEL]["config"]["meta"]["attest"] = {
        "owner": [{"name": "Bo", "effective_from": "2024-01-01"}], "approved_by": "Ann"
    }  # fmt: skip
    shop.manifest(FEBRUARY, nodes=annotated)
    shop.record()
    assert shop.rows(
        "select place, value, effective_from::varchar, certified from claims where source = 'annotation'"
    ) == [("owner", "Bo", "2024-01-01", True)]


def test_exposures_and_groups_have_a_history(shop):
    shop.manifest(JANUARY)
    shop.record()
    assert shop.rows("select name, owner_email, depends_on from exposures") == [("board", "a@x", [MODEL])]
    assert shop.rows("select name, owner_name from groups") == [("finance", "Finance team")]
    shop.manifest(MARCH, exposures={}, groups={})
    shop.record()
    assert shop.rows("select stated from exposures order by asserted_at") == [(True,), (False,)]
    assert shop.rows("select stated from groups order by asserted_at") == [(True,), (False,)]


def test_the_same_facts_in_a_new_manifest_add_nothing(shop):
    (shop.folder / "attest.yml").write_text("environment: prod\n")
    counted = []
    for at in (JANUARY, FEBRUARY, MARCH):
        shop.manifest(at)
        shop.run_results()
        shop.catalog("id", "amount")
        shop.record()
        counted.append(shop.counts(*FACTS))
    assert counted == [counted[0]] * 3
    assert counted[0]["project_files"] == 1
    assert shop.rows("select content from project_files") == [("environment: prod\n",)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_facts_that_arrive_in_any_order_are_the_same_in_the_end(shop, order):
    said = [(JANUARY, ("id", "amount")), (FEBRUARY, ("id",)), (MARCH, ("id", "amount"))]
    for index in order:
        at, names = said[index]
        nodes = json.loads(json.dumps(shop.sections["nodes"]))
        nodes[MODEL]["columns"] = columns(*names)
        shop.manifest(at, nodes=nodes)
        shop.record()
    history = shop.rows(
        "select column_name, stated, asserted_at::date::varchar from columns where source = 'yaml' "
        "and column_name = 'amount' order by asserted_at"
    )
    assert history == [
        ("amount", True, "2025-01-10"), ("amount", False, "2025-02-10"), ("amount", True, "2025-03-10")
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["run_results", "sources", "catalog", "semantic_manifest"])
@pytest.mark.parametrize("content", ["", '{"metadata": {"gen', "[]"])
def test_a_broken_file_beside_the_manifest_is_a_finding_and_the_rest_is_recorded(shop, kind, content):
    shop.manifest()
    (shop.target / f"{kind}.json").write_text(content)
    (found,) = shop.record()
    assert found.endswith("; not recorded")
    assert shop.rows(f"select count(*) from artifacts where kind = '{kind}'") == [(0,)]
    assert shop.counts(*FACTS)["columns"] == 2


def test_files_of_another_project_in_a_shared_target_are_told_apart(shop):
    shop.manifest()
    shop.run_results(JANUARY, "one", {"unique_id": "model.other.m", "status": "success"})
    assert shop.record() == ["one of other; not recorded"]
    assert shop.counts(*FACTS)["executions"] == 0
    (shop.folder / "dbt_project.yml").write_text("name: mine\n")
    shop.manifest(FEBRUARY)
    assert "shop; recorded as that project's" in shop.record()


def test_every_file_that_was_read_is_an_artifact_with_its_commit(shop, monkeypatch):
    monkeypatch.setenv("GITHUB_SHA", "abc123")
    (shop.folder / ".git").mkdir()
    shop.manifest()
    shop.run_results()
    shop.catalog("id", "amount")
    shop.write("sources", results=[])
    (shop.target / "semantic_manifest.json").write_text(
        '{"semantic_models": [], "metrics": [], "project_configuration": {}}'
    )
    shop.record()
    artifacts = (
        "select path, kind, git_commit from artifacts where kind <> 'manifest' or project_name = 'shop'"
    )
    assert sorted(shop.rows(artifacts)) == [
        (f"target/{kind}.json", kind, "abc123")
        for kind in ("catalog", "manifest", "run_results", "semantic_manifest", "sources")
    ]


def test_the_commit_is_that_of_the_working_tree_or_the_one_given(shop, monkeypatch):
    for name in ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "DBT_CLOUD_GIT_SHA", "CIRCLE_SHA1"):
        monkeypatch.delenv(name, raising=False)
    git = shop.folder / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\nfeed refs/heads/main\n")
    commits = "select git_commit, authored_at::date::varchar from artifacts where project_name = 'shop'"
    shop.manifest()
    shop.record()
    assert shop.rows(commits) == [("feed", None)]
    shop.manifest(FEBRUARY)
    shop.record(git_commit="beef", authored_at=read_manifest(shop.target / "manifest.json").generated_at)
    assert ("beef", "2025-02-10") in shop.rows(commits)


def test_logic_behind_unchanged_words_is_a_new_state_of_the_same_content(shop):
    def nodes(sql: str) -> dict[str, Any]:
        return {MODEL: {**shop.sections["nodes"][MODEL], "raw_code": sql}}

    for at, sql in ((JANUARY, "select 1"), (FEBRUARY, "select  1 -- one\n"), (MARCH, "select 2")):
        shop.manifest(at, nodes=nodes(sql))
        shop.record()
    states = shop.rows(
        "select count(*), count(distinct content_hash), count(distinct logic_hash), "
        f"count(distinct state_hash) from assertions where node_id = '{MODEL}'"
    )
    assert states == [(2, 1, 2, 2)]


def test_whether_files_are_recorded_is_known_without_reading_them(shop):
    def known(environment: str = "prod") -> bool:
        project_file = read_project_file(shop.folder / "attest.yml")
        files = files_here(shop.folder, project_file)
        found = recorded_as(shop.connection, "attest", environment, files["manifest.json"], files_id(files))
        return found is not None

    shop.manifest()
    shop.run_results()
    assert not known()
    shop.record()
    assert known()
    assert not known("dev")
    shop.run_results(FEBRUARY)
    assert not known()
    shop.record()
    assert known()
    (shop.folder / "attest.yml").write_text("environment: prod\n")
    assert not known()


def test_the_order_in_which_dbt_writes_its_nodes_is_no_difference(shop, node):
    other = node("model.shop.refunds", columns=columns("id"), description="Money back", meta={"owner": "Ann"})
    shop.sections["nodes"][other["unique_id"]] = other
    shop.manifest()
    shop.record()
    before = shop.counts(*FACTS, "assertions", "lineage_edges")
    nodes = dict(reversed(shop.sections["nodes"].items()))
    shop.manifest(FEBRUARY, nodes=nodes)
    shop.record()
    assert shop.counts(*FACTS, "assertions", "lineage_edges") == before
    (january,), (february,) = shop.rows("select digests from collections order by generated_at")[-2:]
    assert january == february
