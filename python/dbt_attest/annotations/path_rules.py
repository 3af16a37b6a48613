"""The rules of `attest.yml`: what holds by default for the files of a path."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import msgspec

AUTHORITY_ORDER = ("untrusted", "non_authoritative", "authoritative")


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: a path pattern, the keys it gives, and how much its files may claim about themselves.

    `number` counts from 1, as in `permissions_from`.
    """

    number: int
    path: str
    keys: dict[str, Any]
    max_authority: str | None = None


class Defaults(msgspec.Struct, frozen=True):
    """What the rules say about one file: each key with the number of its rule, and the cap of authority."""

    keys: dict[str, tuple[Any, int]]
    max_authority: str | None
    max_authority_rule: int | None


class PathRules:
    """All rules, to be asked file by file; remembers which of them ever matched."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = [(rule, path_pattern(rule.path)) for rule in rules]
        self._known: dict[str, Defaults] = {}
        self._matched: set[int] = set()

    def defaults(self, path: str) -> Defaults:
        """What holds for a file, by its path relative to the project, with forward slashes."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._merge(path)
        return known

    def unmatched(self) -> list[Rule]:
        """The rules that matched no file asked so far."""
        return [rule for rule, _ in self._rules if rule.number not in self._matched]

    def _merge(self, path: str) -> Defaults:
        keys: dict[str, tuple[Any, int]] = {}
        cap: str | None = None
        cap_rule: int | None = None
        normal = unicodedata.normalize("NFC", path)
        for rule, pattern in self._rules:
            if pattern.fullmatch(normal) is None:
                continue
            self._matched.add(rule.number)
            keys.update({key: (value, rule.number) for key, value in rule.keys.items()})
            if rule.max_authority is not None:
                cap, cap_rule = rule.max_authority, rule.number
        return Defaults(keys, cap, cap_rule)


def capped(authority: str | None, cap: str | None) -> str | None:
    """The authority, lowered to the cap where it is higher; unclassified stays unclassified."""
    if authority is None or cap is None:
        return authority
    return min(authority, cap, key=AUTHORITY_ORDER.index)


def forward_slashes(path: str) -> str:
    """A path as it is compared and recorded; dbt on Windows writes backslashes (cosmos#1601)."""
    return path.replace("\\", "/").removeprefix("./")


def path_pattern(path: str) -> re.Pattern[str]:
    """What a path pattern of attest.yml matches, in full.

    `**` is any number of folders, `*` and `?` stay inside one name, and a plain folder means all in it.
    """
    normal = unicodedata.normalize("NFC", forward_slashes(path)).lstrip("/")
    if normal.endswith("/"):
        normal += "**"
    elif not re.search(r"[*?\[]", normal):
        return re.compile(re.escape(normal) + r"(?:/.*)?", re.DOTALL)
    regex = ""
    parts = normal.split("/")
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            regex += ".*" if last else "(?:[^/]+/)*"
        else:
            regex += _one_name(part) + ("" if last else "/")
    return re.compile(regex, re.DOTALL)


def _one_name(part: str) -> str:
    regex = ""
    for piece in re.findall(r"\*+|\?|\[[^]]+\]|[^*?\[]+|\[", part):
        if piece.startswith("*"):
            regex += "[^/]*"
        elif piece == "?":
            regex += "[^/]"
        elif piece.startswith("[") and piece.endswith("]"):
            inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            regex += f"[{'^' + inside[1:] if inside[0] == '!' else inside}]"
        else:
            regex += re.escape(piece)
    return regex
