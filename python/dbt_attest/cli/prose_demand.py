"""What was asked and not answered, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbt_attest.cli.terminal import safe

if TYPE_CHECKING:
    from dbt_attest.resolution.demand import Demand, Unanswered

_MOST = 10
_MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")


def text(demand: Demand) -> Iterator[str]:
    """For people: the outcomes and reasons with their entities, most asked first."""
    if demand.unanswered:
        yield from ("", f"What was asked and not answered ({demand.file}):")
    for one in demand.unanswered[:_MOST]:
        yield f"  {one.questions:5}  {one.outcome}: {one.reason}  {safe(_what(one))}"
    yield from (f"  {sentence}" for sentence in _more(demand))


def markdown(demand: Demand) -> Iterator[str]:
    """The same as a table."""
    if demand.unanswered:
        yield from ("", "| questions | outcome | reason | what |", "|---|---|---|---|")
    for one in demand.unanswered[:_MOST]:
        yield f"| {one.questions} | {one.outcome} | {plain_cell(one.reason)} | {plain_cell(_what(one))} |"
    for sentence in _more(demand):
        yield from ("", sentence)


def questions_text(count: int) -> str:
    """A number of questions that got no answer."""
    return f"{count} {'question' if count == 1 else 'questions'} without an answer"


def plain_cell(value: str) -> str:
    """A text as the cell of a table, without any markup of its own, and addressing nobody."""
    return _MARKUP.sub(r"\\\1", safe(" ".join(value.split()))).replace("@", "&#64;")


def _what(one: Unanswered) -> str:
    return f"{one.asked}, which names no one entity" if one.entity is None else one.entity


def _more(demand: Demand) -> Iterator[str]:
    more = len(demand.unanswered) - _MOST
    if more > 0:
        yield f"and {more} more; --format json lists all"
    if demand.passed_over:
        yield f"lines that are no questions, passed over: {demand.passed_over}"
