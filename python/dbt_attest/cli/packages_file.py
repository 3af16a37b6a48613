"""The entry of the dbt package in a project's packages.yml, put there without touching anything else."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dbt_attest.warehouse.contract import dbt_package_dir

_FILES = ("packages.yml", "dependencies.yml")


@dataclass(frozen=True)
class Added:
    """What became of the entry: `action` is written, inserted, present or left; `entry` is its YAML."""

    action: str
    file: Path
    entry: str
    why: str = ""

    @property
    def sentence(self) -> str:
        """For people."""
        if self.action == "written":
            return f"Wrote {self.file.name} with the dbt package: {self.entry}"
        if self.action == "inserted":
            return f"Added the dbt package to {self.file.name}: {self.entry}"
        if self.action == "present":
            return f"Left {self.file.name} as it is: the dbt package is there already."
        return f"Left {self.file.name} as it is ({self.why}); paste under `packages:`\n  {self.entry}"

    def as_json(self) -> dict[str, str]:
        """For programs."""
        return {"packages_file": str(self.file), "packages_action": self.action, "packages_entry": self.entry}


def add_package(project: Path) -> Added:
    """Put the entry of the dbt package that belongs to this release into the project's packages file."""
    local = _local_path(project)
    plain = re.fullmatch(r"[\w./-]+", local) is not None
    entry = f"- local: {local if plain else json.dumps(local, ensure_ascii=False)}"
    file = _packages_file(project)
    if not file.exists():
        file.write_text(f"packages:\n  {entry}\n", encoding="utf-8")
        return Added("written", file, entry)
    try:
        content = file.read_bytes()
        before = yaml.safe_load(content.decode("utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError):
        return Added("left", file, entry, "it cannot be read as YAML")
    if _is_present(project, before):
        return Added("present", file, entry)
    after = _inserted(content, entry)
    if after is None or not _adds_only(before, after, local):
        return Added("left", file, entry, "its packages are not a plain list")
    file.write_bytes(after)
    return Added("inserted", file, entry)


def _local_path(project: Path) -> str:
    package, project = dbt_package_dir().resolve(), project.resolve()
    return (package.relative_to(project) if package.is_relative_to(project) else package).as_posix()


def _packages_file(project: Path) -> Path:
    """packages.yml, or dependencies.yml where the packages stand there: dbt refuses them in both."""
    for name in _FILES:
        try:
            found = yaml.safe_load((project / name).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, yaml.YAMLError):
            found = None
        if isinstance(found, dict) and "packages" in found:
            return project / name
    return project / _FILES[0]


def _is_present(project: Path, values: Any) -> bool:
    packages = values.get("packages") if isinstance(values, dict) else None
    for one in packages if isinstance(packages, list) else []:
        if not isinstance(one, dict):
            continue
        for key in ("package", "git", "tarball", "name"):
            if re.search(r"(^|[/_-])attest(\.git)?/?$", str(one.get(key, ""))):
                return True
        if "local" in one:
            try:
                text = (project / str(one["local"]) / "dbt_project.yml").read_text(encoding="utf-8")
            except OSError:
                continue
            if re.search(r"^name:\s*['\"]?attest['\"]?\s*(#.*)?$", text, re.MULTILINE):
                return True
    return False


def _inserted(content: bytes, entry: str) -> bytes | None:
    """The file with the entry as the first of its list; None where that is not a matter of one more line."""
    text = content.decode("utf-8")
    newline = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text.removeprefix("\ufeff"), Loader=yaml.SafeLoader)
    if root is None:
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}packages:{newline}  {entry}{newline}".encode()
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    for key, value in root.value:
        if key.value != "packages":
            continue
        if not isinstance(value, yaml.SequenceNode) or value.flow_style or not value.value:
            return None
        if value.start_mark.line == key.end_mark.line:
            return None
        # right below `packages:`, so that a comment above the first entry stays above it
        lines = text.splitlines(keepends=True)
        lines.insert(key.end_mark.line + 1, f"{' ' * value.start_mark.column}{entry}{newline}")
        return "".join(lines).encode()
    return None


def _adds_only(before: Any, after: bytes, local: str) -> bool:
    """Whether the file now says what it said, and the entry."""
    try:
        values = yaml.safe_load(after.decode("utf-8-sig"))
    except (ValueError, yaml.YAMLError):
        return False
    before = before if isinstance(before, dict) else {}
    expected = before | {"packages": [{"local": local}, *(before.get("packages") or [])]}
    return bool(values == expected)
