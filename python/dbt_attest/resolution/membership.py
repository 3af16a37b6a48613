"""The groups of a subject, from the membership file that attest.yml names."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.settings import MembershipFile

# clocks of two machines may differ by so much
_SKEW = timedelta(minutes=5)


@dataclass(frozen=True)
class Membership:
    """Who is in which groups, as a file said at `observed_at` (UTC, its last change; None: there is no file).

    `age` is how long ago that was, `max_age` what attest.yml allows. What is older, lies in the future or is
    missing counts as absent: then nobody is in any group but `everyone`.
    """

    path: Path
    max_age: timedelta
    observed_at: datetime | None
    age: timedelta | None
    groups_of: Mapping[str, tuple[str, ...]]

    @property
    def absent(self) -> bool:
        """Whether it counts as if it were not there."""
        return self.age is None or not -_SKEW <= self.age <= self.max_age

    @property
    def warning(self) -> str | None:
        """The sentence for a person where it counts as absent."""
        if not self.absent:
            return None
        at = self.observed_at
        found = "no such file" if at is None else f"one of {at:%Y-%m-%d %H:%M} UTC"
        return (
            f"{self.path}: expected a membership of the last {_told(self.max_age)}, found {found}; it counts as "
            "absent, and nobody is in a group but everyone: write it anew."
        )

    def requester(self, subject: str, tenant: str | None = None) -> Requester:
        """The subject with the groups that the file gives it; none where it is absent or does not name it."""
        groups = () if self.absent else self.groups_of.get(subject.strip(), ())
        return Requester(groups=groups, subject=subject.strip(), tenant=tenant)

    def as_json(self) -> dict[str, Any]:
        """Its state without the name of anybody: instants in UTC with offset, ages in seconds."""
        return {
            "file": str(self.path),
            "observed_at": None if self.observed_at is None else self.observed_at.isoformat(),
            "age": None if self.age is None else int(self.age.total_seconds()),
            "max_age": int(self.max_age.total_seconds()),
            "absent": self.absent,
            "subjects": len(self.groups_of),
        }


def read_membership(file: MembershipFile) -> Membership:
    """The membership in a CSV file with the columns `subject` and `group`, one row a membership.

    Other columns are passed over. Raises InputError where the file cannot be read or is no such table; a
    missing file is an absent membership.
    """
    expected = f"{file.path}: expected a CSV file with the columns subject and group"
    try:
        # before reading: what is written meanwhile is newer than it is said to be
        changed = file.path.stat().st_mtime
        with file.path.open(encoding="utf-8-sig", newline="") as lines:
            groups = _groups(csv.DictReader(lines, strict=True), expected)
    except FileNotFoundError:
        return Membership(file.path, file.max_age, None, None, {})
    except OSError as error:
        raise InputError(f"{expected}, found a file that cannot be read ({error.strerror}).") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{expected}, found text that is none ({error}); repair it.") from None
    observed_at = datetime.fromtimestamp(changed, timezone.utc)
    return Membership(file.path, file.max_age, observed_at, datetime.now(timezone.utc) - observed_at, groups)


def _groups(rows: csv.DictReader[str], expected: str) -> dict[str, tuple[str, ...]]:
    if not {"subject", "group"} <= set(rows.fieldnames or ()):
        raise InputError(f"{expected}, found {', '.join(rows.fieldnames or ()) or 'nothing'}; name them so.")
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        subject, group = ((row[column] or "").strip() for column in ("subject", "group"))
        if not subject or not group:
            raise InputError(f"{expected}, found line {rows.line_num} without both; complete or remove it.")
        found.setdefault(subject, {})[group] = None
    return {subject: tuple(groups) for subject, groups in found.items()}


def _told(duration: timedelta) -> str:
    hours = int(duration.total_seconds() // 3600)
    return f"{hours // 24}d" if hours % 24 == 0 and hours else f"{hours}h"
