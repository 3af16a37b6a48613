"""attest.yml: its keys, its errors, and what its rules do."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.annotations import Policy, Rule, read_project_file
from dbt_attest.annotations.path_rules import PathRules
from dbt_attest.errors import AnnotationErrors

FULL = """
warehouse: evidence.duckdb
environment: staging
archive: .attest/artifacts
documents: ["docs/evidence/**/*.md"]
rules:
  - {path: "**", permissions: [everyone]}
  - {path: docs/notes/**, max_authority: untrusted}
policies:
  readers: {groups: [readers, finance]}
  board: {groups: [board], existence: hidden}
collection: {max_age: 2d, max_unverified: 26w, max_removed: 12.5%}
precedence: {owner: [group, annotation], description: [dbt]}
membership: {file: groups.csv, max_age: 1d}
gaps:
  severity: {interval_gap: error}
  exceptions:
    - {kind: version_expired, path: models/legacy/**, reason: goes in spring, until: 2026-03-31}
"""


def test_every_key_is_read(project: Any) -> None:
    file = read_project_file(project.attest_yml(FULL).folder / "attest.yml")
    assert (file.warehouse, file.environment, file.archive) == (
        "evidence.duckdb",
        "staging",
        ".attest/artifacts",
    )
    assert file.documents == ("docs/evidence/**/*.md",)
    assert file.rules[1] == Rule(number=2, path="docs/notes/**", keys={}, max_authority="untrusted")
    assert file.policies["readers"] == Policy(groups=["readers", "finance"], existence="disclosed")
    assert file.policies["board"].existence == "hidden"
    assert (file.collection.max_age, file.collection.max_unverified) == (
        timedelta(days=2),
        timedelta(weeks=26),
    )
    assert file.collection.max_removed == 0.125
    assert file.precedence == {"owner": ("group", "annotation"), "description": ("dbt",)}
    severity, exception = file.gap_rules
    assert (severity.kind, severity.severity, severity.until) == ("interval_gap", "error", None)
    assert (exception.kind, exception.reason, exception.until) == (
        "version_expired",
        "goes in spring",
        date(2026, 3, 31),
    )
    assert exception.file_pattern is not None
    assert re.fullmatch(exception.file_pattern, "models/legacy/deep/a.yml")
    assert file.generated_at == datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert file.artifact_id is not None
    assert len(file.artifact_id) == 64


def test_absent_and_empty_files_give_the_defaults(tmp_path: Path) -> None:
    absent = read_project_file(tmp_path / "attest.yml")
    assert (absent.environment, absent.artifact_id, absent.generated_at) == ("prod", None, None)
    assert (absent.collection.max_removed, absent.collection.max_age, absent.rules) == (0.2, None, ())
    (tmp_path / "attest.yml").write_text("# nothing yet\n")
    assert read_project_file(tmp_path / "attest.yml").artifact_id is not None


@pytest.mark.parametrize(
    ("text", "key", "suggestion"),
    [
        ("warehose: x", "warehose", "did you mean `warehouse`?"),
        ("rules: [{permissions: [a]}]", "rules[0].path", "add `path`"),
        ("rules: [{path: '**', permission: [a]}]", "rules[0].permission", "did you mean `permissions`?"),
        ("rules: [{path: '**', effective_from: 2024-01-01}]", "rules[0].effective_from", None),
        ("rules: [{path: '**', max_authority: high}]", "rules[0].max_authority", None),
        ("policies: {a: {groups: [x], existence: secret}}", "policies.a.existence", None),
        ("policies: {a: [x]}", "policies.a", None),
        ("collection: {max_age: 2 months}", "collection.max_age", None),
        ("collection: {max_age: 9999999w}", "collection.max_age", None),
        (
            "collection: {max_removed: 20}",
            "collection.max_removed",
            "put it in quotes if it is meant as text",
        ),
        ("precedence: {owner: [groups]}", "precedence.owner[0]", "did you mean `group`?"),
        ("precedence: {grain: [annotation, group]}", "precedence.grain[1]", None),
        ("precedence: {owner: [meta, group, meta]}", "precedence.owner", None),
        ("precedence: {definition: [dbt]}", "precedence.definition", "did you mean `description`?"),
        (
            "gaps: {severity: {interval_gaps: error}}",
            "gaps.severity.interval_gaps",
            "did you mean `interval_gap`?",
        ),
        ("gaps: {exceptions: [{kind: interval_gap, reason: r}]}", "gaps.exceptions[0].until", "add `until`"),
        (
            "gaps: {exceptions: [{kind: interval_gap, reason: r, until: 2025-02-30}]}",
            "gaps.exceptions[0].until",
            "name a day of the calendar",
        ),
        ("environment: 2024-01-01\nenvironment: x", "", None),
        ("[a]", "", None),
        ("a: [", "", None),
    ],
)
def test_wrong_key_or_value_is_named(project: Any, text: str, key: str, suggestion: str | None) -> None:
    project.attest_yml(text)
    with pytest.raises(AnnotationErrors) as error:
        read_project_file(project.folder / "attest.yml")
    (problem,) = error.value.problems
    assert (problem.file, problem.key) == ("attest.yml", key)
    if suggestion:
        assert problem.suggestion == suggestion


def test_dates_in_yaml_stay_text(project: Any) -> None:
    assert (
        read_project_file(project.attest_yml("environment: 2024-02-30").folder / "attest.yml").environment
        == "2024-02-30"
    )


@pytest.mark.parametrize(
    ("pattern", "matched", "unmatched"),
    [
        ("**", ["a.yml", "models/a/b.yml"], []),
        (
            "models/finance/**",
            ["models/finance/a.yml", "models/finance/b/c.yml"],
            ["models/finance2/a.yml", "a/models/finance/x"],
        ),
        ("models/finance", ["models/finance/a.yml", "models/finance/b/c.yml"], ["models/finance.yml"]),
        ("models/finance/", ["models/finance/b/c.yml"], ["models/financex"]),
        ("models/*.yml", ["models/a.yml"], ["models/a/b.yml"]),
        ("**/*.md", ["a.md", "docs/x/b.md"], ["a.mdx"]),
        ("models/**/core/*.sql", ["models/core/a.sql", "models/x/y/core/a.sql"], ["models/core/x/a.sql"]),
        ("./models\\fin\\**", ["models/fin/a.yml"], []),
        ("models/a?[0-9].sql", ["models/ab1.sql"], ["models/ab.sql", "models/abx.sql"]),
        ("models/[!a]*.sql", ["models/b.sql"], ["models/a.sql"]),
        ("models/a+(b).sql", ["models/a+(b).sql"], ["models/aab.sql"]),
        ("docs/Umsätze/**", ["docs/Umsätze/a.md"], []),
    ],
)
def test_path_patterns(pattern: str, matched: list[str], unmatched: list[str]) -> None:
    rules = PathRules((Rule(number=1, path=pattern, keys={"grain": "x"}),))
    assert [path for path in matched + unmatched if rules.defaults(path).keys] == matched


RULES = """
rules:
  - {path: "**", permissions: [everyone], owner: Data, authority: non_authoritative}
  - {path: models/finance/**, permissions: [finance]}
"""


def test_last_matching_rule_wins_key_by_key_and_the_annotation_over_all(project: Any) -> None:
    project.attest_yml(RULES).node("model.shop.a", original_file_path="models\\finance\\a.sql")
    project.node("model.shop.b", {"permissions": ["own"], "owner": "B", "authority": "authoritative"})
    project.node("model.shop.c", {"permissions": None, "owner": None, "authority": None})
    a, b, c = project.extract().definitions
    assert (a.permissions, a.permissions_from) == (["finance"], "attest.yml rule 2")
    assert ([o.name for o in a.owners], a.authority, a.rules_taken, a.annotated) == (
        ["Data"],
        "non_authoritative",
        True,
        False,
    )
    assert (b.permissions, b.permissions_from) == (["own"], "annotation")
    assert ([o.name for o in b.owners], b.authority, b.rules_taken) == (["B"], "authoritative", False)
    assert (c.permissions, c.owners, c.authority, c.rules_taken) == ([], [], None, False)


def test_rules_match_the_node_s_own_file_and_not_its_yaml(project: Any) -> None:
    project.attest_yml(RULES)
    project.node(
        "model.shop.a", {}, original_file_path="models/finance/a.sql", patch_path="shop://models/_all.yml"
    )
    assert project.one().permissions == ["finance"]


def test_rule_that_only_gives_permissions_contributes_no_content(project: Any) -> None:
    project.attest_yml("rules: [{path: '**', permissions: [a]}]")
    assert not project.metric({"grain": "x"}).one().rules_taken


@pytest.mark.parametrize(
    ("authority", "cap", "expected"),
    [
        ("authoritative", "untrusted", "untrusted"),
        ("authoritative", "non_authoritative", "non_authoritative"),
        ("untrusted", "non_authoritative", "untrusted"),
        ("authoritative", "authoritative", "authoritative"),
        (None, "untrusted", None),
    ],
)
def test_max_authority_caps_and_says_so(
    project: Any, authority: str | None, cap: str, expected: str | None
) -> None:
    project.attest_yml(f"rules: [{{path: 'models/**', max_authority: {cap}}}]")
    definition = project.metric({"authority": authority}).one()
    lowered = authority != expected
    assert (definition.authority, definition.rules_taken) == (expected, lowered)
    assert project.found() == ([f"{authority}; lowered"] if lowered else [])


def test_rule_that_matches_no_file_is_named(project: Any) -> None:
    project.attest_yml("rules: [{path: models/finnance/**, permissions: [f]}]").metric()
    (finding,) = project.extract().findings
    assert (finding.file, finding.json_path, finding.found) == (
        "attest.yml",
        "rules[0].path",
        "models/finnance/**; matches none",
    )
