"""What a question needs of `attest.yml`; `attest build` checks the file as a whole.

Reading only these keys spares every question the import of the JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from dbt_attest.durations import parse_duration
from dbt_attest.errors import InputError
from dbt_attest.resolution.audit import Audit
from dbt_attest.resolution.audit_file import AuditFile
from dbt_attest.resolution.audit_table import AuditTable

#: Where the audit is that attest.yml does not name, beside it.
DEFAULT_AUDIT = ".attest/audit.jsonl"
_DEFAULT_WAREHOUSE = "evidence.duckdb"


@dataclass(frozen=True)
class MembershipFile:
    """Where attest.yml says that the groups of subjects stand, and how old that may be."""

    path: Path
    max_age: timedelta

    @property
    def name(self) -> str:
        """The name of the file without its folder."""
        return self.path.name


@dataclass(frozen=True)
class MembershipTable:
    """The same in a table or view of the project's own DuckDB file `warehouse`; `name` is `schema.name`."""

    warehouse: Path
    name: str
    max_age: timedelta


@dataclass(frozen=True)
class Settings:
    """The keys of one attest.yml; None is what it does not say. Paths are as they can be opened.

    Where `membership` says that others ask, `audit` is on unless attest.yml says that it is off.
    """

    warehouse: Path | None = None
    environment: str | None = None
    membership: MembershipFile | MembershipTable | None = None
    audit: Audit | None = None


def read_settings(path: Path) -> Settings:
    """The settings in an attest.yml, none of them where there is no file; raises InputError."""
    if not path.exists():
        return Settings()
    values = _values(path)
    warehouse, environment = (_text(path, values, key) for key in ("warehouse", "environment"))
    membership = _membership(path, values.get("membership"), path.parent / (warehouse or _DEFAULT_WAREHOUSE))
    audit = values.get("audit")
    if audit is None and membership is not None:
        audit = DEFAULT_AUDIT
    return Settings(
        warehouse=None if not warehouse else path.parent / warehouse,
        environment=(environment or "").strip() or None,
        membership=membership,
        audit=_audit(path, audit),
    )


def audit_around(warehouse: Path, project: Path | None = None) -> Audit | None:
    """The audit of the nearest attest.yml around a warehouse file, else of the one in `project`.

    It goes with the file, so that asking from another folder leaves nothing out. Raises InputError where attest.yml
    cannot be read, or names the warehouse itself.
    """
    folders = [*warehouse.resolve().parents, *([project] if project else [])]
    near = next((folder for folder in folders if (folder / "attest.yml").is_file()), None)
    audit = None if near is None else read_settings(near / "attest.yml").audit
    if audit is not None and audit.path.resolve() == warehouse.resolve():
        raise InputError(
            f"{near}/attest.yml: `audit`: expected a file of its own, found the warehouse; name another file."
        )
    return audit


def _values(path: Path) -> Mapping[str, Any]:
    import yaml

    expected = f"{path}: expected attest.yml"
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{expected}, found a file that cannot be read ({error.strerror}).") from None
    except (yaml.YAMLError, ValueError) as error:
        found = " ".join(str(error).split())
        raise InputError(f"{expected}, found text that is not YAML ({found}); repair it.") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InputError(f"{expected} with `key: value` lines, found {type(values).__name__}; repair it.")
    return values


def _text(path: Path, values: Mapping[str, Any], key: str) -> str | None:
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{path}: `{key}`: expected text, found {value!r}; put it in quotes.")
    return value


def _membership(path: Path, value: Any, warehouse: Path) -> MembershipFile | MembershipTable | None:
    if value is None:
        return None
    if isinstance(value, dict) and value.keys() in ({"file", "max_age"}, {"table", "max_age"}):
        limit = parse_duration(value["max_age"])
        place = value.get("file", value.get("table"))
        if limit is not None and isinstance(place, str) and place:
            if "file" in value:
                return MembershipFile(path.parent / place, limit)
            if re.fullmatch(r"[^.]+[.][^.]+", place):
                return MembershipTable(warehouse, place, limit)
    raise InputError(
        f"{path}: `membership`: expected a file or a table and its age limit like {{file: groups.csv, max_age: 1d}} or "
        f"{{table: people.memberships, max_age: 1d}}, found {value!r}; repair it."
    )


def _audit(path: Path, value: Any) -> Audit | None:
    if value is None or value is False or value == "off":
        return None
    said = {"file": value} if isinstance(value, str) else value
    if isinstance(said, dict):
        numbers: dict[str, Any] = {
            key: number for key, number in said.items() if key not in ("file", "table")
        }
        if all(type(number) is int and number > 0 for number in numbers.values()):
            if said.keys() <= {"file", "max_bytes", "keep"} and _is_path(said.get("file")):
                return AuditFile(path.parent / said["file"], **numbers)
            if said.keys() <= {"table", "max_bytes"} and _is_path(said.get("table")):
                return AuditTable(path.parent / said["table"], **numbers)
    raise InputError(
        f"{path}: `audit`: expected off, a file, {{file: audit.jsonl, max_bytes: 10000000, keep: 9}} or "
        f"{{table: audit.duckdb, max_bytes: 100000000}}, found {value!r}; repair it."
    )


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
