"""Text of others on a terminal: shown, never obeyed."""

from __future__ import annotations

import json
import unicodedata
from typing import Any


def safe(text: str, keep: str = "") -> str:
    """Text for a terminal: control and invisible formatting characters are shown, never obeyed."""
    return "".join(char if char in keep or not _is_obeyed(char) else f"\\u{ord(char):04x}" for char in text)


def as_json(values: Any, *, indent: int | None = 2) -> str:
    """Values as JSON text whose strings hold no such character unescaped; it reads back as the same values."""
    text = json.dumps(values, indent=indent, ensure_ascii=False)
    return "".join(char if char == "\n" or not _is_obeyed(char) else json.dumps(char)[1:-1] for char in text)


def _is_obeyed(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf")
