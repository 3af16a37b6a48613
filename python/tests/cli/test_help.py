"""Every verb and every option says what it is for; a question imports nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from dbt_attest.cli.main import cli

VERBS = cli.list_commands(click.Context(cli))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_option_has_help(verb):
    command = cli.get_command(click.Context(cli), verb)
    assert command.help
    assert [
        option.name for option in command.params if isinstance(option, click.Option) and not option.help
    ] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_a_format_with_json_and_a_warehouse(verb):
    options = {option.name: option for option in cli.get_command(click.Context(cli), verb).params}
    assert "json" in options["output"].type.choices
    assert "warehouse" in options


def test_help_lists_the_verbs(attest, tmp_path):
    ran = attest(tmp_path, "--help")
    assert ran.code == 0
    assert [verb for verb in VERBS if f"  {verb} " not in ran.output] == []


def test_an_unknown_verb(attest, tmp_path):
    ran = attest(tmp_path, "nonsense")
    assert ran.code == 2
    assert "No such command 'nonsense'" in ran.errors


@pytest.mark.parametrize("words", [["resolve", "metric.b"], ["timeline", "metric.b"]])
def test_a_question_imports_nothing_heavy(world, words):
    world.collect(
        "2025-01-10T09:00:00Z",
        {"v1": {"entity_id": "metric.b", "permissions": ["everyone"]}},
        attest_yml="environment: prod\n",
    )
    code = (
        "import sys\n"
        "from dbt_attest.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    assert ended.code == 0, ended.code\n"
        "heavy = {'dbt', 'jsonschema', 'agate', 'rich', 'msgspec', 'dbt_attest.annotations', "
        "'dbt_attest.artifacts'}\n"
        "found = heavy & set(sys.modules)\n"
        "assert not found, found\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, *words], cwd=world.folder, check=True, stdout=subprocess.DEVNULL
    )
