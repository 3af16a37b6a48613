"""`attest check`: on a target folder, against what was before, on a warehouse, and in each of its formats."""

from __future__ import annotations

import json
import shutil

import pytest

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
JANUARY, FEBRUARY = "2025-01-10T09:00:00Z", "2025-02-10T09:00:00Z"
EXPIRED = GOOD | {"entity_id": "metric.old", "evidence_id": "OLD", "effective_to": "2024-06-30"}
OTHER = GOOD | {"evidence_id": "B", "effective_from": "2024-06-01"}


@pytest.fixture
def project(tmp_path, make_project, make_manifest):
    """Writes the target folder of a project that states these definitions; gives its folder."""

    def write(states, at=FEBRUARY, target="target", **more):
        return make_project(tmp_path / "shop", make_manifest(at, states), target=target, **more)

    return write


def kinds(ran):
    return [(gap["severity"], gap["kind"], gap["evidence_id"]) for gap in ran.json["gaps"]]


def test_a_target_folder_without_a_warehouse(attest, project):
    folder = project({"a": GOOD, "old": EXPIRED})
    ran = attest(folder, "check")
    assert ran.code == 0
    assert ran.output.splitlines()[1] == "1 warning"
    assert "warning  version_expired  OLD of metric.old" in ran.output
    assert {one.name for one in folder.iterdir()} == {"dbt_project.yml", "target"}


def test_an_error_is_exit_code_1_and_comes_first(attest, project):
    ran = attest(project({"a": GOOD, "b": OTHER, "old": EXPIRED}), "check", "--format", "json")
    assert (ran.code, kinds(ran)) == (
        1,
        [("error", "interval_overlap", "B"), ("warning", "version_expired", "OLD")],
    )
    assert ran.json["counts"] == {"error": 1, "warning": 1, "notice": 0}


def test_a_right_project_has_none(attest, project):
    ran = attest(project({"a": GOOD}), "check")
    assert (ran.code, ran.output.splitlines()[1:]) == (0, ["no gap"])


def test_the_order_is_that_of_the_gaps_and_not_of_the_manifest(attest, project):
    states = {"c": EXPIRED | {"entity_id": "c", "evidence_id": "C"}, "a": GOOD, "b": OTHER, "old": EXPIRED}
    one = attest(project(states), "check").output
    assert attest(project(dict(reversed(states.items()))), "check").output == one


@pytest.mark.parametrize("earlier", [JANUARY, "2025-03-10T09:00:00Z"], ids=["before", "parsed last"])
def test_against_an_earlier_manifest_only_what_is_new(attest, project, earlier):
    project({"a": GOOD, "old": EXPIRED}, at=earlier, target="main")
    folder = project({"a": GOOD | {"definition": "Another thing."}, "old": EXPIRED})
    ran = attest(folder, "check", "--against", "main", "--format", "json")
    assert (ran.code, kinds(ran), ran.json["gaps_before"]) == (
        1,
        [("error", "history_rewritten", "A")],
        1,
    )
    ran = attest(folder, "check", "--against", "main/manifest.json")
    assert "1 error; 1 gap that was there before" in ran.output
    assert ran.output.count("\n\n") == 1


def test_against_another_checkout_with_its_own_rules_and_documents(attest, project, tmp_path):
    rules = 'documents: ["docs/*.md"]\nrules: [{path: "**", permissions: [everyone]}]\n'
    folder = project({}, attest_yml=rules)
    base = tmp_path / "base"
    for where, words in ((folder, "Another thing."), (base, "What it is.")):
        (where / "docs").mkdir(parents=True)
        front = "\n".join(
            f"{key}: {value}" for key, value in GOOD.items() if key not in ("permissions", "definition")
        )
        (where / "docs" / "a.md").write_text(f"---\n{front}\n---\n{words}\n")
    shutil.copytree(folder / "target", base / "target")
    (base / "dbt_project.yml").write_text("name: shop\n")
    # it was checked out last, too
    (base / "attest.yml").write_text(rules.replace("everyone", "finance"))
    ran = attest(folder, "check", "--against", str(base / "target"), "--format", "json")
    assert (ran.code, kinds(ran)) == (1, [("error", "history_rewritten", "A")])


def test_against_a_warehouse_and_on_it(attest, project, world):
    world.collect(JANUARY, {"a": GOOD, "old": EXPIRED})
    folder = project({"a": GOOD | {"effective_from": "2023-01-01"}, "old": EXPIRED})
    before = world.warehouse.read_bytes()
    ran = attest(folder, "check", "--against", str(world.warehouse), "--format", "json")
    assert (ran.code, kinds(ran)) == (1, [("error", "history_rewritten", "A")])
    assert world.warehouse.read_bytes() == before
    # an edit of what was edited before is another
    world.collect("2025-01-20T09:00:00Z", {"a": GOOD | {"effective_from": "2023-06-01"}, "old": EXPIRED})
    ran = attest(folder, "check", "--against", str(world.warehouse), "--format", "json")
    assert (kinds(ran), ran.json["gaps_before"]) == ([("error", "history_rewritten", "A")], 2)
    assert attest(folder, "check", "--against", str(world.warehouse), "--environment", "prd").code == 2
    ran = attest(folder, "check", "--warehouse", str(world.warehouse), "--format", "json")
    assert (ran.code, kinds(ran), ran.json["checked"]) == (
        1,
        [("error", "history_rewritten", "A"), ("warning", "version_expired", "OLD")],
        str(world.warehouse),
    )


def test_definitions_that_a_change_deletes_are_named(attest, project):
    project({f"m{n}": GOOD | {"entity_id": f"m{n}", "evidence_id": f"M{n}"} for n in range(9)}, target="main")
    ran = attest(
        project({"m0": GOOD | {"entity_id": "m0", "evidence_id": "M0"}}), "check", "--against", "main"
    )
    assert (ran.code, ran.output.splitlines()[1]) == (0, "8 notices")
    assert "version_expired  8 definitions: M1 of m1, M2 of m2, M3 of m3 and others" in ran.output
    assert "no longer stated since 2025-02-10" in ran.output


def test_many_that_say_the_same_are_one_paragraph(attest, project):
    ran = attest(project({f"m{n}": {} for n in range(9)}), "check")
    assert ran.code == 0
    assert (
        "attribute_missing  9 definitions: metric.shop.m0, metric.shop.m1, metric.shop.m2 and others"
        in ran.output
    )
    assert "models (9)" in ran.output


def test_what_one_definition_lacks_is_one_paragraph(attest, project):
    folder = project(
        {"a": {"authority": "authoritative", "effective_from": "2024-01-01", "permissions": ["everyone"]}}
    )
    ran = attest(folder, "check")
    assert ran.output.splitlines()[1] == "4 warnings"
    assert "expected  approved_by, definition, grain, owner" in ran.output
    assert ran.output.count("attribute_missing") == 1


def test_github_annotations_name_the_line_and_obey_nothing(attest, project, monkeypatch):
    hostile = "B\n::error::x"
    folder = project({"a": GOOD, "b": OTHER | {"evidence_id": hostile}})
    (folder / "models").mkdir()
    text = "models:\n  - name: b\nmetrics:\n  - name: a\n\n  - name: b  # no model\n"
    (folder / "models" / "metrics.yml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder.parent))
    ran = attest(folder, "check", "--format", "github")
    (line,) = ran.output.splitlines()
    assert line.startswith(
        "::error file=shop/models/metrics.yml,line=6,title=attest interval_overlap::B%0A::error"
    )
    assert "also A from 2024-06-01 on" in line


def test_annotations_that_cannot_be_read_are_annotations_of_the_workflow(attest, project):
    ran = attest(
        project({"a": GOOD | {"effectve_from": "x"}, "b": {"authority": "high"}}),
        "check",
        "--format",
        "github",
    )
    assert ran.code == 2
    assert [line.split("::")[1][:38] for line in ran.output.splitlines()] == [
        "error file=models/metrics.yml,title=at"
    ] * 2
    assert "did you mean `effective_from`?" in ran.errors


def test_markdown_is_a_table_without_markup_of_its_own(attest, project):
    ran = attest(
        project({"a": GOOD, "b": OTHER | {"evidence_id": "B|*@ann*"}}), "check", "--format", "markdown"
    )
    head, _, _, _, row = ran.output.splitlines()
    assert head == "### attest check: 1 error"
    assert r"B\|\*&#64;ann\* of metric.a" in row


@pytest.mark.parametrize("words", [["--target-dir", "target"], ["--against", "target"]])
def test_a_warehouse_beside_a_target_folder_is_a_misunderstanding(attest, project, words):
    ran = attest(project({"a": GOOD}), "check", "--warehouse", "x.duckdb", *words)
    assert (
        ran.code,
        "to compare with a warehouse, name it with --against" in " ".join(ran.errors.split()),
    ) == (2, True)


def test_what_is_missing_is_named(attest, project, tmp_path):
    folder = project({"a": GOOD})
    assert "none.json" in attest(folder, "check", "--against", "none.json").sentence
    assert attest(folder, "check", "--against", "none.duckdb").code == 3
    assert "main/manifest.json" in attest(folder, "check", "--target-dir", "main").sentence
    shutil.rmtree(folder / "target")
    assert attest(folder, "check").code == 2
    assert "dbt_project.yml" in attest(tmp_path, "check", "--against", "x").sentence


def test_an_environment_of_which_nothing_was_collected_is_no_clean_one(attest, world):
    world.collect(JANUARY, {"a": GOOD})
    ran = attest(world.folder, "check", "--environment", "prd")
    assert ran.code == 2
    assert "expected a collection of environment prd, found those of elsewhere, prod" in ran.sentence


def test_json_has_every_column_of_the_view(attest, project):
    (gap,) = attest(project({"old": EXPIRED}), "check", "--format", "json").json["gaps"]
    assert json.loads(json.dumps(gap)) == gap | {
        "environment": "prod", "entity": "metric.old", "evidence_id": "OLD", "kind": "version_expired",
        "severity": "warning", "owner": "Finance", "file": "models/metrics.yml", "node_id": "metric.shop.old",
        "since": "2025-02-10T09:00:00+00:00",
    }  # fmt: skip


@pytest.fixture
def finance(tmp_path, make_project, make_manifest):
    """Two metrics of a group and a tag: a ready one with two versions, and one without owner and grain."""
    versions = [
        {"version": 1, "effective_from": "2024-01-01", "models": "fct.v1", "definition": "First."},
        {"version": 2, "effective_from": "2025-01-01", "definition": "Second."},
    ]
    shared = {
        key: value
        for key, value in GOOD.items()
        if key not in ("effective_from", "evidence_id", "definition")
    }
    bare = GOOD | {"entity_id": "metric.b", "evidence_id": "B", "owner": None, "grain": None}
    content = make_manifest(FEBRUARY, {"a": shared | {"versions": versions}, "b": bare})
    content["nodes"] = {
        f"model.shop.fct.v{version}": {
            "unique_id": f"model.shop.fct.v{version}", "resource_type": "model", "package_name": "shop", "name": "fct",
            "version": version, "original_file_path": f"models/parts/fct_v{version}.sql",
            "config": {"meta": {"attest": {"authority": "non_authoritative"}}},
        }
        for version in (1, 2)
    }  # fmt: skip
    for metric in content["metrics"].values():
        metric["depends_on"] = {"nodes": ["model.shop.fct.v2"]}
        metric["config"] |= {"tags": ["board"], "group": "finance"}
    return make_project(tmp_path / "shop", content)


@pytest.mark.parametrize("domain", ["models", "group:finance", "a, metric.b"])
def test_a_domain_that_is_not_ready_tells_what_to_repair_first(attest, finance, domain):
    ran = attest(finance, "check", "--ready-for", domain, "--format", "json")
    assert (ran.code, ran.json["verdict"], ran.json["ready"], ran.json["entities"]) == (1, "not ready", 1, 2)
    shares = {one["name"]: (one["met"], one["of"]) for one in ran.json["conditions"]}
    assert len(shares) == 12
    assert (shares["owner"], shares["lineage"], shares["supersession"]) == ((1, 2), (2, 2), (1, 1))
    assert shares["freshness"] == (0, 0)
    assert [(one["condition"], one["entities"], one["makes_ready"]) for one in ran.json["repairs"]] == [
        ("grain", ["metric.b"], 0),
        ("owner", ["metric.b"], 0),
    ]


def test_an_entity_that_is_ready(attest, finance):
    ran = attest(finance, "check", "--ready-for", "metric.a")
    assert ran.code == 0
    assert ran.output.startswith("metric.a (prod): ready; 1 of 1 entities are ready")
    assert "  freshness       not applicable" in ran.output
    assert "unlock" not in ran.output


@pytest.mark.parametrize(("rules", "met"), [("", 0), ("rules: [{path: '**', permissions: [a]}]", 1)])
def test_what_nobody_classified_and_nobody_may_see_is_not_permitted(
    attest, tmp_path, make_project, make_manifest, rules, met
):
    content = make_manifest(FEBRUARY, {"a": {}})
    content["metrics"]["metric.shop.a"]["config"] = {}
    folder = make_project(tmp_path / "shop", content, rules)
    ran = attest(folder, "check", "--ready-for", "a", "--format", "json")
    assert {one["name"]: one["met"] for one in ran.json["conditions"]}["permission"] == met


def test_a_domain_without_anything_in_it(attest, finance):
    for domain in ("tag:none", "metric.c"):
        ran = attest(finance, "check", "--ready-for", domain)
        assert (ran.code, "to answer questions, found none" in ran.sentence) == (2, True)
