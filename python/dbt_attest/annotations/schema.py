"""The two JSON Schemas, and what they say about a value in sentences of ours."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_attest.annotations.quick_check import Check, quick_check

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

ANNOTATION = "annotation.schema.json"
PROJECT_FILE = "attest_yml.schema.json"
#: What stands where a person has to fill something in; no key takes it as its value.
BLANK = "FILL_IN"


class Violation(NamedTuple):
    """One place where a value is not what the schema allows. `path` are keys and positions from the top."""

    path: tuple[str | int, ...]
    expected: str
    found: str
    suggestion: str | None


@lru_cache
def schema(name: str) -> dict[str, Any]:
    """The schema file as Python values; `name` is ANNOTATION or PROJECT_FILE."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@lru_cache
def _check(name: str) -> Check:
    return quick_check(schema(name))


@lru_cache
def _validator(name: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # a tenth of a second, needed only where something is wrong

    return Draft202012Validator(schema(name))


def violations(name: str, value: Any) -> list[Violation]:
    """Everything in `value` that the schema does not allow; empty where it is valid."""
    return [] if _check(name)(value) else violations_of(_validator(name), value)


def violations_of(validator: Draft202012Validator, value: Any) -> list[Violation]:
    """Everything in `value` that the schema of a validator does not allow."""
    return [violation for error in validator.iter_errors(value) for violation in _explain(error)]


def key_path(path: tuple[str | int, ...]) -> str:
    """The path as people write it: `versions[1].owner.name`, counting from 0 as JSON does."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def shown(value: Any) -> str:
    """A value as it stands in a message: JSON, on one line, at most 80 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _explain(error: ValidationError) -> Iterator[Violation]:
    path = tuple(error.absolute_path)
    rule = error.schema if isinstance(error.schema, dict) else {}
    branch = _meant_branch(error)
    if branch:
        for inner in branch:
            yield from _explain(inner)
    elif error.validator == "additionalProperties" and isinstance(error.instance, dict):
        allowed = list(rule.get("properties", {}))
        for key in error.instance:
            if key not in allowed:
                yield Violation((*path, str(key)), "a known key", f"`{key}`", _did_you_mean(key, allowed))
    elif error.validator == "required" and isinstance(error.instance, dict):
        for key in rule["required"]:
            if key not in error.instance:
                yield Violation((*path, key), "a value", "none", f"add `{key}`")
    else:
        yield Violation(path, *_expectation(error, rule))


def _expectation(error: ValidationError, rule: dict[str, Any]) -> tuple[str, str, str | None]:
    found = shown(error.instance)
    suggestion = "fill it in, or remove the line" if error.instance == BLANK else None
    if error.validator == "enum":
        allowed = [str(value) for value in rule["enum"] if value is not None]
        return "one of " + ", ".join(allowed), found, suggestion or _did_you_mean(error.instance, allowed)
    wants_text = error.validator == "type" and "string" in rule["type"]
    is_plain = isinstance(error.instance, (bool, int, float))
    quotes = "put it in quotes if it is meant as text" if wants_text and is_plain else None
    return rule.get("x-expected", f"{error.validator} {error.validator_value}"), found, suggestion or quotes


def _meant_branch(error: ValidationError) -> list[ValidationError]:
    """The errors of the only alternative whose type fits, if there is exactly one: that one was meant."""
    if error.validator != "anyOf":
        return []
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    fitting = [
        errors
        for errors in branches.values()
        if not any(inner.validator == "type" and not inner.path for inner in errors)
    ]
    return fitting[0] if len(fitting) == 1 else []


def _did_you_mean(key: Any, allowed: list[str]) -> str | None:
    close = difflib.get_close_matches(str(key).lower().replace("-", "_"), allowed, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else None
