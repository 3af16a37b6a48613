"""An audit in a file of JSON lines, and what an audit in a table shares with it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.asking import not_utf_8

#: Whose the audit is that we make: it tells who asked what.
OWNER_ALONE = 0o600


@dataclass(frozen=True)
class AuditFile:
    """The file that lines are appended to. At `max_bytes` it becomes `….1`, that `….2`, up to `keep` of them.

    A new one is for its owner alone, or for whom the one before it was.
    """

    path: Path
    max_bytes: int = 10_000_000
    keep: int = 9

    def write(self, line: dict[str, Any]) -> None:
        """Append a line, in one write; raises InputError where it cannot be kept."""
        content = as_text(line).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = self._open(len(content))
            try:
                written = os.write(handle, content)
            finally:
                os.close(handle)
            if written != len(content):
                raise OSError(28, "No space left on device")
        except OSError as error:
            raise cannot_be_written(self.path, error.strerror) from None

    def _open(self, more: int) -> int:
        while True:
            if not self._has_room(more):
                with self._alone():
                    # another process may have made room meanwhile
                    if not self._has_room(more):
                        self._make_room()
            try:
                return os.open(self.path, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                # put aside just now
                continue

    def _has_room(self, more: int) -> bool:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return False
        return size == 0 or size + more <= self.max_bytes

    @contextmanager
    def _alone(self) -> Iterator[None]:
        import fcntl

        handle = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, OWNER_ALONE)
        try:
            if os.fstat(handle).st_uid == os.geteuid():
                os.fchmod(handle, mode_of(self.path))
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _make_room(self) -> None:
        mode = mode_of(self.path)
        older = [self.path, *(self.path.with_name(f"{self.path.name}.{n}") for n in range(1, self.keep + 1))]
        older[-1].unlink(missing_ok=True)
        for number in reversed(range(len(older) - 1)):
            if older[number].exists():
                older[number].replace(older[number + 1])
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT, OWNER_ALONE)
        try:
            os.fchmod(handle, mode)
        finally:
            os.close(handle)


def as_text(line: dict[str, Any]) -> str:
    """A line as JSON; raises InputError where who asks or what was asked cannot be written in UTF-8."""
    text = json.dumps(line, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise not_utf_8() from None
    return text


def mode_of(path: Path) -> int:
    """Who may do what with an audit that is there, or with one that we make."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return OWNER_ALONE


def cannot_be_written(path: Path, why: str | None) -> InputError:
    """The error of a question that cannot be audited."""
    return InputError(
        f"{path}: expected an audit that can be written, found that it cannot be ({why}); without it no question "
        "is answered: make it writable for who asks, or let attest.yml name another `audit`, or off."
    )


def lines_of_file(path: Path) -> Iterator[bytes]:
    """The lines of one file without their ends; raises OSError."""
    with path.open("rb") as lines:
        for line in lines:
            yield line.rstrip(b"\r\n")


def put_aside(path: Path) -> list[Path]:
    """The files that a file of lines was put aside as, the oldest first."""
    found: list[Path] = []
    while (one := path.with_name(f"{path.name}.{len(found) + 1}")).exists():
        found.append(one)
    return found[::-1]
