"""The evidence bundle: an answer with everything that it can be checked and replayed from.

Its form is `bundle.schema.json` beside this file. A bundle holds only what its requester may see, and every text
in it is data: `instructional` is false for each, whatever the text says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from dbt_attest import __version__
from dbt_attest.errors import InputError
from dbt_attest.resolution.audit import audited
from dbt_attest.resolution.history import Change
from dbt_attest.resolution.lineage import upstream
from dbt_attest.resolution.periods import period
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.result import Resolution, plain
from dbt_attest.resolution.warehouse import Warehouse

#: Version of the bundle's form; another one where a reader of the present one would misread it.
BUNDLE_VERSION = 1


@audited("bundle")
def bundle(
    warehouse: Warehouse,
    entity: str,
    *,
    on: date | str | None = None,
    between: tuple[date | str, date | str] | None = None,
    during: str | None = None,
    known_at: datetime | date | str | None = None,
    requester: Requester,
    scope: Mapping[str, str] | None = None,
    environment: str | None = None,
) -> dict[str, Any]:
    """The bundle of one question, as JSON values; arguments and errors as of `Warehouse.resolve`."""
    if sum(given is not None for given in (on, between, during)) > 1:
        raise InputError("Expected one of on, between and during, found several; name one.")
    common: dict[str, Any] = {"requester": requester, "scope": scope, "environment": environment}
    between = period(during) if during else between
    if between is None or between[0] == between[1]:
        day = between[0] if between else on
        whole = warehouse.resolve(entity, on=day, known_at=known_at, support=True, **common)
        parts = [whole] if whole.outcome == "answer" else []
    else:
        whole = warehouse.resolve(entity, between=between, known_at=known_at, **common)
        pinned = {**common, "known_at": whole.known_at}
        parts = [
            warehouse.resolve(entity, on=part.from_date, support=True, **pinned)
            for part in whole.segments
            if part.outcome == "answer"
        ]
    asserted: tuple[Change, ...] = ()
    if whole.entity is not None and whole.outcome != "deny":
        asserted = warehouse.asserted(
            entity, known_at=whole.known_at, requester=requester, environment=environment
        )
    states = _states(asserted)
    evidence = _evidence(whole, parts, states)
    artifact_ids = sorted({one["artifact_id"] for one in evidence if one["artifact_id"]})
    ingested_at, artifacts = _recorded_in(warehouse, whole.environment, artifact_ids)
    resolution = replace(whole, support=None).as_json()
    return {
        "bundle_version": BUNDLE_VERSION,
        "attest_version": __version__,
        "question": {
            "asked": entity,
            "from": plain(whole.from_date),
            "to": plain(whole.to_date),
            "scope": dict(whole.asked_scope),
            "environment": whole.environment,
        },
        "requester": {"groups": sorted(requester.groups)},
        "clocks": {"known_at": plain(whole.known_at), "ingested_at": plain(ingested_at)},
        "resolution": resolution,
        "evidence": evidence,
        "support": [
            {"supports": part.evidence_id, **plain(vars(one))} for part in parts for one in part.support or ()
        ],
        "lineage": _lineage(warehouse, parts, whole.known_at, requester),
        "conflicts": resolution["conflicts"],
        "gaps": _gaps(whole, parts),
        "artifacts": artifacts,
        "policy_version": whole.policy_version,
        "collected_at": plain(whole.collected_at),
    }


def _states(changes: tuple[Change, ...]) -> dict[str, dict[str, Any]]:
    """What is known of each definition after all changes: its attributes as text, and who said so last."""
    states: dict[str, dict[str, Any]] = {}
    for change in changes:
        state = states.setdefault(change.evidence_id, {})
        if change.attribute is not None:
            state[change.attribute] = change.after
        state |= {
            "recorded_at": change.known_from,
            "artifact_id": change.artifact_id,
            "git_commit": change.git_commit,
        }
    return states


def _evidence(
    whole: Resolution, parts: list[Resolution], states: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """One entry a definition: those that govern, then what stands beside them; each once."""
    found: dict[str, dict[str, Any]] = {}
    for part in parts:
        if part.evidence_id is None or part.evidence_id in found:
            continue
        found[part.evidence_id] = {
            "evidence_id": part.evidence_id,
            "entity": part.entity,
            "role": "governing",
            "title": part.title,
            "text": part.definition,
            "version": part.version,
            "status": part.status,
            "authority": part.authority,
            "valid_from": plain(part.valid_from),
            "valid_to": plain(part.valid_to),
            "recorded_at": plain(part.recorded_at),
            "artifact_id": part.artifact_id,
            "content_hash": part.content_hash,
            "git_commit": states.get(part.evidence_id, {}).get("git_commit"),
            "file": part.file,
            **_marks(trustworthy=True),
        }
    beside = [("neighbour", one) for part in (whole, *parts) for one in part.neighbours]
    beside += [("candidate", one) for one in whole.candidates]
    beside += [("conflict", one) for one in whole.conflicts]
    for role, one in beside:
        evidence_id = one["evidence_id"]
        if evidence_id in found or evidence_id not in states:
            continue
        state = states[evidence_id]
        official = state.get("authority") == "authoritative" and state.get("status") not in ("draft", "void")
        found[evidence_id] = {
            "evidence_id": evidence_id,
            "entity": whole.entity,
            "role": role,
            "title": state.get("title"),
            "text": state.get("definition"),
            "version": state.get("version"),
            "status": state.get("status"),
            "authority": state.get("authority"),
            "valid_from": plain(one.get("valid_from")),
            "valid_to": plain(one.get("valid_to")),
            "recorded_at": plain(state["recorded_at"]),
            "artifact_id": state["artifact_id"],
            "content_hash": None,
            "git_commit": state["git_commit"],
            "file": state.get("file"),
            **_marks(trustworthy=official and role == "neighbour"),
        }
    return list(found.values())


def _marks(*, trustworthy: bool) -> dict[str, bool]:
    """Whether this requester may see the text, whether it may support a claim, whether it may be obeyed."""
    return {"retrievable": True, "trustworthy": trustworthy, "instructional": False}


def _lineage(
    warehouse: Warehouse, parts: list[Resolution], known_at: datetime | None, requester: Requester
) -> list[dict[str, Any]]:
    """The edges between what supports the definitions, and into these; an end that is withheld is null."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in parts:
        supports = {one.node_id for one in part.support or () if one.node_id}
        ends = supports | {part.node_id, part.evidence_id}
        if not supports or part.evidence_id is None:
            continue
        graph = upstream(
            warehouse,
            part.evidence_id,
            known_at=known_at,
            requester=requester,
            environment=part.environment,
        )
        for edge in graph.edges:
            if edge.to_node in ends and (edge.from_node is None or edge.from_node in supports):
                found.setdefault((edge.from_node, edge.to_node, edge.kind), plain(vars(edge)))
    return list(found.values())


_GAP_OF_REASON = {
    "gap": "interval_gap",
    "no_effective_dates": "attribute_missing",
    "authority_conflict": "interval_overlap",
    "scope_conflict": "interval_overlap",
    "integrity": "supersession_broken",
    "ambiguous_name": "identity_conflict",
    "expired": "version_expired",
}
_GAP_OF_WARNING = {
    "successor_undated": "supersession_broken",
    "status_contradiction": "status_contradiction",
    "certification_expired": "version_expired",
    "retroactive": "history_rewritten",
    "corrected": "history_rewritten",
    "stale_collection": "stale_collection",
    "logic_changed": "logic_changed",
}


def _gaps(whole: Resolution, parts: list[Resolution]) -> list[dict[str, Any]]:
    """What of the evidence on the way to the answer is missing or contradicts itself."""
    found = [
        {"kind": _GAP_OF_REASON[part.reason], "evidence_id": None, "found": part.reason}
        for part in whole.segments
        if part.reason in _GAP_OF_REASON
    ]
    found += [
        {"kind": _GAP_OF_WARNING[warning], "evidence_id": part.evidence_id, "found": warning}
        for part in parts
        for warning in part.warnings
        if warning in _GAP_OF_WARNING
    ]
    for part in parts:
        missing = [name for name in ("approved_by", "owner", "grain") if getattr(part, name) is None]
        found += [
            {"kind": "attribute_missing", "evidence_id": part.evidence_id, "found": f"no {name}"}
            for name in missing
        ]
        if any(one.reason == "lineage_missing" for one in part.support or ()):
            found.append(
                {"kind": "relation_broken", "evidence_id": part.evidence_id, "found": "lineage_missing"}
            )
    return found


def _recorded_in(
    warehouse: Warehouse, environment: str, artifact_ids: list[str]
) -> tuple[datetime | None, list[dict[str, Any]]]:
    """Until when the warehouse has learned of collections, and the files behind the evidence."""
    with warehouse.connection() as (connection, schema):
        found = connection.execute(
            f"select max(ingested_at) from {schema}.collections where environment = $environment",
            {"environment": environment},
        ).fetchone()
        rows = connection.execute(
            f"select artifact_id, kind, path, dbt_version, git_commit, generated_at from {schema}.artifacts "
            "where list_contains($ids, artifact_id) order by artifact_id",
            {"ids": artifact_ids},
        )
        names = [column[0] for column in rows.description]
        files = [plain(dict(zip(names, row, strict=True))) for row in rows.fetchall()]
    return (found[0] if found else None), files
