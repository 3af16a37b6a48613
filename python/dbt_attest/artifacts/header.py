"""What every dbt artifact says about itself, and which artifact a JSON file is.

An artifact is known by its top-level keys and never by its schema URL, which stays the same while keys change
(dbt-core#12900) and has named versions that were never published (dbt-fusion#462); the URL only helps to name
a file that is something else than was asked for.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.artifacts.findings import Finding
from dbt_attest.artifacts.instants import parse_instant
from dbt_attest.artifacts.json_file import read_bytes, read_sections, refusal
from dbt_attest.artifacts.nul_characters import without_nul

# The keys that no other artifact has; one is enough, since early and hand-made manifests lack some of them.
_MANIFEST_ONLY = frozenset(
    {"macros", "docs", "exposures", "disabled", "parent_map", "child_map", "selectors"}
)
_FRESHNESS_FIELDS = (b'"max_loaded_at"', b'"snapshotted_at"', b'"criteria"')
_URL = re.compile(r"/dbt/([a-z-]+)/v([0-9]+)")


@dataclass(frozen=True)
class Reading:
    """The reading of one artifact: the file and what was found strange in it."""

    path: Path
    artifact_id: str
    findings: list[Finding]

    def found(
        self, place: str, *, expected: str, found: str, file: object = None, node: str | None = None
    ) -> None:
        """Note a place that could not be taken as it is; `file` is the node's own, where it says one."""
        self.findings.append(
            Finding(
                artifact_id=self.artifact_id,
                file=file if isinstance(file, str) and file else self.path.name,
                node_id=node,
                json_path=place,
                expected=expected,
                found=found,
            )
        )


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The file and its `metadata`. `artifact_id` is the SHA-256 of its bytes, `generated_at` is UTC.

    `schema_version` and `dbt_version` are as written; `generated_at` of an artifact without metadata is the
    time of the file's last change.
    """

    path: Path
    artifact_id: str
    size_bytes: int
    generated_at: datetime
    schema_version: str | None
    dbt_version: str | None
    invocation_id: str | None


@dataclass(frozen=True)
class Opened:
    """An artifact whose top-level keys are known; everything below them is still undecoded."""

    header: Header
    metadata: dict[str, Any]
    sections: dict[str, msgspec.Raw]
    reading: Reading


def open_artifact(
    path: Path, kind: str, known_versions: frozenset[int], next_step: str, or_kind: str | None = None
) -> Opened:
    """Open an artifact that has to be of a kind, or of another one that is read in the same way.

    A kind is the stem of dbt's name of the file: `manifest`, `run_results`. `known_versions` are those the
    reader was written for; another one is read for what is known, with a finding. Raises InputError, one
    sentence, where the file is missing, broken or something else.
    """
    from concurrent.futures import ThreadPoolExecutor

    expected = expectation(kind) + (f" or {or_kind}.json" if or_kind else "")
    content = read_bytes(path, expected, next_step)
    with ThreadPoolExecutor(1) as beside:
        digest = beside.submit(lambda: hashlib.sha256(content).hexdigest())
        sections = read_sections(path, content, expected, next_step)
    metadata = metadata_of(sections)
    found = kind_of(sections, metadata)
    if found is None or found not in (kind, or_kind):
        raise refusal(path, expected, expectation(found) if found else other_json(sections), next_step)
    reading = Reading(path, digest.result(), [])
    schema_version = text(metadata, "dbt_schema_version")
    strange = _strange_version(schema_version, known_versions)
    if strange is not None:
        numbers = sorted(known_versions)
        reading.found(
            "metadata.dbt_schema_version", expected=f"{expected} of schema {_span(numbers)}", found=strange
        )
    header = Header(
        path=path,
        artifact_id=reading.artifact_id,
        size_bytes=len(content),
        generated_at=_generated_at(path, expected, metadata, next_step),
        schema_version=schema_version,
        dbt_version=text(metadata, "dbt_version"),
        invocation_id=text(metadata, "invocation_id"),
    )
    return Opened(header, metadata, without_nul(reading, content, sections), reading)


def expectation(kind: str) -> str:
    """What a kind is called in messages: `a dbt manifest.json`."""
    return f"a dbt {kind}.json"


def text(metadata: dict[str, Any], key: str) -> str | None:
    """A text of the metadata; None where it is absent, empty or something else."""
    value = metadata.get(key)
    return value if isinstance(value, str) and value else None


def kind_of(sections: dict[str, msgspec.Raw], metadata: dict[str, Any]) -> str | None:
    """Which artifact has these keys: the stem of its file name, None for another tool's JSON."""
    match = _URL.search(text(metadata, "dbt_schema_version") or "")
    name = match.group(1).replace("-", "_") if match else None
    if "results" in sections:
        if name in ("sources", "freshness"):
            return name
        if name is not None or "args" in sections:
            return "run_results"
        rows = bytes(sections["results"])
        # run results always say what they were asked for
        return "sources" if rows == b"[]" or any(key in rows for key in _FRESHNESS_FIELDS) else "run_results"
    if {"semantic_models", "project_configuration"} <= sections.keys() and "nodes" not in sections:
        return "semantic_manifest"
    if "nodes" in sections:
        is_catalog = "errors" in sections or name == "catalog"
        return "catalog" if is_catalog and not _MANIFEST_ONLY & sections.keys() else "manifest"
    return name if name != "manifest" else None


def metadata_of(sections: dict[str, msgspec.Raw]) -> dict[str, Any]:
    """What an artifact says about itself; empty where it says nothing that can be read."""
    value = msgspec.json.decode(sections["metadata"]) if "metadata" in sections else {}
    return value if isinstance(value, dict) else {}


def other_json(sections: dict[str, msgspec.Raw]) -> str:
    """What JSON without dbt's keys is called in messages."""
    keys = ", ".join(f"`{key}`" for key in list(sections)[:5]) or "none"
    return f"JSON of another tool (its keys are {keys})" if sections else "an empty JSON object"


def _generated_at(path: Path, expected: str, metadata: dict[str, Any], next_step: str) -> datetime:
    expected = f"{expected} with metadata.generated_at, the time dbt wrote it"
    value = metadata.get("generated_at")
    if not isinstance(value, str) or not value.strip():
        found = "none" if value is None else repr(value)
        raise refusal(path, expected, found, f"without it nothing can be recorded; {next_step}")
    try:
        return parse_instant(value)[0]
    except ValueError:
        raise refusal(path, expected, repr(value), next_step) from None


def _strange_version(schema_version: str | None, known: frozenset[int]) -> str | None:
    match = _URL.search(schema_version or "")
    if match is None:
        return "no schema version" if schema_version is None else schema_version
    return None if int(match.group(2)) in known else f"v{match.group(2)}; what is known was read"


def _span(numbers: list[int]) -> str:
    """`v4 to v12 or v20`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return " or ".join(f"v{part[0]}" if len(part) == 1 else f"v{part[0]} to v{part[-1]}" for part in parts)
