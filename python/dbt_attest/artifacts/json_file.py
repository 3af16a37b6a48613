"""A JSON file of dbt: its bytes and its top-level keys, or one sentence saying why not."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from dbt_attest.errors import InputError

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_sections = msgspec.json.Decoder(dict[str, msgspec.Raw])
_anything = msgspec.json.Decoder()


def refusal(path: Path, expected: str, found: str, next_step: str) -> InputError:
    """The error of a file that cannot be read as what was asked for."""
    return InputError(f"{path}: expected {expected}, found {found}; {next_step}.")


def read_bytes(path: Path, expected: str, next_step: str) -> bytes:
    """The bytes of a file that is there, is a file and is not empty; InputError otherwise."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise refusal(path, expected, "no such file", next_step) from None
    except IsADirectoryError:
        raise refusal(path, expected, "a directory", next_step) from None
    except OSError as error:
        found = "a directory" if path.is_dir() else f"a file that cannot be read ({error.strerror or error})"
        raise refusal(path, expected, found, next_step) from None
    if not content or content.isspace():
        raise refusal(path, expected, "an empty file", next_step)
    return content


def read_sections(path: Path, content: bytes, expected: str, next_step: str) -> dict[str, msgspec.Raw]:
    """The top-level keys of a JSON object, each still undecoded.

    Raises InputError where the file is no JSON object.
    """
    if content.startswith(_GZIP):
        raise refusal(path, expected, "a gzip file", f"unpack it first, or {next_step}")
    content = content.removeprefix(_BOM)
    try:
        return _sections.decode(content)
    except msgspec.ValidationError:
        raise refusal(path, expected, f"JSON that is {_json_type(content)}", next_step) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        repaired = _without_nan(content)
        if repaired is not None:
            return _sections.decode(repaired)
        truncated = "truncated" in str(error)
        found = "JSON that is cut off in the middle" if truncated else f"text that is not JSON ({error})"
        raise refusal(path, expected, found, next_step) from None


def _without_nan(content: bytes) -> bytes | None:
    """The content with null for NaN and Infinity, which dbt writes for `.nan` in YAML; None without them."""
    if b"NaN" not in content and b"Infinity" not in content:
        return None
    try:
        value = json.loads(content)
        return msgspec.json.encode(value) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def _json_type(content: bytes) -> str:
    names = {list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(_anything.decode(content)), "null")
