"""One definition as it is recorded, and its two hashes."""

from __future__ import annotations

import hashlib
from datetime import date, datetime
from typing import Any

import msgspec


class Owner(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One owner and the days it is one, both inclusive; None is open."""

    name: str
    effective_from: date | None = None
    effective_to: date | None = None


class Alias(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One other name of the entity and the days it is one, both inclusive; None is open."""

    alias: str
    language: str | None = None
    effective_from: date | None = None
    effective_to: date | None = None


class Definition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one place says about one version of one entity: a row of `assertions` before it is recorded.

    The fields are the columns of that table (`models/evidence.yml` describes them), except those the recorder
    adds. Dates are days, `effective_to` inclusive; `declared_recorded_at` is UTC. `models` and `sources` are
    unique_ids, None where nothing is declared. Two fields are no columns: `annotated` (an annotation and not
    only dbt states it) and `rules_taken` (rules of attest.yml contributed something else than permissions).
    """

    entity_id: str
    evidence_id: str
    content_hash: str = ""
    state_hash: str = ""
    logic_hash: str | None = None
    package_name: str | None
    node_id: str | None
    file: str
    names: list[str]
    entity_type: str
    version: str
    status: str
    authority: str | None
    approved_by: str | None
    approved_at: date | None
    effective_from: date | None
    effective_to: date | None
    date_basis: str | None
    declared_recorded_at: datetime | None
    corrects: str | None
    owners: list[Owner]
    grain: str | None
    title: str | None
    definition: str | None
    supersedes: list[str]
    superseded_by: list[str]
    links_elsewhere: bool
    describes: str | None
    models: list[str] | None
    sources: list[str] | None
    permissions: list[str]
    permissions_from: str
    aliases: list[Alias]
    scope: dict[str, str]
    certified_until: date | None
    last_verified: date | None
    access: str | None
    latest_version: str | None
    deprecation_date: date | None
    annotated: bool
    rules_taken: bool


# Whether a link leads elsewhere also changes with what others say, and is no change of the definition.
_NO_STATE = frozenset(
    {
        "permissions",
        "permissions_from",
        "links_elsewhere",
        "content_hash",
        "state_hash",
        "annotated",
        "rules_taken",
    }
)
# Where it stands, the edit itself, the SQL behind the words and what dbt thinks of the model are not part of what a
# definition says.
_NO_CONTENT = (
    "package_name",
    "node_id",
    "file",
    "names",
    "corrects",
    "declared_recorded_at",
    "logic_hash",
    "access",
    "latest_version",
    "deprecation_date",
)
# An empty list means something else than none here: declared to rest on nothing.
_EMPTY_SPEAKS = ("models", "sources")
_CONTENT = tuple(
    field
    for field in Definition.__struct_fields__
    if field not in _NO_STATE and field not in _NO_CONTENT and field not in _EMPTY_SPEAKS
)


def hashed(definition: Definition, declared: dict[str, list[str]], changes: dict[str, Any]) -> Definition:
    """The definition with changes and with its hashes.

    `declared` is `models` and `sources` as they were written: what a definition says does not change when
    dbt's newest version of a model does.
    """
    whole = {**msgspec.structs.asdict(definition), **changes}
    said = {field: value for field in _CONTENT if (value := whole[field])}
    said.update(declared)
    whole["content_hash"] = _sha256(said)
    placed = {field: value for field in ("content_hash", *_NO_CONTENT) if (value := whole[field])}
    placed.update({field: value for field in _EMPTY_SPEAKS if (value := whole[field]) is not None})
    whole["state_hash"] = _sha256(placed)
    return Definition(**whole)


_canonical = msgspec.json.Encoder(order="sorted").encode


def _sha256(said: dict[str, Any]) -> str:
    """SHA-256 of canonical JSON: keys sorted, UTF-8, nothing where nothing is said.

    Leaving out what is empty keeps the hashes of old definitions when the contract gains a key.
    """
    return hashlib.sha256(_canonical(said)).hexdigest()
