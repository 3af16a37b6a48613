"""dbt's `catalog.json`: the columns that the relations really have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.header import Header, Opened, expectation, open_artifact
from dbt_attest.artifacts.json_file import refusal
from dbt_attest.artifacts.sections import decode_section

_NEXT_STEP = "run `dbt docs generate` again"
_KNOWN_VERSIONS = frozenset({0, 1})


class CatalogColumn(msgspec.Struct, gc=False):
    """A column of a relation; the case of its letters is the warehouse's."""

    name: str = ""
    type: str | None = None
    index: Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] | None = None
    comment: str | None = None


class RelationMetadata(msgspec.Struct, gc=False):
    """`type` is the warehouse's word: table, BASE TABLE, VIEW, LATE BINDING VIEW and so on."""

    type: str | None = None
    database: str | None = None
    schema: str | None = None
    name: str | None = None
    owner: Any = None


class Relation(msgspec.Struct, gc=False):
    """A relation as the warehouse describes it."""

    unique_id: str = ""
    metadata: RelationMetadata | None = None
    columns: dict[str, CatalogColumn] | None = None


class Catalog(Header, frozen=True, kw_only=True, gc=False):
    """One catalog.json; `relations` by unique_id, of nodes and sources alike."""

    relations: dict[str, Relation]
    findings: list[Finding]


def read_catalog(path: Path) -> Catalog:
    """Read a catalog.json.

    Raises InputError, one sentence, where the file is missing, broken or something else.
    """
    try:
        return _catalog(open_artifact(path, "catalog", _KNOWN_VERSIONS, _NEXT_STEP))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        found = f"JSON that cannot be decoded ({error})"
        raise refusal(path, expectation("catalog"), found, _NEXT_STEP) from None


def _catalog(opened: Opened) -> Catalog:
    relations = decode_section(opened.reading, opened.sections, "nodes", Relation)
    relations |= decode_section(opened.reading, opened.sections, "sources", Relation)
    errors = msgspec.json.decode(opened.sections.get("errors") or b"null")
    for index, error in enumerate(errors if isinstance(errors, list) else []):
        opened.reading.found(f"errors[{index}]", expected="a catalog without errors", found=str(error)[:200])
    return Catalog(
        **msgspec.structs.asdict(opened.header),
        relations=relations,
        findings=sorted_findings(opened.reading.findings),
    )
