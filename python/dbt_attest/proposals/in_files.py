"""Annotations put into a project's own YAML files: what would change, and the change itself."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.proposals.homes import Homes
from dbt_attest.proposals.proposal import Nodes, Proposal
from dbt_attest.proposals.yaml_edit import ELSEWHERE, CannotEdit, PropertyFile


@dataclass(frozen=True)
class FileChange:
    """One file with its content before and after; `before` is None where it is not there yet."""

    path: Path
    name: str
    before: bytes | None
    after: bytes

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        old = "" if self.before is None else self.before.decode("utf-8")
        lines = difflib.unified_diff(
            old.splitlines(),
            self.after.decode("utf-8").splitlines(),
            "/dev/null" if self.before is None else f"a/{self.name}",
            f"b/{self.name}",
            lineterm="",
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Left:
    """A node whose annotation is not written, and why."""

    node_id: str
    file: str
    why: str

    @property
    def sentence(self) -> str:
        """For people."""
        return f"{self.file} ({self.node_id}): left as it is, {self.why}."

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return vars(self)


def changes(
    project_dir: Path, nodes: Nodes, proposals: Iterable[Proposal]
) -> tuple[list[FileChange], list[Left]]:
    """What the files of these annotations would say, and what cannot be written; nothing is written yet.

    Keys that an annotation says already are not touched. A node without an entry in YAML gets one.
    """
    by_file: dict[str, list[tuple[Proposal, dict[str, Any]]]] = {}
    left: list[Left] = []
    homes = Homes(nodes, project_dir)
    for one in proposals:
        before = one.statement.block or {}
        keys = {key: value for key, value in one.keys.items() if key not in before or before[key] != value}
        if one.blanks:
            why = f"since {', '.join(one.blanks)} is to be filled in"
        elif before and keys and not one.is_described:
            why = f"since {ELSEWHERE}"
        else:
            if keys:
                file = one.file if one.is_described else homes.home(one.node)
                by_file.setdefault(file, []).append((one, keys))
            continue
        left.append(Left(one.node.unique_id, one.file, why))
    found: list[FileChange] = []
    root = project_dir.resolve()
    for file, wanted in sorted(by_file.items()):
        path = (root / file).resolve()
        if not path.is_relative_to(root):
            left += [
                Left(one.node.unique_id, file, "since it is outside of the project") for one, _ in wanted
            ]
        else:
            change = _changed(path, file, wanted, left)
            found += [] if change is None else [change]
    return found, left


def write(found: Iterable[FileChange]) -> None:
    """Write the files, each beside its place and then renamed.

    Raises InputError where one has changed meanwhile or cannot be written; those before it are written.
    """
    for change in found:
        now = change.path.read_bytes() if change.path.exists() else None
        if now != change.before:
            raise InputError(
                f"{change.path}: expected the file that the diff is of, found another; run it again."
            )
        try:
            _replace(change)
        except OSError as error:
            raise InputError(
                f"{change.path}: expected a file that can be written, found that it cannot be ({error.strerror})."
            ) from None


def _changed(
    path: Path, file: str, wanted: list[tuple[Proposal, dict[str, Any]]], left: list[Left]
) -> FileChange | None:
    try:
        before = path.read_bytes() if path.exists() else None
        edited = PropertyFile(before or b"")
    except (OSError, CannotEdit) as error:
        why = (
            f"since it cannot be read ({error.strerror})" if isinstance(error, OSError) else f"since {error}"
        )
        left += [Left(one.node.unique_id, file, why) for one, _ in wanted]
        return None
    set_: list[str] = []
    # an entry that is added comes after all that is there
    for one, keys in sorted(wanted, key=lambda one_and_keys: not one_and_keys[0].is_described):
        try:
            if one.is_described:
                edited.set(one.node, keys, is_annotated=bool(one.statement.block))
            else:
                edited.add(one.node, keys)
            set_.append(one.node.unique_id)
        except CannotEdit as error:
            left.append(Left(one.node.unique_id, file, f"since {error}"))
    try:
        after = edited.edited()
    except CannotEdit as error:
        left += [Left(node_id, file, f"since {error}") for node_id in set_]
        return None
    return FileChange(path, file, before, after) if after != before else None


def _replace(change: FileChange) -> None:
    handle, temporary = tempfile.mkstemp(dir=change.path.parent, prefix=f".{change.path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(change.after)
            file.flush()
            os.fsync(file.fileno())
        if change.before is None:
            Path(temporary).chmod(0o666 & ~_umask())
        else:
            shutil.copymode(change.path, temporary)
        Path(temporary).replace(change.path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
