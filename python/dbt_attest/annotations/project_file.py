"""`attest.yml`, the project file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec

from dbt_attest.annotations.path_rules import Rule, path_pattern
from dbt_attest.annotations.schema import PROJECT_FILE, key_path, violations
from dbt_attest.annotations.strict_yaml import load_yaml
from dbt_attest.durations import parse_duration
from dbt_attest.errors import AnnotationErrors, InputError, Problem

#: The places that may state each attribute, in the order in which they are believed unless attest.yml has another.
PRECEDENCE = {
    "owner": ("annotation", "group", "meta", "exposure"),
    "grain": ("annotation", "meta"),
    "description": ("annotation", "dbt"),
}


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A named set of groups; `existence` is what others may learn: disclosed or hidden."""

    groups: list[str]
    existence: str = "disclosed"


class CollectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a collection; `max_removed` is a share between 0 and 1, None is no limit."""

    max_age: timedelta | None = None
    max_unverified: timedelta | None = None
    max_removed: float = 0.2


class GapRule(msgspec.Struct, frozen=True, kw_only=True):
    """How bad a kind of gap is (`severity`), or an exception: its `reason`, and the last day of it in `until`.

    `entity` is the entity_id or evidence_id that an exception is for, `file_pattern` a regular expression for
    the files it is for; None is any.
    """

    kind: str
    severity: str | None = None
    entity: str | None = None
    file_pattern: str | None = None
    reason: str | None = None
    until: date | None = None


class ProjectFile(msgspec.Struct, frozen=True, kw_only=True):
    """One attest.yml, or the defaults where there is none (then `artifact_id` and `generated_at` are None).

    `artifact_id` is the SHA-256 of the file, `content` its text, `generated_at` the time of its last change
    in UTC. Paths are as written, relative to the file. `precedence` has the places that are
    believed, the first one first, of each attribute for which the file has others than PRECEDENCE.
    """

    path: Path
    artifact_id: str | None = None
    size_bytes: int = 0
    content: str = ""
    generated_at: datetime | None = None
    warehouse: str | None = None
    environment: str = "prod"
    archive: str | None = None
    documents: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    policies: dict[str, Policy] = msgspec.field(default_factory=dict)
    collection: CollectionLimits = CollectionLimits()
    gap_rules: tuple[GapRule, ...] = ()
    precedence: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


def read_project_file(path: Path) -> ProjectFile:
    """Read attest.yml; an absent file gives the defaults.

    Raises InputError where it cannot be read, and AnnotationErrors with every unknown key and wrong value.
    """
    try:
        content = path.read_bytes()
        changed = path.stat().st_mtime_ns
    except FileNotFoundError:
        return ProjectFile(path=path)
    except OSError as error:
        raise InputError(
            f"{path}: expected attest.yml, found a file that cannot be read ({error.strerror})."
        ) from None
    values = _values(path, content)
    limits = values.get("collection", {})
    return ProjectFile(
        path=path,
        artifact_id=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        content=content.decode("utf-8-sig"),
        generated_at=instant_of(changed),
        warehouse=values.get("warehouse"),
        environment=values.get("environment", "prod").strip(),
        archive=values.get("archive"),
        documents=tuple(_listed(values.get("documents", []))),
        rules=tuple(_rule(number, rule) for number, rule in enumerate(values.get("rules", []), start=1)),
        policies={
            name: Policy(groups=policy["groups"], existence=policy.get("existence", "disclosed"))
            for name, policy in values.get("policies", {}).items()
        },
        collection=CollectionLimits(
            max_age=parse_duration(limits.get("max_age")),
            max_unverified=parse_duration(limits.get("max_unverified")),
            max_removed=float(limits.get("max_removed", "20%").rstrip("%")) / 100,
        ),
        gap_rules=tuple(_gap_rules(path.name, values.get("gaps", {}))),
        precedence={key: tuple(said) for key, said in values.get("precedence", {}).items()},
    )


def instant_of(nanoseconds: int) -> datetime:
    """A file's time of change, nanoseconds since 1970, as an instant in UTC, cut to microseconds."""
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=nanoseconds // 1000)


def _values(path: Path, content: bytes) -> dict[str, Any]:
    file = path.name
    try:
        values = load_yaml(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise AnnotationErrors(
            [Problem(file, None, "", "text in UTF-8", "other bytes", "save it as UTF-8")]
        ) from None
    except ValueError as error:
        raise AnnotationErrors([Problem(file, None, "", "YAML", f"{error}")]) from None
    if values is None:
        return {}
    if isinstance(values, dict):
        # A key without a value says nothing: as if it were not there.
        values = {key: value for key, value in values.items() if value is not None}
    problems = [
        Problem(file, None, key_path(path_), expected, found, suggestion)
        for path_, expected, found, suggestion in violations(PROJECT_FILE, values)
    ]
    if problems:
        raise AnnotationErrors(problems)
    checked: dict[str, Any] = values
    return checked


def _rule(number: int, values: dict[str, Any]) -> Rule:
    keys = {key: value for key, value in values.items() if key not in ("path", "max_authority")}
    return Rule(number=number, path=values["path"], keys=keys, max_authority=values.get("max_authority"))


def _gap_rules(file: str, values: dict[str, Any]) -> Iterator[GapRule]:
    for kind, severity in values.get("severity", {}).items():
        yield GapRule(kind=kind, severity=severity)
    for index, one in enumerate(values.get("exceptions", [])):
        try:
            until = date.fromisoformat(one["until"])
        except ValueError:
            key = f"gaps.exceptions[{index}].until"
            raise AnnotationErrors(
                [
                    Problem(
                        file, None, key, "a date like 2026-12-31", one["until"], "name a day of the calendar"
                    )
                ]
            ) from None
        yield GapRule(
            kind=one["kind"],
            entity=one.get("entity"),
            file_pattern=path_pattern(one["path"]).pattern if "path" in one else None,
            reason=one["reason"],
            until=until,
        )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
