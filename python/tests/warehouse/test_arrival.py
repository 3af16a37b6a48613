"""Artifacts in any order of arrival: the same answers for every D and K."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

V1 = {"entity_id": "metric.b", "evidence_id": "v1", "authority": "authoritative", "permissions": ["everyone"],
      "effective_from": "2024-01-01", "definition": "first"}  # fmt: skip
V2 = V1 | {"evidence_id": "v2", "effective_from": "2024-07-01", "supersedes": ["v1"], "definition": "second"}
CORRECTED = V1 | {"definition": "first, corrected"}
OTHER = {"entity_id": "metric.c", "evidence_id": "c1", "definition": "another"}

JANUARY, FEBRUARY, MARCH, APRIL = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3, 4))

HISTORIES = {
    "removed": [(JANUARY, {"v1": V1}), (FEBRUARY, {"v1": V1, "v2": V2}), (MARCH, {"v1": V1})],
    "removed and back": [
        (JANUARY, {"v1": V1, "v2": V2}),
        (FEBRUARY, {"v1": V1}),
        (MARCH, {"v1": V1}),
        (APRIL, {"v1": V1, "v2": V2}),
    ],
    "text changed and changed back": [
        (JANUARY, {"v1": V1}),
        (FEBRUARY, {"v1": CORRECTED}),
        (MARCH, {"v1": V1}),
        (APRIL, {"v1": V1}),
    ],
    "one glimpse of a definition": [
        (JANUARY, {"v1": V1}),
        (FEBRUARY, {"v1": V1, "v2": V2}),
        (MARCH, {"v1": V1}),
        (APRIL, {"v1": CORRECTED}),
    ],
    "authority lost": [
        (JANUARY, {"v1": V1, "v2": V2}),
        (FEBRUARY, {"v1": V1, "v2": V2 | {"authority": "non_authoritative"}}),
        (MARCH, {"v1": V1, "v2": V2}),
    ],
    "nothing at all in between": [(JANUARY, {"v1": V1}), (FEBRUARY, {}), (MARCH, {"v1": V1, "c": OTHER})],
    "two of one instant": [
        (JANUARY, {"v1": V1}),
        (FEBRUARY, {"v1": CORRECTED}),
        (FEBRUARY, {"v1": V1, "v2": V2}),
        (FEBRUARY, {"v1": V1}),
    ],
}  # fmt: skip


INSTANTS = ("2025-01-10T08:59:59Z", JANUARY, FEBRUARY, "2025-03-01T00:00:00Z", MARCH, None)


def _answers(arrivals, order) -> list[tuple]:
    """For every day from before the first to after the last change, at each state of knowledge."""
    environment = arrivals.arrive(order)
    return [
        arrivals.connection.execute(
            "select * exclude (environment) from attest.definition_between('metric.b', '2023-12-01', "
            "'2025-06-30', known_at := $instant, groups := ['everyone'], environment := $environment)",
            {"instant": instant, "environment": environment},
        ).fetchall()
        for instant in INSTANTS
    ]


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_every_order_of_arrival_is_known_alike(arrivals, arrival, history):
    collections = [arrival(at, states, tag=str(number)) for number, (at, states) in enumerate(history)]
    in_order = arrivals.known(collections)
    assert in_order
    for order in permutations(collections):
        assert arrivals.known(order) == in_order, [one.at for one in order]


def test_every_order_of_arrival_answers_alike(arrivals, arrival):
    history = [
        (JANUARY, {"v1": V1, "v2": V2}),
        (FEBRUARY, {"v1": CORRECTED}),
        (MARCH, {"v1": V1, "v2": V2}),
    ]
    collections = [arrival(at, states) for at, states in history]
    in_order = _answers(arrivals, collections)
    assert len({repr(answer) for answer in in_order}) == len(INSTANTS) - 1  # March is the last that is known
    for order in permutations(collections):
        assert _answers(arrivals, order) == in_order


_SAID = st.sampled_from([None, "disabled", V1, CORRECTED, V1 | {"recorded_at": "2025-01-05T00:00:00Z"}])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_order_of_arrival_matters(arrivals, arrival, data):
    months = st.sampled_from([JANUARY, FEBRUARY, MARCH, APRIL])
    collections = []
    for number, at in enumerate(sorted(data.draw(st.lists(months, min_size=2, max_size=5)))):
        said = {name: data.draw(_SAID) for name in ("a", "b")}
        stated = {name: one | {"evidence_id": name} for name, one in said.items() if isinstance(one, dict)}
        disabled = tuple(name for name, one in said.items() if one == "disabled")
        collections.append(arrival(at, stated, disabled, tag=str(number)))
    assert arrivals.known(data.draw(st.permutations(collections))) == arrivals.known(collections)
