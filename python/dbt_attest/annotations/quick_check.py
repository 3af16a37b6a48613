"""A JSON Schema turned into one quick yes-or-no function, for the keywords that our two schemas use.

jsonschema takes about a tenth of a millisecond a block, this a hundredth; the schema stays the one source of
what is allowed, and jsonschema still says what is wrong. Tests compare the two on generated values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

Check: TypeAlias = Callable[[Any], bool]

# The exact classes of JSON and YAML: `True` is an int in Python, and no number in JSON.
_TYPES: dict[str, frozenset[type]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
    "number": frozenset({int, float}),
}
_ANNOTATIONS = frozenset({"$schema", "$id", "$defs", "title", "description", "format", "x-expected"})


def quick_check(root: dict[str, Any]) -> Check:
    """A function that says whether a value is valid; raises ValueError for a keyword it does not know."""
    seen: dict[str, Check] = {}

    def at(pointer: str) -> Check:
        def check(value: Any) -> bool:
            return seen[pointer](value)

        if pointer not in seen:
            seen[pointer] = check  # a schema may refer to itself
            schema: Any = root
            for part in pointer.removeprefix("#").strip("/").split("/"):
                schema = schema[part] if part else schema
            seen[pointer] = compiled(schema)
        return seen[pointer]

    def compiled(schema: Any) -> Check:
        if isinstance(schema, bool):
            return lambda _: schema
        checks: list[Check] = []
        unknown = schema.keys() - _ANNOTATIONS
        if "$ref" in schema:
            checks.append(at(schema["$ref"]))
        if "type" in schema:
            checks.append(_type(schema["type"]))
        if "enum" in schema:
            allowed = schema["enum"]
            # `1 == True` in Python, not in JSON; our enums hold only text and null.
            checks.append(lambda value: (value is None or isinstance(value, str)) and value in allowed)
        if "anyOf" in schema:
            checks.append(_any_of([compiled(branch) for branch in schema["anyOf"]]))
        if "items" in schema:
            checks.append(_each(compiled(schema["items"]), schema.get("uniqueItems", False)))
        if schema.keys() & {"properties", "additionalProperties", "required"}:
            checks.append(_object(schema, compiled))
        if "minLength" in schema:
            shortest = schema["minLength"]
            checks.append(lambda value: not isinstance(value, str) or len(value) >= shortest)
        if "pattern" in schema:
            pattern = re.compile(schema["pattern"])
            checks.append(lambda value: not isinstance(value, str) or pattern.search(value) is not None)
        if "not" in schema:
            refused = compiled(schema["not"])
            checks.append(lambda value: not refused(value))
        if "const" in schema:
            # of text, as with enum
            const = schema["const"]
            checks.append(lambda value: isinstance(value, str) and value == const)
        unknown -= {"$ref", "type", "enum", "anyOf", "items", "uniqueItems", "minLength", "pattern"}
        unknown -= {"not", "const"}
        unknown -= {"properties", "additionalProperties", "required"}
        if unknown:
            raise ValueError(f"keywords that quick_check does not know: {sorted(unknown)}")
        return _all_of(checks)

    return at("#")


def _type(names: str | list[str]) -> Check:
    classes = frozenset().union(*(_TYPES[name] for name in ([names] if isinstance(names, str) else names)))
    return lambda value: value.__class__ in classes


def _each(item: Check, once: bool) -> Check:
    def check(value: Any) -> bool:
        if not isinstance(value, list):
            return True
        # of text, as with enum
        return all(map(item, value)) and not (once and any(one in value[:at] for at, one in enumerate(value)))

    return check


def _any_of(checks: list[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _all_of(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    return lambda value: all(check(value) for check in checks)


def _object(schema: dict[str, Any], compiled: Callable[[Any], Check]) -> Check:
    properties = {key: compiled(value) for key, value in schema.get("properties", {}).items()}
    others = compiled(schema.get("additionalProperties", True))
    required = schema.get("required", [])

    def check(value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        for key, item in value.items():
            if not properties.get(key, others)(item):
                return False
        return not required or all(key in value for key in required)

    return check
