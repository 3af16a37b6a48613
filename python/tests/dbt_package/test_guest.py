"""The package in a user's project: what dbt commands leave behind, and what a root project may set."""

from __future__ import annotations

import re

import duckdb
import pytest

from .conftest import SCHEMA, Project, put_fixture_b

V1_V2 = [(1, "B.v1"), (1, "B.v1"), (2, "B.v2")]
DEFINED = "select order_id, evidence_id from {} where order_id <= 2 order by order_id"
RESOLVERS = ["recorded_assertions", "definition_timeline", "definition_changes", "current_definitions"]


def assert_resolvers_answer(project: Project, schema: str = SCHEMA) -> None:
    """Views and functions answer from the evidence of fixture B."""
    of_b = "where entity_id = 'metric.b' order by all"
    timeline = f"select evidence_id from {schema}.definition_timeline {of_b}"
    assert project.sql(timeline) == [("B.v1",), ("B.v2",)]
    current = f"select outcome, evidence_id from {schema}.current_definitions {of_b}"
    assert project.sql(current) == [("answer", "B.v2")]
    asked = f"select evidence_id from {schema}.definition_on('metric.b', '2024-06-30', groups := 'readers')"
    assert project.sql(asked) == [("B.v1",)]
    year = "'b', '2024-01-01', '2024-12-31', groups := 'readers'"
    period = f"select outcome from {schema}.definition_between({year})"
    assert project.sql(period) == [("split",)]


def test_first_build_creates_the_evidence_tables_of_the_contract(before_collection: Project) -> None:
    contract = {
        (source["name"], column["name"]): column["data_type"]
        for source in before_collection.manifest()["sources"].values()
        for column in source["columns"].values()
    }
    created = before_collection.sql(
        "select table_name, column_name, lower(replace(data_type, '\"', '')) from duckdb_columns() "
        f"where schema_name = '{SCHEMA}' and table_name in (select table_name from duckdb_tables())"
    )
    aliases = {"timestamptz": "timestamp with time zone"}
    assert {(table, column): kind for table, column, kind in created} == {
        key: aliases.get(kind, kind) for key, kind in contract.items()
    }
    assert before_collection.sql(f"select version from {SCHEMA}.contract_versions") == [(1,)]


def test_build_answers_and_passes_the_unit_test(collected: Project) -> None:
    assert collected.sql(DEFINED.format("orders_defined")) == V1_V2
    assert_resolvers_answer(collected)
    assert set(collected.results().values()) == {"success", "pass"}
    assert collected.results()["unit_test.shop.orders_defined.each_order_under_its_definition"] == "pass"


def test_a_second_build_asks_the_database_for_nothing_in_the_hook(collected: Project) -> None:
    log = (collected.folder / "logs" / "dbt.log").read_text(encoding="utf-8")
    last = log[log.rindex("Running with dbt=") :]
    assert "attest-on-run-start-0" in last
    assert "select readonly from" not in last
    assert "create table if not exists" not in last


def test_build_empty_leaves_resolvers_that_answer(project: Project) -> None:
    project.dbt("build", "--empty")
    assert project.sql("select count(*) from orders_contracted") == [(0,)]
    assert project.sql("select count(*) from orders_defined") == [(0,)]
    bodies = f"select view_name, sql from duckdb_views() where schema_name = '{SCHEMA}'"
    for name, body in project.sql(bodies):
        assert not re.search(r"where \(?(false|1 = 0)|limit 0", body, re.IGNORECASE), name
    assert_resolvers_answer(project)
    # the user's own view, built with --empty, reads no order until it runs again
    project.dbt("run", "--select", "orders", "orders_defined")
    assert project.sql(DEFINED.format("orders_defined")) == V1_V2
    assert_resolvers_answer(project)


def test_full_refresh_keeps_the_evidence(project: Project) -> None:
    before = project.sql(f"from {SCHEMA}.assertions order by all")
    project.sql(f"alter table {SCHEMA}.collections drop column observed_at")  # as of an older release
    project.dbt("build", "--full-refresh")
    assert project.sql(f"select count(*), count(observed_at) from {SCHEMA}.collections") == [(6, 0)]
    assert before
    assert project.sql(f"from {SCHEMA}.assertions order by all") == before
    assert project.sql(f"select count(*) from {SCHEMA}.contract_versions") == [(1,)]
    assert project.sql("select count(*), count(evidence_id) from orders_incremental") == [(8, 6)]


def test_select_one_model(project: Project) -> None:
    project.sql("drop table orders_contracted")
    project.dbt("build", "--select", "orders_contracted")
    ran = {node for node in project.results() if node.startswith("model.")}
    assert ran == {"model.shop.orders_contracted"}
    assert project.sql(DEFINED.format("orders_contracted")) == V1_V2


def test_select_with_parents_on_a_fresh_file_builds_what_the_macros_stand_on(fresh: Project) -> None:
    fresh.dbt("run", "--select", "+orders_contracted")
    ran = {node for node in fresh.results() if node.startswith("model.")}
    assert ran == {"model.shop.orders", "model.shop.orders_contracted", "model.attest.recorded_assertions"}
    assert fresh.sql("select distinct reason from orders_contracted") == [("nothing_collected",)]


def test_compile_makes_nothing_on_a_fresh_file(fresh: Project) -> None:
    fresh.dbt("compile")
    assert fresh.sql("select table_name from information_schema.tables") == []
    compiled = fresh.folder / "target/compiled/shop/models/orders_defined.sql"
    assert '"main_attest"."assertions"' in compiled.read_text(encoding="utf-8")


def test_docs_generate_describes_our_views(project: Project) -> None:
    project.dbt("docs", "generate")
    catalog = duckdb.execute(
        "select unnest(json_keys(json(content), '$.nodes')) from read_text(?)",
        [str(project.folder / "target" / "catalog.json")],
    ).fetchall()
    assert {f"model.attest.{name}" for name in RESOLVERS} <= {node for (node,) in catalog}
    assert_resolvers_answer(project)


def test_test_command(project: Project) -> None:
    project.dbt("test")
    assert set(project.results().values()) == {"success", "pass"}
    assert project.results()["unit_test.shop.orders_defined.each_order_under_its_definition"] == "pass"


def test_enforced_contract_over_everything(project: Project) -> None:
    project.write(
        "models/other.yml",
        "version: 2\nmodels:\n"
        + "".join(
            f"  - {{name: {path.stem}, config: {{contract: {{enforced: false}}}}}}\n"
            for path in sorted((project.folder / "models").glob("*.sql"))
            if path.stem not in ("orders", "orders_contracted")
        ),
    )
    project.configure("models:\n  +contract: {enforced: true}\n")
    project.dbt("build")
    nodes = project.manifest()["nodes"]
    for name in RESOLVERS:
        assert nodes[f"model.attest.{name}"]["config"]["contract"]["enforced"], name
    assert_resolvers_answer(project)


def test_root_materialized_is_refused_in_one_sentence_and_mended_by_its_advice(project: Project) -> None:
    configuration = (project.folder / "dbt_project.yml").read_text(encoding="utf-8")
    project.configure("models:\n  +materialized: table\n")
    run = project.dbt(
        "build", "--select", "orders", "recorded_assertions", "resolver_functions", succeeds=False
    )
    assert (
        "The root project's dbt_project.yml sets `models: +materialized: table` for every package, "
        "which would freeze the attest resolver 'recorded_assertions' (expected: view); "
        "put that line under `models: shop:` instead."
    ) in " ".join(run.output.split())
    results = project.results()
    assert results["model.shop.orders"] == "success"
    assert results["model.attest.recorded_assertions"] == "error"
    assert results["model.attest.resolver_functions"] == "skipped"
    assert_resolvers_answer(project)  # what stood before stands

    project.write("dbt_project.yml", f"{configuration}models:\n  shop:\n    +materialized: table\n")
    project.dbt("build")
    assert_resolvers_answer(project)
    tables = project.sql("select table_name from duckdb_tables() where schema_name = 'main'")
    assert ("orders_defined",) in tables


def test_root_models_and_sources_of_our_names_capture_nothing(project: Project) -> None:
    for name in RESOLVERS:
        project.write(f"models/{name}.sql", "select 'the user''s own' as whose\n")
    project.write("models/reads_own.sql", "select whose from {{ ref('definition_timeline') }}\n")
    tables = "[{name: assertions}, {name: collections}, {name: names}, {name: policies}]"
    project.write(
        "models/sources.yml",
        "version: 2\nsources:\n"
        f"  - {{name: evidence, schema: nowhere, tables: {tables}}}\n"
        f"  - {{name: attest_evidence, schema: nowhere, tables: {tables}}}\n",
    )
    project.dbt("build")
    assert_resolvers_answer(project)
    assert project.sql(DEFINED.format("orders_defined")) == V1_V2
    assert project.sql("select whose from reads_own") == [("the user's own",)]
    bodies = project.sql(f"select sql from duckdb_views() where schema_name = '{SCHEMA}'")
    assert not any("nowhere" in body for (body,) in bodies)


def test_root_schema_naming_and_other_root_settings_leave_us_in_our_schema(project: Project) -> None:
    """A root generate_schema_name, +schema, +persist_docs, hooks and 16 threads, warnings being errors."""
    project.write(
        "macros/generate_schema_name.sql",
        "{% macro generate_schema_name(custom_schema_name, node) -%}\n"
        "  everything_{{ custom_schema_name or 'else' }}\n{%- endmacro %}\n",
    )
    project.configure(
        "models:\n"
        "  +schema: marts\n"
        "  +persist_docs: {relation: true, columns: true}\n"
        "  +pre-hook: select 1\n"
        "  +post-hook: [select 1]\n"
        "  +tags: [nightly]\n"
    )
    project.dbt("--warn-error", "build", "--threads", "16")
    assert_resolvers_answer(project)
    assert project.sql(DEFINED.format("everything_marts.orders_defined")) == V1_V2
    schemas = {schema for (schema,) in project.sql("select distinct schema_name from duckdb_tables()")}
    assert schemas == {"main", "everything_marts", SCHEMA}


def test_vars_for_schema_environment_and_groups(project: Project) -> None:
    project.configure(
        "vars:\n  attest_schema: governance\n  attest_environment: staging\n"
        "  attest_groups: 'others, readers'\n"
    )
    project.dbt("build", "--exclude", "test_type:unit")
    assert_vars_hold(project)
    assert project.sql("select evidence_id from orders_of_the_public where order_id = 2") == [(None,)]
    put_fixture_b(project.folder / project.database, schema="governance", environment="staging")
    assert project.sql("select evidence_id from orders_of_the_public where order_id = 2") == [("B.v2",)]
    assert_resolvers_answer(project, "governance")

    project.dbt("run", "--select", "orders_of_the_public", "--vars", "{attest_groups: [others, finance]}")
    assert project.sql("select outcome from orders_of_the_public where order_id = 2") == [("deny",)]
    project.dbt("run", "--select", "orders_of_the_public", "--vars", "{attest_groups: [others, readers]}")
    assert project.sql("select evidence_id from orders_of_the_public where order_id = 2") == [("B.v2",)]


def assert_vars_hold(project: Project) -> None:
    views = project.sql("select view_name from duckdb_views() where schema_name = 'governance' order by all")
    assert {name for (name,) in views} == set(RESOLVERS)
    nothing = "select reason from governance.definition_on('metric.b', '2024-06-30')"
    assert project.sql(nothing) == [("nothing_collected",)]


def test_in_memory_target(fresh: Project) -> None:
    fresh.write(
        "profiles.yml",
        "shop: {target: dev, outputs: {dev: {type: duckdb, path: ':memory:', threads: 4}}}\n",
    )
    fresh.write(
        "tests/says_so.sql",
        "-- depends_on: {{ ref('orders_defined') }}\n"
        "select * from {{ ref('orders_defined') }} where reason not in ('nothing_collected')\n",
    )
    fresh.dbt("build", "--exclude", "test_type:unit")
    assert fresh.results()["test.shop.says_so"] == "pass"
    assert set(fresh.results().values()) == {"success", "pass"}


def test_read_only_file(fresh: Project) -> None:
    """The hook runs under `dbt test`: on a file that cannot be written it has no effect."""
    with duckdb.connect(fresh.folder / fresh.database) as connection:
        connection.execute("create table orders as select 1 as order_id")
    fresh.write(
        "profiles.yml",
        "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, threads: 4, "
        "config_options: {access_mode: READ_ONLY}}}}\n",
    )
    fresh.dbt("test", "--select", "orders")
    results = fresh.results()
    assert results["operation.attest.attest-on-run-start-0"] == "success"
    assert [status for node, status in results.items() if node.startswith("test.shop.")] == ["pass"]
    assert fresh.sql("select table_name from duckdb_tables()") == [("orders",)]


def test_show_on_a_read_only_file(project: Project) -> None:
    project.write(
        "profiles.yml",
        "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb, threads: 4, "
        "config_options: {access_mode: READ_ONLY}}}}\n",
    )
    run = project.dbt(
        "show", "--output", "json", "--inline",
        "select evidence_id from {{ attest.definition_on('metric.b', '2024-06-30', groups='readers') }}",
    )  # fmt: skip
    assert '"evidence_id": "B.v1"' in run.output


def test_disabled_package_harms_no_model_that_does_not_use_it(fresh: Project) -> None:
    for model in (fresh.folder / "models").glob("*"):
        if model.stem != "orders":
            model.unlink()
    fresh.configure("models:\n  attest:\n    +enabled: false\nsources:\n  attest:\n    +enabled: false\n")
    fresh.dbt("build")
    assert fresh.sql("select schema_name, table_name from duckdb_tables()") == [("main", "orders")]


def test_unit_test_of_a_model_that_asks_a_single_question(fresh: Project) -> None:
    """attest.definition_on stands on the evidence tables themselves; each is given, most of them empty."""
    fresh.write(
        "models/unit.yml",
        """version: 2
unit_tests:
  - name: one_question
    model: asked_on
    given:
      - input: source('attest_evidence', 'assertions')
        rows:
          - {environment: prod, entity_id: metric.b, evidence_id: B.v1, stated: true, artifact_id: one,
             asserted_at: "2024-01-01 00:00:00Z", generated_at: "2024-01-01 00:00:00Z",
             ingested_at: "2024-01-01 00:00:00Z", state_hash: a, status: approved, authority: authoritative,
             effective_from: 2024-01-01, permissions: [readers]}
      - input: source('attest_evidence', 'collections')
        rows: [{collection_id: one, environment: prod, known_until: "2024-01-01 00:00:00Z"}]
      - {input: "source('attest_evidence', 'names')", rows: []}
      - {input: "source('attest_evidence', 'policies')", rows: []}
      - {input: "source('attest_evidence', 'held_removals')", rows: []}
    expect:
      rows: [{outcome: answer, reason: in_force, evidence_id: B.v1}]
""",
    )
    fresh.dbt("build", "--select", "asked_on")
    assert fresh.results()["unit_test.shop.asked_on.one_question"] == "pass"


def test_another_adapter(fresh: Project) -> None:
    pytest.importorskip("dbt.adapters.postgres")
    for model in (fresh.folder / "models").glob("*"):
        if model.stem not in ("orders", "orders_defined", "asked_on"):
            model.unlink()
    fresh.write(
        "profiles.yml",
        "shop: {target: dev, outputs: {dev: {type: postgres, host: nowhere.invalid, user: u, "
        "password: p, port: 5432, dbname: d, schema: main, threads: 1}}}\n",
    )
    offline = ("--no-populate-cache", "--no-introspect")
    fresh.dbt("compile", *offline, "--select", "orders")
    manifest = fresh.manifest()
    assert not any(node.startswith("model.attest.") for node in manifest["nodes"])
    assert not any(source.startswith("source.attest.") for source in manifest["sources"])
    for model, macro in (("orders_defined", "join_definition"), ("asked_on", "definition_on")):
        run = fresh.dbt("compile", *offline, "--select", model, succeeds=False)
        assert (
            f"attest.{macro} runs on DuckDB, and this target is postgres; "
            "build a stand-alone warehouse with `attest build` and ask it there."
        ) in " ".join(run.output.split())
