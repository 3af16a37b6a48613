"""Reading bundles and answers: files of a published form, or a sentence about what is wrong with them."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from dbt_attest.errors import InputError

BUNDLE = "bundle.schema.json"
ANSWER = "answer.schema.json"
_NAMES = {BUNDLE: "an evidence bundle of `attest resolve --bundle`", ANSWER: "an answer with claims"}


def read_json(path: Path) -> Any:
    """The JSON value in a file; raises InputError."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(
            f"{path}: expected a JSON file, found one that cannot be read ({error.strerror})."
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: expected JSON, found text that is not ({str(error).splitlines()[0]})."
        ) from None


def check(path: Path, value: Any, form: str) -> dict[str, Any]:
    """The value, if it is of the form BUNDLE or ANSWER; raises InputError that names the first place that is not."""
    from jsonschema import Draft202012Validator

    from dbt_attest.annotations.schema import key_path, violations_of

    schema = json.loads(resources.files(__package__).joinpath(form).read_text(encoding="utf-8"))
    if found := violations_of(Draft202012Validator(schema), value):
        first, *others = found
        where = f"`{key_path(first.path)}`: " if first.path else ""
        more = f" ({len(others)} more)" if others else ""
        what = f"; {first.suggestion}" if first.suggestion else ""
        raise InputError(
            f"{path}: expected {_NAMES[form]}; {where}expected {first.expected}, found {first.found}{what}{more}."
        )
    checked: dict[str, Any] = value
    return checked
