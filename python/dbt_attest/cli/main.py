"""The command: finds its verbs, and turns trouble into one sentence and an exit code.

Exit codes: 0 fine, 1 checks failed, 2 usage or input, 3 warehouse busy or damaged.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from dbt_attest import __version__
from dbt_attest.cli.terminal import safe
from dbt_attest.errors import AttestError

# lists of problems, and what dbt says
_OF_SENTENCES = "\n\t"

_VERBS = {
    "init": "Write attest.yml and the packages.yml entry.",
    "build": "Read a target folder and record it in the evidence warehouse.",
    "status": "What the warehouse holds, and whether something needs a person.",
    "resolve": "Which definition was in force, who says so, and may you see it?",
    "timeline": "What was in force over time, or what was asserted when.",
    "lineage": "What a node stands on, and what stands on it.",
    "check": "What is to be repaired, on a warehouse or in a pull request.",
    "annotate": "YAML and sheets to write annotations with.",
    "export": "The answers of all days as a file, or a warehouse for some groups.",
    "verify": "Whether the warehouse is what its archive says.",
}


class _Verbs(click.Group):
    """Imports a verb only when it is called, so that a question imports nothing that a build needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _VERBS:
            return None
        command: click.Command = import_module(f"dbt_attest.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="attest")
def cli() -> None:
    """Which definition was in force on a date, who says so, what it was built from, and may I see it?"""


def main() -> None:
    """Run the command and exit with its code."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except AttestError as error:
        # it may quote a file
        click.echo(f"attest: {safe(str(error), keep=_OF_SENTENCES)}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # the reader of our output went away, as in `attest status | head -1`
        sys.stderr.close()
        sys.exit(0)
    except RuntimeError as error:
        # what becomes of KeyboardInterrupt while DuckDB works
        if str(error) != "Query interrupted":
            raise
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
