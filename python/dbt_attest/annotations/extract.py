"""From artifacts to definitions: the whole annotation contract of one collection."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dbt_attest.annotations.claims import Claim, claims
from dbt_attest.annotations.definition import Definition
from dbt_attest.annotations.documents import Document
from dbt_attest.annotations.drafting import Draft, draft
from dbt_attest.annotations.inheritance import entries
from dbt_attest.annotations.links import linked
from dbt_attest.annotations.path_rules import PathRules
from dbt_attest.annotations.place import Place, Report
from dbt_attest.annotations.project_file import ProjectFile
from dbt_attest.annotations.statements import statements
from dbt_attest.artifacts import Edge, Finding, Manifest, circles, edges, sorted_findings
from dbt_attest.errors import AnnotationErrors

# The sections of a manifest whose nodes read others; all other kinds are in `nodes`.
_SECTIONS = {
    "metric": "metrics",
    "semantic_model": "semantic_models",
    "exposure": "exposures",
    "saved_query": "saved_queries",
}


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """All that one collection states.

    `definitions` are sorted by entity and evidence_id; `edges` are dbt's own; `claims` say who else states
    what they state.
    """

    definitions: list[Definition]
    claims: list[Claim]
    findings: list[Finding]
    edges: list[Edge]


def extract(manifest: Manifest, project_file: ProjectFile, documents: Iterable[Document] = ()) -> Extraction:
    """The definitions of a manifest, a project file and documents.

    Raises AnnotationErrors with every problem of all of them; then nothing is to be recorded.
    """
    report = Report()
    rules = PathRules(project_file.rules)
    drafts: list[Draft] = []
    for statement in statements(manifest, documents, report):
        defaults = rules.defaults(statement.rule_path)
        for entry in entries(statement.place, statement.block, defaults):
            drafts.append(draft(statement, entry, defaults, project_file.precedence))
    _refuse_duplicates(drafts, report)
    if report.problems:
        raise AnnotationErrors(report.problems)
    definitions = linked(drafts, manifest)
    if project_file.artifact_id is not None:
        # A rule with a misspelt path protects nothing, and nobody would notice.
        here = Place(report, project_file.artifact_id, project_file.path.name, None)
        for rule in rules.unmatched():
            here.finding(
                f"rules[{rule.number - 1}].path",
                "a pattern that matches a file",
                f"{rule.path}; matches none",
            )
    lineage = edges(manifest)
    for circle in circles(lineage):
        here = Place(report, manifest.artifact_id, manifest.path.name, circle[0])
        section = _SECTIONS.get(circle[0].split(".", 1)[0], "nodes")
        place = f"{section}['{circle[0]}'].depends_on.nodes"
        here.finding(place, "lineage without a circle", " → ".join(circle))
    return Extraction(
        definitions=sorted(definitions, key=lambda d: (d.entity_id, d.evidence_id)),
        claims=[claim for one in drafts for claim in claims(one)],
        findings=sorted_findings([*manifest.findings, *report.findings]),
        edges=lineage,
    )


def _refuse_duplicates(drafts: list[Draft], report: Report) -> None:
    troubled = {(problem.file, problem.node) for problem in report.problems}
    first: dict[str, Draft] = {}
    for later in drafts:
        evidence_id = later.definition.evidence_id
        earlier = first.setdefault(evidence_id, later)
        if earlier is later:
            continue
        place = earlier.statement.place
        if earlier.statement is later.statement and (place.file, place.node) in troubled:
            continue  # a version that could not be read took the default
        where = f"{place.file} ({place.node})" if place.node else place.file
        suggestion = "give one of them another evidence_id or version"
        if earlier.family == later.family or earlier.statement.family == later.statement.family:
            suggestion = "give each version its own evidence_id or version, in the version's own block"
        later.statement.place.problem(
            f"{later.entry.prefix}evidence_id",
            f"an evidence_id that is stated once; {where} states it too",
            evidence_id,
            suggestion,
        )
