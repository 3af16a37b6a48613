"""Attributes that several places state: owner, grain and description, each with who says so."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.audit import audited
from dbt_attest.resolution.result import Resolution, plain
from dbt_attest.warehouse.contract import unquoted
from dbt_attest.warehouse.rendering import renderer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt_attest.resolution.requester import Requester
    from dbt_attest.resolution.warehouse import Warehouse

ATTRIBUTES = ("owner", "grain", "description")


@dataclass(frozen=True)
class Claim:
    """What one place says: `source` (annotation, group, meta, exposure, dbt or document) at `place` in it.

    `effective_from` and `effective_to` are the days that the claim itself is about, inclusive, None is open.
    `certified` is whether a person stands for it, `believed` whether it gives the value that holds on the day.
    `observed_at` is when the artifact that says so was written (UTC).
    """

    source: str
    place: str
    stated_value: str
    effective_from: date | None
    effective_to: date | None
    certified: bool
    believed: bool
    collector: str | None
    source_version: str | None
    observed_at: datetime
    artifact_id: str


@dataclass(frozen=True)
class Attribute:
    """The value of an attribute of the definition that governs on a day, with every claim about it.

    `resolution` says which definition governs. `outcome` and `reason` are its own where none does; else
    `answer: recorded`, or `abstain` with `not_stated`, `cleared` (it was stated once) or
    `not_stated_for_the_day`. `value_then` is another value that held as known at the end of the day.
    """

    resolution: Resolution
    attribute: str
    outcome: str
    reason: str
    value: str | None
    value_then: str | None
    claims: tuple[Claim, ...]

    def as_json(self) -> dict[str, Any]:
        """The attribute as JSON values."""
        of_answer = self.resolution.as_json()
        asked = {
            name: of_answer[name]
            for name in ("asked", "on", "entity", "evidence_id", "known_at", "environment")
        }
        found: dict[str, Any] = plain(
            {
                "attribute": self.attribute,
                "outcome": self.outcome,
                "reason": self.reason,
                "value": self.value,
                "value_then": self.value_then,
                "claims": [vars(claim) for claim in self.claims],
            }
        )
        return asked | found


@audited("attribute")
def resolve_attribute(
    warehouse: Warehouse,
    entity: str,
    attribute: str,
    *,
    on: date | str | None = None,
    known_at: datetime | date | str | None = None,
    requester: Requester,
    scope: Mapping[str, str] | None = None,
) -> Attribute:
    """The `attribute` (owner, grain or description) of what governs `entity` on a day, default today (UTC).

    Raises InputError as `Warehouse.resolve` does, and for another attribute.
    """
    resolution = warehouse.resolve(entity, on=on, known_at=known_at, requester=requester, scope=scope)
    rows = _rows(warehouse, resolution, attribute, known_at, requester)
    value_then = None
    if known_at is None and not resolution.assumed_today and rows[0]["outcome"] == "answer":
        then = _rows(warehouse, resolution, attribute, resolution.from_date, requester)[0]
        value_then = then["value"] if then["value"] != rows[0]["value"] else None
    names = [field.name for field in fields(Claim)]
    return Attribute(
        resolution=resolution,
        attribute=attribute,
        outcome=rows[0]["outcome"],
        reason=rows[0]["reason"],
        value=rows[0]["value"],
        value_then=value_then,
        claims=tuple(
            Claim(**{name: row[name] for name in names}) for row in rows if row["source"] is not None
        ),
    )


def _rows(
    warehouse: Warehouse, found: Resolution, attribute: str, known_at: Any, requester: Requester
) -> list[dict[str, Any]]:
    with warehouse.connection() as (connection, schema):
        # a project that did not opt in has no such function, and one of an older release another
        evidence, ours = unquoted(schema), "attribute_on"
        render = renderer(
            evidence, found.environment, lambda name: ours if name == ours else f"{schema}.{name}"
        )
        connection.execute(render(ours).replace("create or replace", "create or replace temp", 1))
        return rows_of(
            connection,
            "from attribute_on($entity, $attribute, $on, known_at := $known_at, groups := $groups, "
            "scope := $scope, environment := $environment)",
            {
                "entity": found.asked,
                "attribute": attribute,
                "on": found.from_date,
                "known_at": known_at,
                "groups": list(requester.groups),
                "scope": found.asked_scope,
                "environment": found.environment,
            },
        )
