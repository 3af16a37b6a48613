"""The commits of a project, one by one in a worktree of their own, parsed by dbt.

The way through the history is the first-parent one: the states that the branch itself had, in their order.
What a merged branch looked like before its merge was never the project's state.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from dbt_attest.errors import InputError

_TOUCHED = ("*.yml", "*.yaml", "*.sql", "*.py", "*.md")
_PREFIX = "attest-from-git-"
_LOCK = "lock"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Commit:
    """One commit; `at` is when it was committed, later than its predecessor, and `authored_at` when written.

    Commits of one second, as a rebase makes them, and those that a wrong clock put before their predecessor
    follow it by a microsecond, so that their order is the order of the history.
    """

    id: str
    at: datetime
    authored_at: datetime
    subject: str

    @property
    def name(self) -> str:
        """How a person finds it."""
        return f"{self.id[:10]} {self.at:%Y-%m-%d} {self.subject}"


@dataclass(frozen=True)
class Repository:
    """The git repository around a dbt project; `prefix` is where in it the project is, empty for its root."""

    root: Path
    prefix: str

    @property
    def shallow(self) -> bool:
        """Whether earlier commits are missing here."""
        return _git(self.root, "rev-parse", "--is-shallow-repository").strip() == "true"


def repository_of(project_dir: Path) -> Repository:
    """The repository around a project; raises InputError where there is none."""
    try:
        root = _git(project_dir, "rev-parse", "--show-toplevel").strip()
        prefix = _git(project_dir, "rev-parse", "--show-prefix").strip()
        _git(project_dir, "rev-parse", "--verify", "--quiet", "HEAD")
    except InputError as error:
        raise InputError(
            f"{project_dir}: expected a git repository with commits, found none ({_last_line(error)}); "
            "run this where the project's history is."
        ) from None
    return Repository(Path(root), prefix)


def commits(repository: Repository, revisions: str) -> list[Commit]:
    """The commits of a range such as `v1.0..main` that touched what dbt or attest reads, the oldest first.

    Raises InputError where git does not know the range.
    """
    if revisions.startswith("-"):
        raise InputError(f"--from-git: expected commits such as v1.0..main, found {revisions!r}.")
    patterns = [f":(glob,icase){_literal(repository.prefix)}**/{name}" for name in _TOUCHED]
    try:
        tip = _git(repository.root, "rev-parse", "--revs-only", revisions).split()
        known = [one for one in tip if not one.startswith("^")]
        if not known:
            raise InputError("it names no commit")
        touched = _git(repository.root, "rev-list", "--first-parent", revisions, "--", *patterns).split()
        shown = "--format=%H%x09%ct%x09%at%x09%s"
        history = _git(repository.root, "log", "--first-parent", "--reverse", shown, *known, "--")
    except InputError as error:
        raise InputError(
            f"--from-git {revisions}: expected commits such as v1.0..main, found {_last_line(error)}."
        ) from None
    wanted = set(touched)
    return [commit for commit in _in_order(history) if commit.id in wanted]


def _in_order(history: str) -> Iterator[Commit]:
    """Over the whole history, so that a commit's instant does not depend on the range asked for."""
    before: datetime | None = None
    for line in history.splitlines():
        commit_id, committed, authored, subject = line.split("\t", 3)
        at = _instant(committed)
        if before is not None and at <= before:
            at = before + timedelta(microseconds=1)
        before = at
        yield Commit(commit_id, at, _instant(authored), subject)


def _instant(seconds: str) -> datetime:
    return _EPOCH + timedelta(seconds=int(seconds))


class Worktree:
    """A checkout of a repository in a temporary folder, of one commit after the other."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self.folder = folder
        self._repository = repository
        self._checkout = folder / "checkout"

    @property
    def project_dir(self) -> Path:
        """Where the dbt project is in it, if the commit has one."""
        return self._checkout / self._repository.prefix

    def check_out(self, commit: Commit) -> None:
        """Make it the state of a commit, with nothing left of the one before; InputError where git fails."""
        if not self._checkout.exists():
            _git(
                self._repository.root,
                *("worktree", "add", "--detach", "--no-checkout", str(self._checkout), commit.id),
            )
        _git(self._checkout, "checkout", "--quiet", "--detach", "--force", commit.id)
        _git(self._checkout, "clean", "--quiet", "-ffdx")


@contextmanager
def worktree(repository: Repository) -> Iterator[Worktree]:
    """A worktree outside of the repository, removed at the end; what killed runs left goes now."""
    _remove_left(repository)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder, (Path(folder) / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield Worktree(repository, Path(folder).resolve())
        finally:
            _remove(repository, Path(folder).resolve())


def _remove_left(repository: Repository) -> None:
    for line in _git(repository.root, "worktree", "list", "--porcelain").splitlines():
        folder = Path(line.removeprefix("worktree ")).parent
        if line.startswith("worktree ") and folder.name.startswith(_PREFIX) and _is_left(folder):
            _remove(repository, folder)


def _is_left(folder: Path) -> bool:
    """Whether the process that made it is gone: its lock falls with it."""
    try:
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not folder.exists()
    return True


def _remove(repository: Repository, folder: Path) -> None:
    shutil.rmtree(folder / "checkout", ignore_errors=True)
    _git(repository.root, "worktree", "prune")
    shutil.rmtree(folder, ignore_errors=True)


def _git(folder: Path, *words: str) -> str:
    """What git says; raises InputError with its own words. No hook of the user runs."""
    # set where git itself called us, as in a hook: they would win over the folder
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        ran = subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", *words],
            cwd=folder,
            env=environ | {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise InputError("git: expected the command git, found none; install it.") from None
    if ran.returncode != 0:
        raise InputError(ran.stderr.decode(errors="replace").strip() or f"git {words[0]} failed")
    return ran.stdout.decode(errors="replace")


def _literal(prefix: str) -> str:
    return "".join(f"\\{char}" if char in "*?[\\" else char for char in prefix)


def _last_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[-1].removeprefix("fatal: ") if lines else "nothing"
