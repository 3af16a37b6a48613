"""`attest build --from-git`: the project's history, from its commits."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from dbt_attest.annotations import ProjectFile, read_documents, read_project_file
from dbt_attest.errors import InputError
from dbt_attest.warehouse.building import archive_dir, find_destination
from dbt_attest.warehouse.contract import quoted
from dbt_attest.warehouse.files import PATIENCE, connect, evidence_schemas
from dbt_attest.warehouse.git_history import Commit, commits, repository_of, worktree
from dbt_attest.warehouse.parsing import Parser
from dbt_attest.warehouse.place import Place, set_changed
from dbt_attest.warehouse.replay import Past, Progress, Replay, Skipped, replay
from dbt_attest.warehouse.writing import Destination

# What is parsed is recorded at the latest after so many commits or seconds: that much a killed run loses.
_BATCH, _BATCH_SECONDS = 50, 60.0


@dataclass(frozen=True)
class ParsedCommit:
    """A commit whose files lie in a folder of their own, changed at the time of the commit."""

    commit: Commit
    folder: Path
    environment: str

    @property
    def name(self) -> str:
        """How a person finds it."""
        return self.commit.name

    @contextmanager
    def open(self) -> Iterator[Place]:
        """The place, which goes afterwards."""
        try:
            yield Place(
                project_dir=self.folder,
                target_dir=self.folder / "target",
                environment=self.environment,
                git_commit=self.commit.id,
                authored_at=self.commit.authored_at,
                removals_allowed=True,  # it is what the project was
            )
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class FromGit:
    """What the walk found: `commits` that touched the project, `known` of them recorded before.

    `shallow` is whether the clone lacks earlier commits.
    """

    destination: Destination
    commits: int
    known: int
    shallow: bool
    done: Replay


def build_from_git(
    project_dir: Path,
    revisions: str = "HEAD",
    *,
    warehouse: Path | None = None,
    environment: str | None = None,
    patience: float = PATIENCE,
    progress: Progress[Commit] = iter,
) -> FromGit:
    """Record the project as it was at each commit of a range, at the instant of the commit.

    Commits that were recorded before are passed over, so that it can be stopped and run again. Those that do
    not parse are skipped and named. Raises InputError where there is no such history, WarehouseError as
    `build` does.
    """
    project_dir = project_dir.resolve()
    project_file = read_project_file(project_dir / "attest.yml")
    environment = environment or project_file.environment
    repository = repository_of(project_dir)
    found = commits(repository, revisions)
    destination = find_destination(project_dir, project_file, warehouse)
    known = _known(destination, environment)
    walk = [commit for commit in found if commit.id not in known]
    done = Replay()
    if walk:
        with worktree(repository) as tree:
            recorder = _Recorder(destination, archive_dir(project_dir, project_file), patience, done)
            parser = Parser(project_dir, tree.folder)
            try:
                for number, commit in enumerate(progress(walk)):
                    kept = tree.folder / "commits" / str(number)
                    try:
                        tree.check_out(commit)
                        target = parser.parse(tree.project_dir)
                        _keep(tree.project_dir, target, commit.at, kept)
                    except InputError as error:
                        done.skipped.append(Skipped(commit.name, str(error)))
                        continue
                    recorder.add(ParsedCommit(commit, kept, environment))
            finally:
                recorder.flush()
    return FromGit(destination, len(found), len(found) - len(walk), repository.shallow, done)


class _Recorder:
    """Records parsed commits, several in one write of the warehouse."""

    def __init__(self, destination: Destination, archive: Path | None, patience: float, done: Replay) -> None:
        self._to = (destination, archive, patience, done)
        self._pending: list[Past] = []
        self._since = time.monotonic()

    def add(self, parsed: ParsedCommit) -> None:
        self._pending.append(parsed)
        if len(self._pending) >= _BATCH or time.monotonic() - self._since >= _BATCH_SECONDS:
            self.flush()

    def flush(self) -> None:
        pending, self._pending = self._pending, []
        if pending:
            replay(pending, *self._to)
        self._since = time.monotonic()


def _keep(project: Path, target: Path, at: datetime, folder: Path) -> None:
    """Copy what a collection reads of a checked out and parsed project; all of it is of the instant `at`."""
    manifest = folder / "target" / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(_dated((target / "manifest.json").read_bytes(), at))
    files = []
    if (project / "attest.yml").is_file():
        files.append("attest.yml")
        said: ProjectFile = read_project_file(project / "attest.yml")
        files += [document.path for document in read_documents(project, said.documents)]
    for file in files:
        copy = folder / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project / file, copy)
        set_changed(copy, at)


def _dated(content: bytes, at: datetime) -> bytes:
    """A manifest as if dbt had written it at the instant."""
    sections = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    metadata = msgspec.json.decode(sections["metadata"])
    metadata["generated_at"] = f"{at.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S.%fZ}"
    return msgspec.json.encode(sections | {"metadata": msgspec.Raw(msgspec.json.encode(metadata))})


def _known(destination: Destination, environment: str) -> set[str]:
    """The commits whose collection is recorded."""
    if not destination.path.is_file():
        return set()
    connection = connect(destination.path, read_only=True)
    try:
        if destination.schema not in evidence_schemas(connection):
            return set()
        schema = quoted(destination.schema)
        rows = connection.execute(
            f"select distinct artifact.git_commit from {schema}.collections as collection "
            f"join {schema}.artifacts as artifact on artifact.artifact_id = collection.manifest_id "
            "where collection.environment = $environment and artifact.git_commit is not null",
            {"environment": environment},
        ).fetchall()
    finally:
        connection.close()
    return {row[0] for row in rows}
