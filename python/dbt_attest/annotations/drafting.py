"""From one entry to a definition whose links are still as they were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt_attest.annotations import values
from dbt_attest.annotations.definition import Definition, Owner
from dbt_attest.annotations.inheritance import Entry, Value
from dbt_attest.annotations.path_rules import Defaults, capped
from dbt_attest.annotations.statements import Statement


@dataclass(frozen=True)
class Draft:
    """A definition before its links are resolved; its own link fields are empty.

    `links` are `supersedes` and `superseded_by` as written (absent: not declared), `declared` are `models`
    and `sources`. `family` is common to the definitions that follow each other by their dates.
    """

    definition: Definition
    statement: Statement
    entry: Entry
    links: dict[str, list[Any]]
    declared: dict[str, list[str]]
    family: str


def draft(statement: Statement, entry: Entry, defaults: Defaults, owner_precedence: tuple[str, ...]) -> Draft:
    """The definition of an entry; what cannot be read is reported at the statement's place."""
    place = statement.place
    taken: set[str] = set()

    def get(key: str) -> Value:
        found = entry.get(key)
        if found.rule is not None:
            taken.add(key)
        return found

    def text(key: str, fallback: str | None = None) -> str | None:
        found = get(key)
        value = found.value if key in entry.values else fallback
        return values.text(place, found.key, value)

    entity_id = text("entity_id") or statement.entity_id
    declared_version = entry.get("version").value
    own_version = None if declared_version is None else values.version_text(declared_version)
    own_version = own_version or statement.node_version
    version = own_version or "1"
    versioned = own_version is not None or entry.in_versions
    interval = {key: entry.get(key).value for key in ("effective_from", "effective_to")}
    effective_from, effective_to = values.interval(place, entry.prefix, interval)
    status = get("status").value or "approved"
    if status == "retired" and effective_to is None:
        expected = "the last day it held, for a retired definition"
        place.problem(f"{entry.prefix}effective_to", expected, "none", "add effective_to")
    authority = get("authority")
    cap = capped(authority.value, defaults.max_authority)
    if cap != authority.value:
        taken.add("authority")
        expected = f"at most {cap} (attest.yml rule {defaults.max_authority_rule})"
        place.finding(authority.key, expected, f"{authority.value}; lowered")
    permissions = entry.get("permissions")
    links = {}
    for key in ("supersedes", "superseded_by"):
        if key in entry.values:
            value = entry.get(key).value
            links[key] = value if isinstance(value, list) else [] if value is None else [value]
    declared = {}
    for key in ("models", "sources"):
        found = entry.get(key)
        listed = values.names(place, found.key, found.value)
        if listed is not None:
            declared[key] = listed
    names = [values.text(place, "label", name) for name in statement.names]
    recorded = entry.get("recorded_at")
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
        owners=_owners(statement, entry, get, owner_precedence),
        grain=text("grain"),
        title=text("title", statement.title),
        definition=text("definition", statement.description),
        supersedes=[],
        superseded_by=[],
        links_elsewhere=False,
        describes=text("describes"),
        models=None,
        sources=None,
        permissions=values.permissions(place, permissions.key, permissions.value),
        permissions_from=_permissions_from(entry, permissions),
        aliases=values.aliases(place, entry.get("aliases").key, entry.get("aliases").value),
        scope=values.scope(place, get("scope").key, get("scope").value),
        certified_until=_day(statement, entry, "certified_until"),
        last_verified=_day(statement, entry, "last_verified"),
        annotated=statement.block is not None,
        rules_taken=bool(taken),
    )
    family = (
        f"{statement.place.file}\n{statement.node_id}\n{statement.family}"
        if entry.in_versions
        else statement.family
    )
    return Draft(definition, statement, entry, links, declared, family)


def _day(statement: Statement, entry: Entry, key: str) -> Any:
    return values.day(statement.place, entry.get(key).key, entry.get(key).value)


def _permissions_from(entry: Entry, permissions: Value) -> str:
    if "permissions" not in entry.values:
        return "none"
    return "annotation" if permissions.rule is None else f"attest.yml rule {permissions.rule}"


def _owners(statement: Statement, entry: Entry, get: Any, precedence: tuple[str, ...]) -> list[Owner]:
    annotated = entry.get("owner")
    if "owner" in entry.values and annotated.value is None:
        return []
    for source in precedence:
        if source == "annotation":
            found = values.owners(statement.place, annotated.key, annotated.value)
            if found:
                get("owner")  # now a rule's owner is taken, if it is a rule's
                return found
        else:
            names = [
                values.text(statement.place, f"owner ({source})", n)
                for n in statement.owner_claims.get(source, ())
            ]
            claimed = [Owner(name=name) for name in names if name is not None]
            if claimed:
                return claimed
    return []
