"""OpenLineage events: what the published client takes, with the definition that governed, and nothing restricted."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import parent_run
from openlineage.client.serde import Serde

from dbt_attest import Requester, open
from dbt_attest.resolution.bundle import bundle
from dbt_attest.resolution.openlineage import FACET, events
from dbt_attest.resolution.reproduction import reproduce

AT = "2025-01-10T09:00:00Z"
INVOCATION = "0d8a4a52-6a0e-4c54-9c3f-6f2f3f8f3f1d"
V1 = {"entity_id": "model.orders", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "approved_by": "cfo", "definition": "first"}  # fmt: skip
SECRET = {"entity_id": "model.secret", "evidence_id": "s1", "permissions": ["finance"]}


def _model(name: str, *reads: str, **annotation: Any) -> dict[str, Any]:
    return {
        "unique_id": f"model.shop.{name}",
        "resource_type": "model",
        "name": name,
        "package_name": "shop",
        "original_file_path": f"models/{name}.sql",
        "config": {"meta": {"attest": annotation}},
        "depends_on": {"nodes": list(reads)},
        "columns": {},
    }


def _result(name: str, status: str, **more: Any) -> dict[str, Any]:
    step = {"name": "execute", "started_at": AT, "completed_at": "2025-01-10T09:00:05Z"}
    return {
        "unique_id": f"model.shop.{name}", "status": status, "timing": [step], "thread_id": "1",
        "execution_time": 5.0, "adapter_response": {"_message": "OK"}, "message": "OK", "failures": None,
        "compiled": True, "relation_name": f'"db"."main"."{name}"',
    } | more  # fmt: skip


@pytest.fixture
def run(world, make_manifest, make_project):
    """orders read secret and were built; late failed; nothing else ran."""
    manifest = make_manifest(AT, {})
    manifest["metadata"]["invocation_id"] = INVOCATION
    manifest["nodes"] = {
        node["unique_id"]: node
        for node in (
            _model("secret", **SECRET),
            _model("base", permissions=["everyone"]),
            _model("orders", "model.shop.secret", "model.shop.base", **V1),
            _model("late", "model.shop.orders", permissions=["everyone"]),
        )
    }
    # a column that is open opens no table
    column = {"name": "id", "config": {"meta": {"attest": {"permissions": ["everyone"]}}}}
    manifest["nodes"]["model.shop.secret"]["columns"] = {"id": column}
    make_project(world.folder, manifest)
    results = [_result("secret", "success"), _result("orders", "success"), _result("late", "error")]
    ran = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json",
            "dbt_version": "1.11.0",
            "generated_at": AT,
            "invocation_id": INVOCATION,
        },
        "results": results,
        "args": {"which": "build"},
    }
    (world.folder / "target" / "run_results.json").write_text(json.dumps(ran), encoding="utf-8")
    return world


def _build(world, attest):
    ran = attest(world.folder, "build", "--warehouse", str(world.warehouse))
    assert ran.code == 0, ran.errors


def test_the_published_client_takes_every_event(run, attest):
    _build(run, attest)
    found = list(events(open(run.warehouse), requester=Requester(["finance"])))
    assert len(found) == 6
    for event in found:
        parent = event["run"]["facets"]["parent"]
        typed = RunEvent(
            eventType=RunState(event["eventType"]),
            eventTime=event["eventTime"],
            producer=event["producer"],
            run=Run(
                runId=event["run"]["runId"],
                facets={
                    "parent": parent_run.ParentRunFacet(
                        run=parent_run.Run(**parent["run"]),
                        job=parent_run.Job(**parent["job"]),
                        producer=parent["_producer"],
                    )
                },
            ),
            job=Job(**event["job"]),
            inputs=[InputDataset(**one) for one in event["inputs"]],
            outputs=[OutputDataset(**one | {"facets": {}}) for one in event["outputs"]],
        )
        ours = event | {"outputs": [one | {"facets": {}} for one in event["outputs"]]}
        assert _bare(Serde.to_dict(typed)) == _bare(ours)


def _bare(value: Any) -> Any:
    """Without what is empty, and without the minor version of a schema, which the client's release decides."""
    if isinstance(value, dict):
        return {
            key: _bare(one)
            for key, one in value.items()
            if one not in ({}, [], None) and key not in ("schemaURL", "_schemaURL")
        }
    return [_bare(one) for one in value] if isinstance(value, list) else value


def test_the_definition_that_governed_is_a_facet_of_its_own_form(run, attest):
    _build(run, attest)
    found = list(events(open(run.warehouse), requester=Requester(["finance"])))
    (done,) = (
        one for one in found if one["eventType"] == "COMPLETE" and one["job"]["name"].endswith("orders")
    )
    (output,) = done["outputs"]
    assert (output["namespace"], output["name"]) == ("duckdb", "db.main.orders")
    facet = output["facets"]["attest_governingDefinition"]
    schema = json.loads(
        resources.files("dbt_attest.resolution").joinpath("openlineage_facet.schema.json").read_text("utf-8")
    )
    assert (schema["$id"], list(Draft202012Validator(schema).iter_errors(facet))) == (FACET, [])
    (definition,) = facet["definitions"]
    assert {
        key: definition[key] for key in ("on", "entity", "outcome", "evidence_id", "valid_from", "authority")
    } == {
        "on": "2025-01-10",
        "entity": "model.orders",
        "outcome": "answer",
        "evidence_id": "v1",
        "valid_from": "2024-01-01",
        "authority": "authoritative",
    }
    assert {one["eventType"] for one in found if one["job"]["name"].endswith("late")} == {"START", "FAIL"}


def test_what_may_not_be_seen_is_in_no_event(run, attest):
    _build(run, attest)
    ran = attest(run.folder, "export", "--format", "openlineage", "--warehouse", str(run.warehouse))
    assert ran.code == 0
    assert "secret" not in ran.output
    lines = [json.loads(line) for line in ran.output.splitlines()]
    assert {one["job"]["name"] for one in lines} == {"model.shop.orders", "model.shop.late"}
    # named by its unique_id, since no run told its relation
    assert [one["name"] for one in lines[0]["inputs"]] == ["model.shop.base"]


def test_no_facet_names_a_definition_that_may_not_be_seen(run, attest):
    """The model was another entity's once, and who may see that is another question."""
    target = run.folder / "target" / "manifest.json"
    present = target.read_text(encoding="utf-8")
    before = json.loads(present)
    before["metadata"]["generated_at"] = "2025-01-09T09:00:00Z"
    before["nodes"]["model.shop.orders"]["config"]["meta"]["attest"] = (
        V1 | SECRET | {"entity_id": "model.was", "evidence_id": "w1"}
    )
    target.write_text(json.dumps(before), encoding="utf-8")
    _build(run, attest)
    target.write_text(present, encoding="utf-8")
    attest(run.folder, "build", "--warehouse", str(run.warehouse), "--allow-removals")
    ran = attest(run.folder, "export", "--format", "openlineage", "--warehouse", str(run.warehouse))
    assert '"model.orders"' in ran.output
    assert "model.was" not in ran.output


def test_a_bundle_of_what_ran_is_the_same_again(run, attest):
    """The run's results are younger than the manifest, and the state of knowledge holds both."""
    results = run.folder / "target" / "run_results.json"
    results.write_text(
        results.read_text("utf-8").replace(f'"{AT}"', '"2025-01-10T09:01:00Z"', 1), encoding="utf-8"
    )
    _build(run, attest)
    asked = open(run.warehouse)
    made = bundle(asked, "model.orders", on="2025-01-10", requester=Requester())
    assert made["clocks"]["known_at"] == "2025-01-10T09:01:00+00:00"
    assert {(one["from_node"], one["to_node"], one["strength"]) for one in made["lineage"]} == {
        ("model.shop.base", "model.shop.orders", "observed"),
        (None, "model.shop.orders", None),
    }
    assert reproduce(asked, json.loads(json.dumps(made)), Requester()).identical


def test_nothing_ran(world, attest, tmp_path):
    world.collect(AT, {"v1": V1})
    out = tmp_path / "events.jsonl"
    ran = attest(
        world.folder, "export", str(out), "--format", "openlineage", "--warehouse", str(world.warehouse)
    )
    assert (ran.code, out.read_text("utf-8")) == (0, "")
