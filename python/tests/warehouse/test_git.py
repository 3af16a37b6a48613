"""The past of a project from its commits: `attest build --from-git`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dbt_attest.errors import InputError
from dbt_attest.resolution import Warehouse
from dbt_attest.warehouse.from_git import build_from_git
from dbt_attest.warehouse.git_history import commits, repository_of, worktree

PROJECT = "name: shop\nversion: '1.0'\nprofile: nobody_has_it\nflags: {send_anonymous_usage_stats: false}\n"
ATTEST_YML = (
    "archive: kept\nrules: [{path: '**', permissions: [everyone]}]\ndocuments: ['docs/*.md']\n"
    "collection: {max_removed: 100%}\n"
)


class Repository:
    """A git repository with a dbt project in a folder of it."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.root = folder
        self.project = folder / prefix
        self.project.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")

    def git(self, *words: str, **environ: str) -> str:
        ran = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=os.environ | environ,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return ran.stdout.strip()

    def commit(self, at: str, files: dict[str, str | None], written: str | None = None) -> str:
        """Commit files of the project, None for one that goes; returns the commit."""
        for name, content in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_text(content, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", f"of {at}", GIT_COMMITTER_DATE=at, GIT_AUTHOR_DATE=written or at)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def _model(sql, description, **annotation):
    meta = f", config: {{meta: {{attest: {json.dumps(annotation)}}}}}" if annotation else ""
    return {
        "models/revenue.sql": sql,
        "models/revenue.yml": f"models: [{{name: revenue, description: '{description}'{meta}}}]\n",
    }


@pytest.fixture(scope="module")
def walked(tmp_path_factory, empty_warehouse):
    """A project in a folder of a repository, with everything that a history can have, walked once."""
    repository = Repository(tmp_path_factory.mktemp("repository"), "analytics/shop")
    first = _model("select 1 as a", "net") | {
        "dbt_project.yml": PROJECT,
        "attest.yml": ATTEST_YML,
        "docs/note.md": "---\nversion: '1'\n---\nold\n",
    }
    annotated = _model("select 2 as a", "net of tax", authority="authoritative", effective_from="2024-01-01")
    ids = [
        repository.commit("2024-01-10T09:00:00Z", first, written="2024-01-09T08:00:00Z"),
        repository.commit("2024-02-10T09:00:00Z", {"README.txt": "not read"}),
        repository.commit("2024-03-10T09:00:00Z", _model("select 2 as a", "net")),
        repository.commit("2024-04-10T09:00:00Z", {"models/revenue.yml": "models: ["}),
        repository.commit("2024-05-10T09:00:00Z", _model("select 2 as a", "net of tax")),
        # of the same second, as after a rebase
        repository.commit("2024-05-10T09:00:00Z", {"docs/note.md": "---\nversion: '1'\n---\nnew\n"}),
        repository.commit("2024-06-10T09:00:00Z", {"attest.yml": ATTEST_YML + "nonsense: true\n"}),
        repository.commit("2024-07-10T09:00:00Z", {"attest.yml": ATTEST_YML} | annotated),
    ]
    repository.project.joinpath("untracked.txt").write_text("mine", encoding="utf-8")
    shutil.copyfile(empty_warehouse, repository.project / "evidence.duckdb")
    found = build_from_git(repository.project)
    # the user's own working tree is as it was
    assert repository.git("status", "--porcelain", "--untracked-files=no") == ""
    assert repository.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert repository.project.joinpath("untracked.txt").exists()
    return repository, ids, found


def _query(repository, sql):
    with duckdb.connect(str(repository.project / "evidence.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_commits_that_touched_the_project_are_recorded_at_their_time(walked):
    repository, ids, found = walked
    assert (found.commits, found.known, found.shallow, found.done.recorded) == (7, 0, False, 5)
    rows = _query(
        repository,
        "select artifact.git_commit, collection.generated_at, artifact.authored_at "
        "from attest.collections as collection "
        "join attest.artifacts as artifact on artifact.artifact_id = collection.manifest_id "
        "where collection.project_name = 'shop' order by collection.generated_at",
    )
    assert [row[0] for row in rows] == [ids[0], ids[2], ids[4], ids[5], ids[7]]
    assert [f"{row[1]:%Y-%m-%dT%H:%M:%S.%f}" for row in rows] == [
        "2024-01-10T09:00:00.000000",
        "2024-03-10T09:00:00.000000",
        "2024-05-10T09:00:00.000000",
        "2024-05-10T09:00:00.000001",
        "2024-07-10T09:00:00.000000",
    ]
    assert f"{rows[0][2]:%Y-%m-%dT%H:%M:%S}" == "2024-01-09T08:00:00"


def test_commits_that_cannot_be_read_are_skipped_and_named(walked):
    _, ids, found = walked
    assert [one.name.split()[0] for one in found.done.skipped] == [ids[3][:10], ids[6][:10]]
    assert "revenue.yml" in found.done.skipped[0].reason
    assert "nonsense" in found.done.skipped[1].reason


def test_when_sql_description_and_annotation_changed(walked):
    repository, ids, _ = walked
    found = Warehouse(repository.project / "evidence.duckdb").history("revenue")
    changes = [
        (change.git_commit, change.change, change.attribute)
        for change in found.changes
        if change.attribute in ("logic_hash", "definition", "authority", None)
    ]
    assert changes == [
        (ids[0], "added", None),
        (ids[0], "added", "definition"),
        (ids[0], "added", "logic_hash"),
        (ids[2], "changed", "logic_hash"),
        (ids[4], "changed", "definition"),
        (ids[7], "added", "authority"),
    ]


def test_a_document_has_the_commit_that_brought_it(walked):
    repository, ids, _ = walked
    found = Warehouse(repository.project / "evidence.duckdb").history("document.docs.note")
    said = [one for one in found.changes if one.attribute == "definition"]
    changes = [(one.git_commit, one.change, one.after) for one in said]
    assert changes == [(ids[0], "added", "old"), (ids[5], "changed", "new")]


def test_a_second_run_parses_only_what_is_missing(walked, monkeypatch):
    from dbt_attest.warehouse import from_git

    repository, ids, _ = walked
    parsed = []

    def parse(_, project):
        parsed.append(subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=project, text=True).strip())
        raise InputError("not today")

    monkeypatch.setattr(from_git.Parser, "parse", parse)
    found = build_from_git(repository.project)
    assert (found.commits, found.known, found.done.recorded) == (7, 5, 0)
    assert parsed == [ids[3], ids[6]]
    assert build_from_git(repository.project, f"{ids[4]}..HEAD").commits == 3


def test_what_came_from_git_is_archived(walked):
    from dbt_attest.warehouse.archive import read_archive

    repository, ids, _ = walked
    found, broken = read_archive(repository.project / "kept")
    assert broken == []
    assert [one.collection.git_commit for one in found] == [ids[0], ids[2], ids[4], ids[5], ids[7]]
    assert {one.collection.removals_allowed for one in found} == {True}


def test_no_worktree_is_left(walked):
    repository, _, _ = walked
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_merges_count_as_what_they_made_of_the_branch(repository):
    main = [repository.commit("2024-01-01T00:00:00Z", {"a.yml": "1"})]
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit("2024-01-02T00:00:00Z", {"b.yml": "1"})
    repository.git("checkout", "--quiet", "main")
    main.append(repository.commit("2024-01-03T00:00:00Z", {"c.yml": "1"}))
    when = {"GIT_COMMITTER_DATE": "2024-01-04T00:00:00Z", "GIT_AUTHOR_DATE": "2024-01-04T00:00:00Z"}
    repository.git("merge", "--quiet", "--no-ff", "-m", "merged", "feature", **when)
    main.append(repository.git("rev-parse", "HEAD"))
    found = commits(repository_of(repository.project), "HEAD")
    assert [commit.id for commit in found] == main


def test_a_clock_that_went_backwards_does_not_turn_the_history_around(repository):
    for at in ("2024-01-02T00:00:00Z", "2024-01-01T00:00:00Z", "2024-01-03T00:00:00Z"):
        repository.commit(at, {"a.yml": at})
    found = commits(repository_of(repository.project), "HEAD")
    assert [f"{commit.at:%d %f}" for commit in found] == ["02 000000", "02 000001", "03 000000"]
    # whatever the range
    assert commits(repository_of(repository.project), "HEAD~2..HEAD") == found[1:]


@pytest.mark.parametrize("revisions", ["nonsense", "--output=stolen", "v1..v2", ""])
def test_a_range_that_git_does_not_know(repository, revisions):
    repository.commit("2024-01-01T00:00:00Z", {"a.yml": "1"})
    with pytest.raises(InputError, match="expected commits such as"):
        commits(repository_of(repository.project), revisions)
    assert not (repository.root / "stolen").exists()


def test_a_folder_without_a_repository_or_commits(tmp_path, repository):
    for folder in (tmp_path, repository.root):
        with pytest.raises(InputError, match="expected a git repository with commits"):
            repository_of(folder)


def test_no_hook_of_the_user_runs(repository):
    repository.commit("2024-01-01T00:00:00Z", {"a.yml": "1"})
    hook = repository.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {repository.root}/ran\n", encoding="utf-8")
    hook.chmod(0o755)
    there = repository_of(repository.project)
    (commit,) = commits(there, "HEAD")
    with worktree(there) as tree:
        tree.check_out(commit)
        assert (tree.project_dir / "a.yml").read_text(encoding="utf-8") == "1"
    assert not (repository.root / "ran").exists()


def test_what_a_killed_run_left_goes_with_the_next_one(repository):
    repository.commit("2024-01-01T00:00:00Z", {"a.yml": "1"})
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from dbt_attest.warehouse.git_history import commits, repository_of, worktree\n"
        "there = repository_of(Path(sys.argv[1]))\n"
        "with worktree(there) as tree:\n"
        "    tree.check_out(commits(there, 'HEAD')[0])\n"
        "    print(tree.folder, flush=True)\n"
        "    {}\n"
    )
    words = [sys.executable, "-c"]
    killed = subprocess.run(
        [*words, code.format("os.kill(os.getpid(), 9)"), str(repository.root)],
        capture_output=True,
        text=True,
        check=False,
    )
    left = Path(killed.stdout.strip())
    running = subprocess.Popen(
        [*words, code.format("sys.stdin.read()"), str(repository.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    alive = Path(running.stdout.readline().strip())
    try:
        assert not left.exists()
        with worktree(repository_of(repository.root)):
            assert (alive / "checkout" / "a.yml").exists()
    finally:
        running.communicate("")
    assert not alive.exists()
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_packages_and_profile_of_the_present_where_there_is_no_network(repository, monkeypatch, tmp_path):
    """And variables of the user's that profiles read, but none that moves what dbt writes."""
    from dbt_attest.warehouse import parsing

    monkeypatch.setattr(parsing, "DEPS_LIMIT", 0.1)
    monkeypatch.setenv("DBT_SCHEMA_OF_ANN", "ann")
    monkeypatch.setenv("DBT_TARGET_PATH", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("DBT_WRITE_JSON", "false")
    files = {
        "dbt_project.yml": PROJECT,
        "profiles.yml": "nobody_has_it: {target: t, outputs: {t: {type: duckdb, schema: "
        "\"{{ env_var('DBT_SCHEMA_OF_ANN') }}\"}}}\n",
        "packages.yml": "packages: [{package: example/tools, version: 1.0.0}]\n",
        "models/a.sql": "select {{ tools.one() }} as a",
    }
    repository.commit("2024-01-01T00:00:00Z", files)
    package = repository.project / "dbt_packages" / "tools"
    (package / "macros").mkdir(parents=True)
    (package / "dbt_project.yml").write_text("name: tools\nversion: '1.0'\n", encoding="utf-8")
    (package / "macros" / "one.sql").write_text("{% macro one() %}1{% endmacro %}", encoding="utf-8")
    there = repository_of(repository.project)
    with worktree(there) as tree:
        tree.check_out(commits(there, "HEAD")[0])
        target = parsing.Parser(repository.project, tree.folder).parse(tree.project_dir)
        manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["nodes"]["model.shop.a"]["schema"] == "ann"
    assert not (tmp_path / "elsewhere").exists()
    assert package.exists()


def test_a_profile_that_cannot_be_used_here_is_replaced(repository, tmp_path):
    from dbt_attest.warehouse.parsing import Parser

    output = "{type: nonsense, password: \"{{ env_var('NOBODY') }}\"}"
    profile = f"nobody_has_it: {{target: t, outputs: {{t: {output}}}}}\n"
    files = {"dbt_project.yml": PROJECT, "profiles.yml": profile, "models/a.sql": "select 1 as a"}
    repository.commit("2024-01-01T00:00:00Z", files)
    target = Parser(repository.project, tmp_path).parse(repository.project)
    assert "model.shop.a" in json.loads((target / "manifest.json").read_text(encoding="utf-8"))["nodes"]


def test_a_parse_that_takes_too_long_is_ended(repository, monkeypatch, tmp_path):
    from dbt_attest.warehouse import parsing

    monkeypatch.setattr(parsing, "PARSE_LIMIT", 0.2)
    repository.commit("2024-01-01T00:00:00Z", {"dbt_project.yml": PROJECT})
    with pytest.raises(InputError, match="took longer than"):
        parsing.Parser(repository.project, tmp_path).parse(repository.project)
