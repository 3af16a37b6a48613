"""`attest init`: two files, never over an existing one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dbt_attest.annotations import read_project_file
from dbt_attest.cli import packages_file
from dbt_attest.warehouse.contract import dbt_package_dir

PACKAGE = dbt_package_dir().as_posix()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A dbt project that nobody has initialised, away from the profiles of this machine."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("choice", "groups"),
    [
        ("everyone", ["everyone"]),
        ("nobody", []),
        ("finance", ["finance"]),
        ("finance, true,5", ["finance", "true", "5"]),
    ],
)
def test_the_chosen_permissions_are_the_default(project, attest, choice, groups):
    ran = attest(project, "init", "--permissions", choice)
    assert ran.code == 0
    written = read_project_file(project / "attest.yml")
    assert [(rule.path, rule.keys) for rule in written.rules] == [("**", {"permissions": groups})]
    assert (written.environment, written.warehouse) == ("prod", "evidence.duckdb")
    assert yaml.safe_load((project / "packages.yml").read_text()) == {"packages": [{"local": PACKAGE}]}
    for step in ("dbt deps", "annotate", "dbt build", "attest build", "attest resolve"):
        assert step in ran.output


def test_without_a_choice_and_a_terminal_nothing_is_written(project, attest):
    ran = attest(project, "init")
    assert ran.code == 2
    assert "--permissions: expected everyone, nobody or groups" in ran.sentence
    assert [path.name for path in project.iterdir()] == ["dbt_project.yml"]


@pytest.mark.parametrize("choice", ["", " , ", "everyone,finance", "nobody,finance"])
def test_a_choice_that_is_none(project, attest, choice):
    ran = attest(project, "init", "--permissions", choice)
    assert ran.code == 2
    assert "--permissions" in ran.sentence
    assert not (project / "attest.yml").exists()


def test_on_a_terminal_it_asks(project):
    terminal, inner = pty.openpty()
    command = [Path(sys.executable).with_name("attest"), "init"]
    process = subprocess.Popen(command, cwd=project, stdin=inner, stdout=inner, stderr=inner)
    os.close(inner)
    os.write(terminal, b"finance\n")
    said = b""
    try:
        while chunk := os.read(terminal, 1024):
            said += chunk
    except OSError:
        pass  # the other end was closed
    assert process.wait(timeout=60) == 0
    assert b"no one, until an annotation or a rule names groups" in said
    assert read_project_file(project / "attest.yml").rules[0].keys == {"permissions": ["finance"]}


def test_a_second_init(project, attest):
    attest(project, "init", "--permissions", "everyone")
    before = {path.name: path.read_bytes() for path in project.iterdir()}
    ran = attest(project, "init", "--permissions", "nobody")
    assert ran.code == 2
    assert "attest.yml: expected no file, found one" in ran.sentence
    assert {path.name: path.read_bytes() for path in project.iterdir()} == before


def test_outside_of_a_project(attest, tmp_path):
    ran = attest(tmp_path, "init", "--permissions", "everyone")
    assert ran.code == 2
    assert "dbt_project.yml" in ran.sentence
    assert list(tmp_path.iterdir()) == []


def test_json(project, attest):
    ran = attest(project, "init", "--permissions", "nobody", "--format", "json")
    assert ran.json == {
        "project_file": str(project / "attest.yml"),
        "permissions": [],
        "packages_file": str(project / "packages.yml"),
        "packages_action": "written",
        "packages_entry": f"- local: {PACKAGE}",
    }


KEPT = {
    "plain": b"packages:\n  - package: dbt-labs/dbt_utils\n    version: 1.1.1\n",
    "no indent": b"packages:\n- package: dbt-labs/dbt_utils\n  version: 1.1.1\n",
    "comments": b"# top\npackages:  # ours\n\n  # see #12\n  - package: a/b\n    version: '1'\n  # end\n",
    "windows": b"packages:\r\n  - package: a/b\r\n    version: 1.0.0\r\n",
    "byte order mark": b"\xef\xbb\xbfpackages:\n  - package: a/b\n    version: 1.0.0\n",
    "no line end": b"packages:\n  - git: https://example.com/x.git\n    revision: main",
    "other keys": b"x: 1\npackages:\n    - package: a/b\n      version: ['>=0.8.0', '<0.9.0']\np: []\n",
    "template": b"packages:\n  - git: \"https://{{env_var('T')}}@e.com/x.git\"\n    revision: 1.0\n",
    "only comments": b"# nothing yet\n",
    "empty": b"",
}  # fmt: skip


@pytest.mark.parametrize("content", KEPT.values(), ids=KEPT)
def test_an_existing_packages_file_keeps_every_byte(project, attest, content):
    file = project / "packages.yml"
    file.write_bytes(content)
    attest(project, "init", "--permissions", "everyone")
    after = file.read_bytes()
    before_values = yaml.safe_load(content.decode("utf-8-sig")) or {}
    added = [{"local": PACKAGE}, *before_values.get("packages", [])]
    assert yaml.safe_load(after.decode("utf-8-sig")) == before_values | {"packages": added}
    entry = f"- local: {PACKAGE}".encode()
    assert b"".join(line for line in after.splitlines(True) if line.strip() != entry).startswith(content)
    assert (b"\r\n" in after) == (b"\r\n" in content)


LEFT = {
    "flow list": b"packages: [{package: a/b, version: 1.0.0}]\n",
    "empty list": b"packages: []\n",
    "flow mapping": b"{packages: [{local: x}]}\n",
    "no value": b"packages:\n",
    "not YAML": b"packages: [\n",
    "a list": b"- a\n",
}


@pytest.mark.parametrize("content", LEFT.values(), ids=LEFT)
def test_a_packages_file_that_cannot_be_added_to_is_left(project, attest, content):
    (project / "packages.yml").write_bytes(content)
    ran = attest(project, "init", "--permissions", "everyone")
    assert ran.code == 0
    assert (project / "packages.yml").read_bytes() == content
    assert f"- local: {PACKAGE}" in ran.output


@pytest.mark.parametrize(
    "entry", [f"local: {PACKAGE}", "git: https://github.com/x/dbt-attest.git", "package: x/attest"]
)
def test_a_package_that_is_there_is_not_added_again(project, attest, entry):
    content = f"packages:\n  - {entry}\n"
    (project / "packages.yml").write_text(content)
    ran = attest(project, "init", "--permissions", "everyone")
    assert (project / "packages.yml").read_text() == content
    assert "is there already" in ran.output


def test_packages_in_dependencies_yml(project, attest):
    (project / "dependencies.yml").write_text(
        "projects:\n  - name: p\npackages:\n  - package: a/b\n    version: 1.0.0\n"
    )
    attest(project, "init", "--permissions", "everyone")
    assert not (project / "packages.yml").exists()
    assert yaml.safe_load((project / "dependencies.yml").read_text())["packages"][0] == {"local": PACKAGE}


def test_dependencies_yml_without_packages_is_left(project, attest):
    (project / "dependencies.yml").write_text("projects:\n  - name: p\n")
    attest(project, "init", "--permissions", "everyone")
    assert (project / "dependencies.yml").read_text() == "projects:\n  - name: p\n"
    assert (project / "packages.yml").exists()


def test_a_package_inside_the_project_is_named_relative_to_it(project, attest, monkeypatch):
    inside = project / ".venv" / "dbt_attest" / "dbt_package"
    inside.mkdir(parents=True)
    monkeypatch.setattr(packages_file, "dbt_package_dir", lambda: inside)
    attest(project, "init", "--permissions", "everyone")
    assert (project / "packages.yml").read_text() == "packages:\n  - local: .venv/dbt_attest/dbt_package\n"


def _profile(folder, path, **output):
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {
        "dev": {"type": "duckdb", "path": path} | output,
        "ci": {"type": "duckdb", "path": "ci.duckdb"},
    }
    (folder / "profiles.yml").write_text(yaml.safe_dump({"shop": {"target": "dev", "outputs": outputs}}))


WAREHOUSES = {
    "relative": ("shop.duckdb", "shop.duckdb"),
    "in a folder": ("./data/shop.duckdb", "data/shop.duckdb"),
    "elsewhere": ("/srv/shop.duckdb", "/srv/shop.duckdb"),
    "template": ("{{ env_var('DB') }}", "evidence.duckdb"),
    "in memory": (":memory:", "evidence.duckdb"),
    "a service": ("md:shop", "evidence.duckdb"),
}


@pytest.mark.parametrize(("path", "warehouse"), WAREHOUSES.values(), ids=WAREHOUSES)
def test_the_warehouse_is_the_projects_own_file_where_profiles_yml_shows_one(
    project, attest, path, warehouse
):
    _profile(project, path)
    attest(project, "init", "--permissions", "everyone")
    assert read_project_file(project / "attest.yml").warehouse == warehouse


def test_another_adapter_gets_a_file_of_its_own(project, attest):
    _profile(project, "x.duckdb", type="snowflake")
    attest(project, "init", "--permissions", "everyone")
    assert read_project_file(project / "attest.yml").warehouse == "evidence.duckdb"


def test_profiles_are_looked_for_where_dbt_looks(project, attest, monkeypatch, tmp_path):
    _profile(tmp_path / "home" / ".dbt", "/srv/home.duckdb")
    attest(project, "init", "--permissions", "everyone")
    assert read_project_file(project / "attest.yml").warehouse == "/srv/home.duckdb"
    for folder, expected in ((project, "/srv/project.duckdb"), (tmp_path / "named", "/srv/named.duckdb")):
        _profile(folder, expected)
        if folder != project:
            monkeypatch.setenv("DBT_PROFILES_DIR", str(folder))
        (project / "attest.yml").unlink()
        attest(project, "init", "--permissions", "everyone")
        assert read_project_file(project / "attest.yml").warehouse == expected


def test_a_named_warehouse_wins(project, attest):
    _profile(project, "shop.duckdb")
    attest(project, "init", "--permissions", "everyone", "--warehouse", "mine.duckdb")
    assert read_project_file(project / "attest.yml").warehouse == "mine.duckdb"
