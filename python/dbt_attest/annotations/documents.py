"""Markdown documents with front matter: wikis, policies, drafts and notes as evidence."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.annotations.path_rules import forward_slashes, path_pattern
from dbt_attest.annotations.project_file import instant_of
from dbt_attest.annotations.schema import shown
from dbt_attest.annotations.strict_yaml import load_yaml
from dbt_attest.errors import AnnotationErrors, Problem

_SUFFIXES = (".md", ".markdown")
# Copies and generated files, which a pattern like **/*.md would sweep in.
_NOT_WRITTEN_HERE = ("target", "dbt_packages", "dbt_modules", "logs")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_FENCE = re.compile(r"\s{0,3}(```|~~~)")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One Markdown file.

    `path` is relative to the dbt project, with forward slashes; `artifact_id` is the SHA-256 of the file and
    `generated_at` the time of its last change in UTC. `front_matter` is empty where there is none; `body` is
    the text below it and `heading` its first `# ` heading.
    """

    path: str
    artifact_id: str
    size_bytes: int
    generated_at: datetime
    front_matter: dict[str, Any]
    body: str
    heading: str | None

    @property
    def default_entity_id(self) -> str:
        """`document.` and the path without suffix, with dots for slashes."""
        return "document." + self.path.rsplit(".", 1)[0].replace("/", ".")


def read_documents(project_dir: Path, globs: Iterable[str]) -> list[Document]:
    """The documents under the patterns, sorted by path, each once.

    Raises AnnotationErrors with every file that cannot be read or leads out of the project: a document that
    is left out silently would look like one that was removed.
    """
    problems: list[Problem] = []
    paths: dict[str, Path] = {}
    for pattern in globs:
        normal = forward_slashes(pattern)
        if normal.startswith("/") or Path(normal).is_absolute() or ".." in normal.split("/"):
            expected = "a path pattern inside the project"
            problems.append(
                Problem("attest.yml", None, "documents", expected, pattern, "write it relative to attest.yml")
            )
            continue
        for path in _matches(project_dir, normal):
            paths[_name(project_dir, path)] = path
    documents = [_read(project_dir, relative, path, problems) for relative, path in sorted(paths.items())]
    if problems:
        raise AnnotationErrors(problems)
    return [document for document in documents if document is not None]


def _matches(project_dir: Path, pattern: str) -> Iterator[Path]:
    """The Markdown files of a pattern, which means here what it means in a rule."""
    parts = pattern.split("/")
    fixed = next(
        (index for index, part in enumerate(parts) if any(sign in part for sign in "*?[")), len(parts)
    )
    start = project_dir.joinpath(*parts[:fixed])
    if start.is_file() or (start.is_symlink() and not start.is_dir()):
        yield start
        return
    matched = path_pattern(pattern)
    for folder, folders, files in os.walk(start):
        at_top = Path(folder) == project_dir
        folders[:] = [f for f in folders if not f.startswith(".") and not (at_top and f in _NOT_WRITTEN_HERE)]
        for file in files:
            path = Path(folder, file)
            if (
                path.suffix.lower() in _SUFFIXES
                and not file.startswith(".")
                and matched.fullmatch(_name(project_dir, path))
            ):
                yield path


def _name(project_dir: Path, path: Path) -> str:
    # macOS decomposes the letters of file names; git and YAML do not.
    return unicodedata.normalize("NFC", path.relative_to(project_dir).as_posix())


def _read(project_dir: Path, relative: str, path: Path, problems: list[Problem]) -> Document | None:
    try:
        if not path.resolve().is_relative_to(project_dir.resolve()):
            raise _Refusal(
                "a file inside the project", "a symbolic link that leads out of it", "copy the file"
            )
        content = path.read_bytes()
        changed = path.stat().st_mtime_ns
        front_matter, body = _parts(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except _Refusal as refusal:
        problems.append(Problem(relative, None, "", *refusal.args))
    except UnicodeDecodeError as error:
        found = f"other bytes at position {error.start}"
        problems.append(Problem(relative, None, "", "text in UTF-8", found, "save it as UTF-8"))
    except OSError as error:
        found = f"a file that cannot be read ({error.strerror})"
        problems.append(Problem(relative, None, "", "a Markdown file", found, "make it readable"))
    else:
        return Document(
            path=relative,
            artifact_id=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
            generated_at=instant_of(changed),
            front_matter=front_matter,
            body=body.strip(),
            heading=_first_heading(body),
        )
    return None


class _Refusal(Exception):  # noqa: N818
    """Expected, found and what to do next, of a document that cannot be read."""


def _parts(text: str) -> tuple[dict[str, Any], str]:
    """Front matter, empty where there is none, and the text below it."""
    if not re.match(r"---[ \t]*\n", text):
        return {}, text
    match = _FRONT_MATTER.match(text)
    if match is None:
        raise _Refusal(
            "front matter between two lines of ---", "only the first of them", "close it with a line of ---"
        )
    try:
        front_matter = load_yaml(match.group("yaml"))
    except ValueError as error:
        suggestion = "repair it; lines count from the first ---"
        raise _Refusal("YAML between the two lines of ---", str(error), suggestion) from None
    if front_matter is not None and not isinstance(front_matter, dict):
        raise _Refusal(
            "a mapping between the two lines of ---", shown(front_matter), "write `key: value` lines"
        )
    return front_matter or {}, text[match.end() :]


def _first_heading(text: str) -> str | None:
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.startswith("# "):
            return line[2:].strip().rstrip("#").strip() or None
    return None
