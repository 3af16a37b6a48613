"""OpenLineage events of the last run that was recorded, with the definition that governed what each node built.

Form: OpenLineage 2-0-2 (https://openlineage.io/spec/2-0-2/OpenLineage.json) and its ParentRunFacet; the facet
`attest_governingDefinition` of an output is `openlineage_facet.schema.json` beside this file.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

from dbt_attest import __version__
from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.audit import audited
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.result import plain
from dbt_attest.resolution.timeline_file import timeline_sql
from dbt_attest.resolution.warehouse import Warehouse

_PRODUCER = f"pkg:pypi/dbt-attest@{__version__}"
_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_PARENT = "https://openlineage.io/spec/facets/1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet"
#: `$id` of the facet's schema.
FACET = "urn:dbt-attest:openlineage:governing-definition:1"
_DONE = {"success": "COMPLETE", "partial success": "COMPLETE"}


@audited("openlineage")
def events(
    warehouse: Warehouse,
    *,
    known_at: datetime | date | str | None = None,
    requester: Requester,
    scope: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """A START and a COMPLETE or FAIL event for each node that the last recorded run of each project built.

    Only what really ran is a run: nothing that was compiled, empty, reused or skipped. The run of the dbt
    invocation is each one's parent. A dataset is named by its relation where a run told it, else by its
    unique_id. Nodes that the requester may not see are in no event. The definition is the one in force on the
    UTC day on which the node was built.

    Raises InputError and WarehouseError as `Warehouse.resolve` does.
    """
    asked = warehouse.asked_place()
    sql = timeline_sql(asked, known_at=known_at, requester=requester, scope=scope)
    values = {"environment": asked[1], "groups": [*requester.groups, "everyone"]}
    with warehouse.connection() as (connection, schema):
        rows_of(connection, f"create temp table answers as {sql}", None)

        def rows(query: str) -> list[dict[str, Any]]:
            used = {name: value for name, value in values.items() if f"${name}" in query}
            return rows_of(connection, query.format(schema=schema), used or None)

        runs = rows(_RUNS)
        relations = {one["node_id"]: one["relation_name"] for one in rows(_RELATIONS)}
        inputs: dict[str, list[str]] = defaultdict(list)
        for edge in rows(_INPUTS):
            inputs[edge["to_node"]].append(edge["from_node"])
        governing: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in rows(_GOVERNING):
            governing[one.pop("node_id")].append(one)
    return [
        event
        for run in runs
        for event in _events(run, inputs[run["node_id"]], governing[run["node_id"]], relations)
    ]


def _events(
    run: Mapping[str, Any],
    inputs: Iterable[str],
    governing: list[dict[str, Any]],
    relations: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    node_id, completed_at = run["node_id"], run["completed_at"] or run["generated_at"]
    invocation = _uuid(run["invocation_id"] or run["artifact_id"])
    namespace = f"{run['project_name']}.{run['environment']}"
    said = [
        {"on": plain(completed_at.date()), **plain(one)}
        for one in governing
        if (one["valid_from"] or date.min) <= completed_at.date() < (one["valid_to"] or date.max)
    ]

    def dataset(unique_id: str, facets: dict[str, Any]) -> dict[str, Any]:
        name = relations.get(unique_id) or unique_id
        return {"namespace": run["adapter_type"] or "dbt", "name": name.replace('"', ""), "facets": facets}

    facet = {"_producer": _PRODUCER, "_schemaURL": FACET, "definitions": said}
    common: dict[str, Any] = {
        "run": {
            "runId": str(uuid.uuid5(invocation, node_id)),
            "facets": {
                "parent": {
                    "_producer": _PRODUCER,
                    "_schemaURL": _PARENT,
                    "run": {"runId": str(invocation)},
                    "job": {"namespace": namespace, "name": run["project_name"]},
                }
            },
        },
        "job": {"namespace": namespace, "name": node_id, "facets": {}},
        "inputs": [dataset(one, {}) for one in inputs],
        "outputs": [dataset(node_id, {"attest_governingDefinition": facet} if said else {})],
        "producer": _PRODUCER,
        "schemaURL": _EVENT,
    }
    started_at = run["started_at"] or completed_at
    yield {"eventType": "START", "eventTime": plain(started_at), **common}
    yield {
        "eventType": _DONE.get(run["outcome"], "FAIL"),
        "eventTime": plain(completed_at),
        **common,
    }


def _uuid(text: str) -> uuid.UUID:
    """dbt's invocation_id is one; what is none becomes always the same one."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return uuid.uuid5(uuid.NAMESPACE_URL, text)


_VISIBLE = """
  select distinct assertion.node_id from {schema}.recorded_assertions as assertion
  where assertion.environment = $environment and list_has_any(assertion.groups, $groups)
    and assertion.entity_type is distinct from 'dbt_column'"""

_RUNS = f"""
with ran as (
  select execution.* from {{schema}}.executions as execution
  where execution.environment = $environment and execution.class = 'executed'
    and execution.resource_type in ('model', 'seed', 'snapshot')
)
select ran.*, manifest.adapter_type
from ran
left join {{schema}}.artifacts as manifest on manifest.artifact_id = ran.manifest_id
where ran.node_id in ({_VISIBLE})
qualify ran.artifact_id = last_value(ran.artifact_id) over (
  partition by ran.project_name order by ran.generated_at, ran.artifact_id
  rows between unbounded preceding and unbounded following)
order by ran.project_name, ran.completed_at, ran.position
"""

_RELATIONS = """
select execution.node_id, arg_max(execution.relation_name, execution.generated_at) as relation_name
from {schema}.executions as execution
where execution.environment = $environment and execution.relation_name is not null
group by execution.node_id
"""

_INPUTS = f"""
select edge.from_node, edge.to_node
from {{schema}}.lineage_edges as edge
where edge.environment = $environment and edge.kind in ('ref', 'source')
  and edge.from_node in ({_VISIBLE})
group by edge.from_node, edge.to_node
having arg_max(edge.stated, {{{{a: edge.asserted_at, g: edge.generated_at, f: edge.artifact_id, i: edge.ingested_at}}}})
order by edge.from_node, edge.to_node
"""

_GOVERNING = """
select distinct
  definition.node_id,
  answers.entity_id as entity,
  answers.outcome,
  answers.reason,
  answers.evidence_id,
  answers.version,
  answers.valid_from,
  answers.valid_to,
  governing.authority,
  governing.approved_by,
  answers.content_hash
from {schema}.recorded_assertions as definition
join answers on answers.entity_id = definition.entity_id
left join {schema}.recorded_assertions as governing
  on governing.environment = definition.environment and governing.evidence_id = answers.evidence_id
    and governing.content_hash = answers.content_hash and governing.known_until is null
where definition.environment = $environment and definition.node_id is not null
  and definition.entity_type is distinct from 'dbt_column' and list_has_any(definition.groups, $groups)
order by definition.node_id, entity, answers.valid_from nulls first
"""
