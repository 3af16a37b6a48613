"""From one entry to a definition whose links are still as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dbt_attest.annotations import values
from dbt_attest.annotations.believed import Annotated, annotated, believed
from dbt_attest.annotations.definition import Definition
from dbt_attest.annotations.inheritance import NOTHING, Entry, Value
from dbt_attest.annotations.path_rules import Defaults, capped
from dbt_attest.annotations.statements import Statement


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A definition before its links are resolved; its own link fields are empty.

    `links` are `supersedes` and `superseded_by` as written (absent: not declared), `declared` are `models`
    and `sources`. `family` is common to the definitions that follow each other by their dates.
    `annotated` is what the annotation says where other places may be believed.
    """

    definition: Definition
    statement: Statement
    entry: Entry
    links: dict[str, list[Any]]
    declared: dict[str, list[str]]
    family: str
    annotated: Annotated


def draft(
    statement: Statement, entry: Entry, defaults: Defaults, precedence: Mapping[str, tuple[str, ...]]
) -> Draft:
    """The definition of an entry; what cannot be read is reported at the statement's place."""
    place = statement.place
    said = entry.values
    by_rules = False

    def get(key: str) -> Value:
        nonlocal by_rules
        found = said.get(key, NOTHING)
        if found.rule is not None:
            by_rules = True
        return found

    def text(key: str) -> str | None:
        if key not in said:
            return None
        found = get(key)
        return values.text(place, found.key, found.value)

    entity_id = text("entity_id") or statement.entity_id
    declared_version = said.get("version", NOTHING).value
    own_version = None if declared_version is None else values.version_text(declared_version)
    own_version = own_version or statement.node_version
    version = own_version or "1"
    versioned = own_version is not None or entry.in_versions
    interval = {key: said[key].value for key in ("effective_from", "effective_to") if key in said}
    effective_from, effective_to = values.interval(place, entry.prefix, interval)
    status = get("status").value or "approved"
    if status == "retired" and effective_to is None:
        expected = "the last day it held, for a retired definition"
        place.problem(f"{entry.prefix}effective_to", expected, "none", "add effective_to")
    authority = get("authority")
    cap = capped(authority.value, defaults.max_authority)
    if cap != authority.value:
        by_rules = True
        expected = f"at most {cap} (attest.yml rule {defaults.max_authority_rule})"
        place.finding(authority.key, expected, f"{authority.value}; lowered")
    permissions = said.get("permissions", NOTHING)
    declared = {}
    for key in ("models", "sources"):
        if key in said:
            listed = values.names(place, said[key].key, said[key].value)
            if listed is not None:
                declared[key] = listed
    names = [values.text(place, "label", name) for name in statement.names]
    recorded = said.get("recorded_at", NOTHING)
    aliases = said.get("aliases", NOTHING)
    scope = get("scope")
    title = text("title") if "title" in said else values.text(place, "", statement.title)
    said_of = annotated(statement, entry)
    held = believed(statement, entry, said_of, precedence)
    definition = Definition(
        entity_id=entity_id,
        evidence_id=text("evidence_id") or (f"{entity_id}.v{version}" if versioned else entity_id),
        package_name=statement.package_name,
        node_id=statement.node_id,
        file=place.file,
        names=list(dict.fromkeys(name for name in names if name is not None)),
        entity_type=text("entity_type") or statement.entity_type,
        version=version,
        status=status,
        authority=cap,
        approved_by=text("approved_by"),
        approved_at=_day(statement, entry, "approved_at"),
        effective_from=effective_from,
        effective_to=effective_to,
        date_basis=text("date_basis"),
        declared_recorded_at=values.recorded_at(place, recorded.key, recorded.value, statement.instant),
        corrects=text("corrects"),
        owners=held.owners,
        grain=held.grain,
        title=title,
        definition=held.definition,
        supersedes=[],
        superseded_by=[],
        links_elsewhere=False,
        describes=text("describes"),
        models=None,
        sources=None,
        permissions=values.permissions(place, permissions.key, permissions.value),
        permissions_from=_permissions_from(entry, permissions),
        aliases=values.aliases(place, aliases.key, aliases.value),
        scope=values.scope(place, scope.key, scope.value),
        certified_until=_day(statement, entry, "certified_until"),
        last_verified=_day(statement, entry, "last_verified"),
        access=statement.access,
        latest_version=statement.latest_version,
        deprecation_date=values.day_of_dbt(place, "deprecation_date", statement.deprecation_date),
        annotated=statement.block is not None,
        rules_taken=by_rules or held.by_rules,
    )
    family = (
        f"{statement.place.file}\n{statement.node_id}\n{statement.family}"
        if entry.in_versions
        else statement.family
    )
    return Draft(definition, statement, entry, _links(entry), declared, family, said_of)


def _links(entry: Entry) -> dict[str, list[Any]]:
    links = {}
    for key in ("supersedes", "superseded_by"):
        if key in entry.values:
            value = entry.get(key).value
            links[key] = value if isinstance(value, list) else [] if value is None else [value]
    return links


def _day(statement: Statement, entry: Entry, key: str) -> Any:
    found = entry.values.get(key)
    return None if found is None else values.day(statement.place, found.key, found.value)


def _permissions_from(entry: Entry, permissions: Value) -> str:
    if "permissions" not in entry.values:
        return "none"
    return "annotation" if permissions.rule is None else f"attest.yml rule {permissions.rule}"
