"""The attest.yml that `attest init` writes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}

_TEMPLATE = """\
# What `attest` needs to know about this project. Every key is optional, and options of the command win.

# {about_warehouse}
warehouse: {warehouse}

# What a collection of this folder is of: prod, a branch, a developer.
environment: prod

# Every file that a collection read, compressed: the warehouse can be made again from them.
archive: .attest/artifacts

# Defaults by path; the last match wins, key by key, and what an annotation says itself comes first.
rules:
  # Chosen with `attest init`: {about_permissions}
  - {{path: "**", permissions: [{permissions}]}}
  # - {{path: models/finance/**, permissions: [finance]}}
  # - {{path: docs/notes/**, max_authority: untrusted}}

# Definitions and notes that dbt has no node for: Markdown with the annotation keys as front matter.
# documents: ["docs/evidence/**/*.md"]

# Named sets of groups; outside of a hidden one, not even the existence of a definition is told.
# policies:
#   board: {{groups: [finance_confidential], existence: hidden}}

# The groups of the subjects that ask with --subject: CSV with the columns subject and group, and how old it may be;
# or `table`, a table of the project's own DuckDB file that has observed_at, too.
# membership: {{file: groups.csv, max_age: 1d}}

# Every question as a JSON line: who asked what, and what was decided. Where membership is said, this is the default.
# audit: .attest/audit.jsonl

# Older evidence than this makes answers warn and `attest status` fail.
# collection: {{max_age: 2d}}
"""


def attest_yml(project: Path, groups: list[str], warehouse: Path | None = None) -> str:
    """The text for a project: `groups` may see what names none of its own, an empty list is nobody.

    `warehouse` is a choice of the user; without one it is the project's own DuckDB file where profiles.yml
    shows it, else evidence.duckdb.
    """
    own = _own_duckdb(project)
    if warehouse is not None:
        about, path = (
            "The evidence warehouse, as named for `attest init`.",
            _shown(warehouse.resolve(), project),
        )
    elif own is not None:
        about = (
            "The DuckDB file that this project builds, as in profiles.yml: models can join their definitions."
        )
        path = _shown(own, project)
    else:
        about = (
            "A file of its own, since profiles.yml names no DuckDB file of this project in so many words; "
            "where there\n# is one, its path here lets models join their definitions."
        )
        path = "evidence.duckdb"
    return _TEMPLATE.format(
        about_warehouse=about,
        warehouse=_yaml(path),
        about_permissions=_about(groups),
        permissions=", ".join(_yaml(group) for group in groups),
    )


def _about(groups: list[str]) -> str:
    if not groups:
        return "nobody may see what names no groups of its own."
    who = "everyone" if groups == ["everyone"] else f"only {', '.join(groups)}"
    return f"{who} may see what names no groups of its own."


def _yaml(text: str) -> str:
    """Text as a YAML value that is text."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return json.dumps(text, ensure_ascii=False)


def _shown(path: Path, project: Path) -> str:
    """Relative to the project where it is inside."""
    project = project.resolve()
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else path.as_posix()


def _own_duckdb(project: Path) -> Path | None:
    """The DuckDB file of the default target of the project's profile; None unless written literally."""
    named = _load(project / "dbt_project.yml").get("profile")
    profile = _mapping(_mapping(_profiles(project)).get(named))
    target = profile.get("target", "default")
    output = _mapping(_mapping(profile.get("outputs")).get(target))
    path = output.get("path")
    if (
        output.get("type") != "duckdb"
        or not isinstance(path, str)
        or re.search(r"\{[{%]|^:|^[a-z0-9]+:", path)
    ):
        return None  # another adapter, a template, in memory, or a service such as md:
    return (project / Path(path).expanduser()).resolve() if path.strip() else None


def _profiles(project: Path) -> dict[str, Any]:
    """The profiles.yml that dbt would read."""
    named = os.environ.get("DBT_PROFILES_DIR")
    folders = [Path(named)] if named else [project, Path.home() / ".dbt"]
    files = [folder / "profiles.yml" for folder in folders]
    return next((_load(file) for file in files if file.exists()), {})


def _load(path: Path) -> dict[str, Any]:
    import yaml

    try:
        return _mapping(yaml.safe_load(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, yaml.YAMLError):
        return {}  # dbt will say what is wrong with it


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
