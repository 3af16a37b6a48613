"""Running `dbt parse` on a project as it was at some commit, with what is installed today."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from dbt_attest.errors import InputError, WarehouseError

#: Seconds that one `dbt parse`, and one `dbt deps`, may take.
PARSE_LIMIT, DEPS_LIMIT = 600.0, 60.0
_PACKAGE_FILES = ("packages.yml", "dependencies.yml", "package-lock.yml")
# Settings of dbt that would change where it writes, what it writes or whether a warning is an error. Other
# variables stay, DBT_ ones too: projects and profiles read them with env_var().
_NOT_FOR_DBT = re.compile(
    r"DBT_(ENGINE_\w+|TARGET_PATH|LOG_\w+|PROJECT_DIR|PROFILES_DIR|WRITE_JSON|WARN_ERROR\w*|PARTIAL_PARSE\w*|"
    r"QUIET|DEBUG|USE_COLORS\w*|STATE|DEFER\w*|FAIL_FAST|VERSION_CHECK|CLEAN_PROJECT_FILES_ONLY|PRINT\w*|"
    r"PRINTER_WIDTH|RECORDER\w*|UPLOAD_ARTIFACTS|SEND_ANONYMOUS_USAGE_STATS)"
)
# What an adapter that is not installed here, or credentials that are not set here, make dbt say.
_NO_PROFILE_HERE = re.compile(r"Could not find adapter|Env var required|Credentials in profile|No module")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


class Parser:
    """Parses states of one project; `present` is the project as it is now, `folder` a temporary one."""

    def __init__(self, present: Path, folder: Path) -> None:
        self._present = present
        self._folder = folder
        self._network = True
        self._profiles_work = True

    def parse(self, project: Path) -> Path:
        """The target folder that dbt wrote for a state of the project; InputError with dbt's own words."""
        settings = _mapping(project / "dbt_project.yml")
        if not settings:
            raise InputError("it has no dbt_project.yml that can be read")
        self._install_packages(project, settings)
        target = self._folder / "target"
        shutil.rmtree(target, ignore_errors=True)
        words = ["--no-partial-parse", "--no-version-check", "parse", "--target-path", str(target)]
        self._dbt(project, settings, words, PARSE_LIMIT)
        if not (target / "manifest.json").exists():
            raise InputError("dbt parse wrote no manifest.json")
        return target

    def _install_packages(self, project: Path, settings: dict[str, Any]) -> None:
        """The packages of the state, kept by what it asks for; without a network, those of the present."""
        asked = _asked(project)
        if not asked:
            return
        where = settings.get("packages-install-path")
        into = project / (where if isinstance(where, str) else "dbt_packages")
        if not into.resolve().is_relative_to(project.resolve()) or into.exists():
            return
        present = self._present / into.relative_to(project)
        if b"local:" not in asked:
            kept = self._folder / "packages" / hashlib.sha256(asked).hexdigest()
            if kept.is_dir() or (asked == _asked(self._present) and present.is_dir()):
                into.symlink_to(kept if kept.is_dir() else present.resolve())
                return
            if self._network and self._deps(project, settings) and into.is_dir():
                kept.parent.mkdir(parents=True, exist_ok=True)
                into.rename(kept)
                into.symlink_to(kept)
                return
        elif self._deps(project, settings):
            return
        shutil.rmtree(into, ignore_errors=True)
        if present.is_dir():
            into.symlink_to(present.resolve())

    def _deps(self, project: Path, settings: dict[str, Any]) -> bool:
        """Whether dbt installed them."""
        try:
            self._dbt(project, settings, ["deps"], DEPS_LIMIT)
        except InputError:
            self._network = False
            return False
        return True

    def _dbt(self, project: Path, settings: dict[str, Any], words: list[str], limit: float) -> None:
        try:
            self._run(project, words, limit, *self._profile(project, settings))
        except InputError as error:
            if not self._profiles_work or not _NO_PROFILE_HERE.search(str(error)):
                raise
            self._profiles_work = False
            self._run(project, words, limit, *self._profile(project, settings))

    def _run(self, project: Path, words: list[str], limit: float, profiles: Path, target: str | None) -> None:
        environ = {key: value for key, value in os.environ.items() if not _NOT_FOR_DBT.fullmatch(key)}
        process = subprocess.Popen(
            [
                *dbt_command(),
                *("--quiet", "--no-use-colors"),
                *words,
                *("--project-dir", str(project)),
                *("--profiles-dir", str(profiles)),
                *(("--target", target) if target else ()),
                *("--log-path", str(self._folder / "logs")),
            ],
            env=environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=limit)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise InputError(f"dbt took longer than {limit:.0f} s") from None
            raise
        if process.returncode != 0:
            raise InputError(_sentence(said))

    def _profile(self, project: Path, settings: dict[str, Any]) -> tuple[Path, str | None]:
        """The folder of the profiles.yml to use, and a target where it is one that is made here.

        The state's own comes first, then the present one. Where none has the profile, or it needs what is not
        installed or set here, one for DuckDB is made: parsing connects to nothing.
        """
        name = settings.get("profile")
        named = os.environ.get("DBT_PROFILES_DIR")
        for folder in (project, *([Path(named)] if named else []), self._present, Path.home() / ".dbt"):
            if self._profiles_work and name in _mapping(folder / "profiles.yml"):
                return folder.resolve(), None
        made = self._folder / "profile"
        made.mkdir(exist_ok=True)
        profile = {"target": "parse", "outputs": {"parse": {"type": "duckdb", "path": ":memory:"}}}
        (made / "profiles.yml").write_text(json.dumps({str(name or "default"): profile}), encoding="utf-8")
        return made, "parse"


def _asked(project: Path) -> bytes:
    """What a state asks for as packages, empty for none."""
    texts = [path.read_bytes() for path in (project / name for name in _PACKAGE_FILES) if path.is_file()]
    return b"\0".join(text for text in texts if b"packages" in text)


def _mapping(path: Path) -> dict[Any, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return values if isinstance(values, dict) else {}


def _sentence(said: str) -> str:
    """dbt's words in one line, without its clock and its frame."""
    lines = [re.sub(r"^\d\d:\d\d:\d\d\s*", "", line).strip() for line in _COLORS.sub("", said).splitlines()]
    text = " ".join(line for line in lines if line and not line.startswith("[WARNING]"))
    text = re.sub(r"^Encountered an error:\s*", "", text)
    return text[:400] + "…" if len(text) > 400 else text or "dbt failed without a word"


def dbt_command() -> list[str]:
    """The dbt that stands beside this interpreter, never another one on the PATH."""
    beside = Path(sys.executable).parent / ("dbt.exe" if os.name == "nt" else "dbt")
    if not beside.exists():
        raise WarehouseError(
            f"{beside.parent}: expected the dbt command beside the Python that runs attest, found none; "
            "install dbt-core and dbt-duckdb in this environment."
        )
    return [str(beside)]
