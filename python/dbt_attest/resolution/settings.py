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

from dbt_attest.errors import InputError

_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


@dataclass(frozen=True)
class MembershipFile:
    """Where attest.yml says that the groups of subjects stand, and how old that may be."""

    path: Path
    max_age: timedelta


@dataclass(frozen=True)
class Settings:
    """The keys of one attest.yml; None is what it does not say. Paths are as they can be opened."""

    warehouse: Path | None = None
    environment: str | None = None
    membership: MembershipFile | None = None


def read_settings(path: Path) -> Settings:
    """The settings in an attest.yml, none of them where there is no file; raises InputError."""
    if not path.exists():
        return Settings()
    values = _values(path)
    warehouse, environment = (_text(path, values, key) for key in ("warehouse", "environment"))
    return Settings(
        warehouse=None if not warehouse else path.parent / warehouse,
        environment=(environment or "").strip() or None,
        membership=_membership(path, values.get("membership")),
    )


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


def _membership(path: Path, value: Any) -> MembershipFile | None:
    if value is None:
        return None
    file, max_age = (value.get("file"), value.get("max_age")) if isinstance(value, dict) else (None, None)
    duration = re.fullmatch(r"([0-9]+) ?([hdw])", max_age) if isinstance(max_age, str) else None
    if not isinstance(file, str) or not file or duration is None:
        raise InputError(
            f"{path}: `membership`: expected a file and its age limit like {{file: groups.csv, max_age: 1d}}, "
            f"found {value!r}; repair it."
        )
    return MembershipFile(path.parent / file, timedelta(hours=int(duration[1]) * _HOURS[duration[2]]))
