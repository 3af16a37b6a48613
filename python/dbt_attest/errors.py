"""The kinds of trouble dbt-attest can be in. Each class is one kind and carries the exit code of the command.

Exit codes: 0 fine, 1 checks failed, 2 usage or input, 3 warehouse busy or damaged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar


class AttestError(Exception):
    """Anything that dbt-attest tells its user and then stops; the text is meant to be shown as it is."""

    exit_code: ClassVar[int] = 2


class InputError(AttestError):
    """Something the user gave is missing, broken or not understood: a file, an annotation, a question."""

    exit_code: ClassVar[int] = 2


class WarehouseError(AttestError):
    """The warehouse is busy, damaged, or follows another contract."""

    exit_code: ClassVar[int] = 3


@dataclass(frozen=True)
class Problem:
    """One thing in the user's files that is not understood, with the place to repair.

    `node` is a dbt unique_id (with `.column` for a column) or None for a file without nodes; `key` is the
    path inside the annotation or file, such as `versions[1].effective_from`, or empty for the whole of it;
    `suggestion` is what to do next.
    """

    file: str
    node: str | None
    key: str
    expected: str
    found: str
    suggestion: str | None = None

    def __str__(self) -> str:
        where = f"{self.file} ({self.node})" if self.node else self.file
        what = f"`{self.key}`: expected" if self.key else "expected"
        sentence = f"{where}: {what} {self.expected}, found {self.found}"
        return f"{sentence}; {self.suggestion}." if self.suggestion else f"{sentence}."


class AnnotationErrors(InputError):  # noqa: N818  (it carries several)
    """All problems of one reading, in the order of file, node and key; nothing of it is recorded."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: list[Problem] = sorted(set(problems), key=_order)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def _order(problem: Problem) -> tuple[str, ...]:
    return (
        problem.file,
        problem.node or "",
        problem.key,
        problem.expected,
        problem.found,
        problem.suggestion or "",
    )
