"""Where something is stated, and the problems and findings met while reading it."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from dbt_attest.artifacts import Finding
from dbt_attest.errors import Problem


@dataclass
class Report:
    """What one reading met: problems stop it, findings are recorded beside its result."""

    problems: list[Problem] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Place(msgspec.Struct, frozen=True, gc=False):
    """One node, column or document.

    `file` is relative to the dbt project; `node` is a unique_id, with `.column` for a column, None for
    documents.
    """

    report: Report
    artifact_id: str
    file: str
    node: str | None

    def problem(self, key: str, expected: str, found: str, suggestion: str | None = None) -> None:
        """Report something that must be repaired before anything is recorded."""
        self.report.problems.append(Problem(self.file, self.node, key, expected, found, suggestion))

    def finding(self, key: str, expected: str, found: str) -> None:
        """Report something that was not taken at its word."""
        self.report.findings.append(
            Finding(
                artifact_id=self.artifact_id,
                file=self.file,
                node_id=self.node,
                json_path=key,
                expected=expected,
                found=found,
            )
        )
