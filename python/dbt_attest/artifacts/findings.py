"""What was read but not understood, or not taken at its word."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One row of `reader_findings` before it is recorded: a place, what was expected there, what was found.

    `artifact_id` is the SHA-256 of the file that was read (a manifest, `attest.yml` or a document); `file` is
    the file that states it, relative to the dbt project; `json_path` is the place in the artifact or
    annotation.
    """

    artifact_id: str
    file: str
    node_id: str | None = None
    json_path: str
    expected: str
    found: str


def sorted_findings(findings: list[Finding]) -> list[Finding]:
    """The findings without repetition, in an order that does not depend on how the files were read."""
    return sorted(
        set(findings),
        key=lambda f: (f.file, f.node_id or "", f.json_path, f.expected, f.found, f.artifact_id),
    )
