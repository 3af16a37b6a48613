"""The groups of a subject, from the membership file or table that attest.yml names."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.settings import MembershipFile, MembershipTable

# clocks of two machines may differ by so much
_SKEW = timedelta(minutes=5)


@dataclass(frozen=True)
class Membership:
    """Who is in which groups, as `source` said at `observed_at` (UTC; None: there is none, or nothing in the table).

    That is the last change of a file, or the newest `observed_at` of a table. `age` is how long ago it was. What is
    older than the source allows, lies in the future or is missing counts as absent: then nobody is in any group but
    `everyone`.
    """

    source: MembershipFile | MembershipTable
    observed_at: datetime | None
    age: timedelta | None
    groups_of: Mapping[str, tuple[str, ...]]

    @property
    def absent(self) -> bool:
        """Whether it counts as if it were not there."""
        return self.age is None or not -_SKEW <= self.age <= self.source.max_age

    @property
    def warning(self) -> str | None:
        """The sentence for a person where it counts as absent."""
        if not self.absent:
            return None
        at = self.observed_at
        if at is not None:
            found = f"one of {at:%Y-%m-%d %H:%M} UTC"
        elif isinstance(self.source, MembershipFile):
            found = "no such file"
        else:
            found = "no such table with rows (a stand-alone warehouse has none)"
        return (
            f"{_place(self.source)}: expected a membership of the last {_told(self.source.max_age)}, found {found}; it "
            "counts as absent, and nobody is in a group but everyone: write it anew."
        )

    def requester(self, subject: str, tenant: str | None = None) -> Requester:
        """The subject with the groups that it has here; none where this is absent or does not name it."""
        groups = () if self.absent else self.groups_of.get(subject.strip(), ())
        return Requester(groups=groups, subject=subject.strip(), tenant=tenant)

    def as_json(self) -> dict[str, Any]:
        """Its state without the name of anybody: instants in UTC with offset, ages in seconds."""
        return {
            "file": str(self.source.path) if isinstance(self.source, MembershipFile) else None,
            "table": self.source.name if isinstance(self.source, MembershipTable) else None,
            "observed_at": None if self.observed_at is None else self.observed_at.isoformat(),
            "age": None if self.age is None else int(self.age.total_seconds()),
            "max_age": int(self.source.max_age.total_seconds()),
            "absent": self.absent,
            "subjects": len(self.groups_of),
        }


def read_membership(source: MembershipFile | MembershipTable) -> Membership:
    """The membership in a CSV file with the columns `subject` and `group`, or in a table with `observed_at`, too.

    One row is one membership of today; other columns are passed over. Raises InputError where it cannot be read or
    is no such table, WarehouseError where the file of the table is busy or damaged; what is missing is absent.
    """
    observed_at, groups = _file(source) if isinstance(source, MembershipFile) else _table(source)
    age = None if observed_at is None else datetime.now(timezone.utc) - observed_at
    return Membership(source, observed_at, age, groups)


def _file(source: MembershipFile) -> tuple[datetime | None, dict[str, tuple[str, ...]]]:
    expected = f"{source.path}: expected a CSV file with the columns subject and group"
    try:
        # before reading: what is written meanwhile is newer than it is said to be
        changed = source.path.stat().st_mtime
        with source.path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, strict=True)
            if not {"subject", "group"} <= set(rows.fieldnames or ()):
                found = ", ".join(rows.fieldnames or ()) or "nothing"
                raise InputError(f"{expected}, found {found}; name them so.")
            groups = _groups(
                ((f"line {rows.line_num}", row["subject"], row["group"]) for row in rows), expected
            )
    except FileNotFoundError:
        return None, {}
    except OSError as error:
        raise InputError(f"{expected}, found a file that cannot be read ({error.strerror}).") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{expected}, found text that is none ({error}); repair it.") from None
    return datetime.fromtimestamp(changed, timezone.utc), groups


def _table(source: MembershipTable) -> tuple[datetime | None, dict[str, tuple[str, ...]]]:
    import duckdb

    from dbt_attest.warehouse.contract import quoted
    from dbt_attest.warehouse.files import connect

    schema, _, name = source.name.partition(".")
    expected = f"{_place(source)}: expected a table with the columns subject, group and observed_at"
    if not source.warehouse.exists():
        return None, {}
    with closing(connect(source.warehouse, read_only=True)) as connection:
        columns = connection.execute(
            "select lower(column_name) from duckdb_columns() where database_name = current_database() "
            "and lower(schema_name) = lower($schema) and lower(table_name) = lower($name)",
            {"schema": schema, "name": name},
        ).fetchall()
        if not columns:
            return None, {}
        if not {("subject",), ("group",), ("observed_at",)} <= set(columns):
            raise InputError(f"{expected}, found {', '.join(one for (one,) in columns)}; name them so.")
        try:
            rows = connection.execute(
                'select "subject"::varchar, "group"::varchar, "observed_at"::timestamptz '
                f"from {quoted(schema)}.{quoted(name)}"
            ).fetchall()
        except duckdb.Error as error:
            raise InputError(
                f"{expected}, found one that cannot be read ({str(error).splitlines()[0]}); repair it."
            ) from None
    # an infinite one comes without a time zone, one beyond the year 9999 as text
    if any(not isinstance(at, datetime) or at.tzinfo is None for _, _, at in rows):
        raise InputError(f"{expected}, found a row without an instant in observed_at; complete or remove it.")
    groups = _groups((("a row", subject, group) for subject, group, _ in rows), expected)
    return max((at for _, _, at in rows), default=None), groups


def _groups(rows: Iterable[tuple[str, str | None, str | None]], expected: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for where, *named in rows:
        subject, group = ((value or "").strip() for value in named)
        if not subject or not group:
            raise InputError(f"{expected}, found {where} without both; complete or remove it.")
        found.setdefault(subject, {})[group] = None
    return {subject: tuple(groups) for subject, groups in found.items()}


def _place(source: MembershipFile | MembershipTable) -> str:
    return str(source.path) if isinstance(source, MembershipFile) else f"{source.warehouse}: {source.name}"


def _told(duration: timedelta) -> str:
    hours = int(duration.total_seconds() // 3600)
    return f"{hours // 24}d" if hours % 24 == 0 and hours else f"{hours}h"
