"""Claims: what each place says about an attribute that a place outside the annotation states, too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import msgspec

from dbt_attest.annotations.believed import KEYS
from dbt_attest.annotations.drafting import Draft
from dbt_attest.annotations.owner_claims import Stated

_NEVER_APPROVED = frozenset({"draft", "void"})


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of `claims` before it is recorded: `source` says at `place` that `attribute` is `value`.

    `effective_from` and `effective_to` are the days the claim itself is about, inclusive, None is open.
    `certified` is whether a person stands for it. `file` is the file that states it.
    """

    evidence_id: str
    attribute: str
    source: str
    place: str
    value: str
    effective_from: date | None = None
    effective_to: date | None = None
    certified: bool = False
    node_id: str | None
    package_name: str | None
    file: str


def claims(draft: Draft) -> Iterator[Claim]:
    """The claims about a definition; what the annotation alone states is on the definition itself."""
    definition, statement = draft.definition, draft.statement
    of_document = statement.node_id is None
    others = list(statement.stated)
    if statement.description:
        # NUL in a document is reported where the definition takes the text
        text = statement.description.replace("\x00", "\ufffd").strip()
        source, place = ("document", "body") if of_document else ("dbt", "description")
        if text:
            others.append(Stated("description", source, place, text))
    if not others:
        return
    for stated in others:
        yield Claim(
            evidence_id=definition.evidence_id,
            attribute=stated.attribute,
            source=stated.source,
            place=stated.place,
            value=stated.value,
            node_id=definition.node_id,
            package_name=definition.package_name,
            file=definition.file,
        )
    attributes = {stated.attribute for stated in others}
    certified = definition.approved_by is not None and definition.status not in _NEVER_APPROVED
    for attribute, place, value, start, end in _annotated(draft):
        if of_document or attribute in attributes:
            yield Claim(
                evidence_id=definition.evidence_id,
                attribute=attribute,
                source="document" if of_document else "annotation",
                place=place,
                value=value,
                effective_from=start,
                effective_to=end,
                certified=certified,
                node_id=definition.node_id,
                package_name=definition.package_name,
                file=definition.file,
            )


def _annotated(draft: Draft) -> Iterator[tuple[str, str, str, date | None, date | None]]:
    """What the annotation says, by a rule of `attest.yml` where one gave it."""
    for attribute, key in KEYS.items():
        found = draft.entry.get(key)
        if found.value is None:
            continue
        place = found.key if found.rule is None else f"attest.yml rule {found.rule}"
        said = getattr(draft.annotated, attribute)
        if attribute == "owner":
            for index, owner in enumerate(said):
                at = place if len(said) == 1 else f"{place}[{index}]"
                yield attribute, at, owner.name, owner.effective_from, owner.effective_to
        elif said is not None:
            yield attribute, place, said, None, None
