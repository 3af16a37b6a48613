"""dbt's `semantic_manifest.json`, what MetricFlow gets; it has no metadata, so no instant and no project."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.header import Header, Reading, expectation, kind_of, metadata_of, other_json
from dbt_attest.artifacts.json_file import read_bytes, read_sections, refusal
from dbt_attest.artifacts.sections import decode_rows

_NEXT_STEP = "run `dbt parse` again"
_KIND = "semantic_manifest"


class SemanticManifest(Header, frozen=True, kw_only=True, gc=False):
    """One semantic_manifest.json; `generated_at` is the time of the file's last change. Names, in order."""

    metrics: list[str]
    semantic_models: list[str]
    saved_queries: list[str]
    findings: list[Finding]


class _Named(msgspec.Struct, gc=False):
    name: str = ""


def read_semantic_manifest(path: Path) -> SemanticManifest:
    """Read a semantic_manifest.json.

    Raises InputError, one sentence, where the file is missing, broken or something else.
    """
    expected = expectation(_KIND)
    content = read_bytes(path, expected, _NEXT_STEP)
    sections = read_sections(path, content, expected, _NEXT_STEP)
    found = kind_of(sections, metadata_of(sections))
    if found != _KIND:
        raise refusal(path, expected, expectation(found) if found else other_json(sections), _NEXT_STEP)
    reading = Reading(path, hashlib.sha256(content).hexdigest(), [])
    try:
        names = {
            section: [row.name for _, row in decode_rows(reading, sections, section, _Named)]
            for section in ("metrics", "semantic_models", "saved_queries")
        }
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise refusal(path, expected, f"JSON that cannot be decoded ({error})", _NEXT_STEP) from None
    changed = timedelta(microseconds=path.stat().st_mtime_ns // 1000)
    return SemanticManifest(
        path=path,
        artifact_id=reading.artifact_id,
        size_bytes=len(content),
        generated_at=datetime(1970, 1, 1, tzinfo=timezone.utc) + changed,
        schema_version=None,
        dbt_version=None,
        invocation_id=None,
        **names,
        findings=sorted_findings(reading.findings),
    )
