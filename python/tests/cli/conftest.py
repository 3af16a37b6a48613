"""The command as its user sees it: exit code, output and errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt_attest.cli.main import main


@dataclass(frozen=True)
class Ran:
    """One finished command."""

    code: int
    output: str
    errors: str

    @property
    def sentence(self) -> str:
        """The only line on standard error."""
        (line,) = self.errors.strip().splitlines()
        return line

    @property
    def json(self) -> Any:
        return json.loads(self.output)


@pytest.fixture
def attest(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `attest` with these words in a folder, in this process."""
    monkeypatch.delenv("ATTEST_GROUPS", raising=False)

    def run(folder: Path, *words: str) -> Ran:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["attest", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        output, errors = capsys.readouterr()
        return Ran(int(ended.value.code or 0), output, errors)

    return run
