"""The git commit that a collection is of, where the environment tells; git itself is not asked."""

from __future__ import annotations

import os
from pathlib import Path

# What CI systems and dbt platforms call it.
_VARIABLES = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BUILD_SOURCEVERSION",
    "BITBUCKET_COMMIT",
    "CIRCLE_SHA1",
    "DBT_CLOUD_GIT_SHA",
)


def commit_of(project_dir: Path) -> str | None:
    """The commit that is checked out around a project; None outside a git working tree.

    A CI system's own variable is believed first, since it may check out a merge of its own.
    """
    git_dir = _git_dir(project_dir.resolve())
    if git_dir is None:
        return None
    for variable in _VARIABLES:
        value = os.environ.get(variable, "").strip()
        if value:
            return value
    return _head(git_dir)


def _git_dir(folder: Path) -> Path | None:
    for parent in (folder, *folder.parents):
        found = parent / ".git"
        if found.is_dir():
            return found
        if found.is_file():  # a worktree or submodule names its folder
            text = _text(found)
            return (parent / text.removeprefix("gitdir:").strip()) if text.startswith("gitdir:") else None
    return None


def _head(git_dir: Path) -> str | None:
    head = _text(git_dir / "HEAD")
    if not head.startswith("ref:"):
        return head or None
    name = head.removeprefix("ref:").strip()
    common = _text(git_dir / "commondir")
    for folder in (git_dir, git_dir / common) if common else (git_dir,):
        found = _text(folder / name)
        if found:
            return found
        for line in _text(folder / "packed-refs").splitlines():
            if line.endswith(f" {name}"):
                return line.split(" ", 1)[0]
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
