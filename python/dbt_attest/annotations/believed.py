"""Of the attributes that several places may state, what each of them says, and which of them is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dbt_attest.annotations import values
from dbt_attest.annotations.definition import Owner
from dbt_attest.annotations.inheritance import Entry
from dbt_attest.annotations.project_file import PRECEDENCE
from dbt_attest.annotations.statements import Statement

#: The attributes, each with its key in the annotation.
KEYS = {"owner": "owner", "grain": "grain", "description": "definition"}


class Annotated(NamedTuple):
    """What the annotation says of them, or a rule of attest.yml in its stead."""

    owner: list[Owner]
    grain: str | None
    description: str | None


class Believed(NamedTuple):
    """The values that hold; `by_rules` is whether a rule of attest.yml gave one of them, or its precedence chose it."""

    owners: list[Owner]
    grain: str | None
    definition: str | None
    by_rules: bool


def annotated(statement: Statement, entry: Entry) -> Annotated:
    """What an entry says; what cannot be read is reported at the statement's place."""
    owner, grain, text = (entry.get(key) for key in KEYS.values())
    place = statement.place
    return Annotated(
        values.owners(place, owner.key, owner.value),
        values.text(place, grain.key, grain.value),
        values.text(place, text.key, text.value),
    )


def believed(
    statement: Statement, entry: Entry, said: Annotated, precedence: Mapping[str, tuple[str, ...]]
) -> Believed:
    """For each attribute, what the first place says that says anything; a null in the annotation removes.

    `precedence` is that of attest.yml, which is about dbt's nodes: a document's own front matter comes first.
    """
    found: dict[str, Any] = {}
    by_rules = False
    for attribute, key in KEYS.items():
        own = entry.get(key)
        if key in entry.values and own.value is None:
            continue
        chosen = precedence.get(attribute) if statement.node_id is not None else None
        for source in PRECEDENCE[attribute] if chosen is None else chosen:
            value = _value(statement, said, attribute, source)
            if value:
                found[attribute] = value
                by_rules |= source == "annotation" and own.rule is not None
                break
        if chosen is not None:
            every = (_value(statement, said, attribute, source) for source in PRECEDENCE[attribute])
            by_rules |= any(value and value != found.get(attribute) for value in every)
    return Believed(found.get("owner", []), found.get("grain"), found.get("description"), by_rules)


def _value(statement: Statement, said: Annotated, attribute: str, source: str) -> Any:
    """What a place says: the owners, or a text; empty or None where it says nothing."""
    if source == "annotation":
        return getattr(said, attribute)
    place = statement.place
    if attribute == "owner":
        named = statement.owner_claims.get(source, ())
        names = [values.text(place, f"owner ({source})", name) for name in named]
        return [Owner(name=name) for name in names if name is not None]
    if attribute == "description":
        # it is dbt's own, so that a finding about it names no key
        return values.text(place, "", statement.description)
    grains = (one for one in statement.stated if (one.attribute, one.source) == (attribute, source))
    return next((values.text(place, one.place, one.value) for one in grains), None)
