"""Every case of cases/*.yml and docs/how-it-resolves.md through SQL, Python and the command.

cases/README.md says how a case is written.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner

from dbt_attest import InputError, Requester, open
from dbt_attest.cli.main import cli

CASES = sorted((Path(__file__).parent / "cases").glob("*.yml"))
EXPLAINED = Path(__file__).parents[3] / "docs" / "how-it-resolves.md"

FIXTURE_B = [
    {"at": "2023-12-15T00:00:00Z", "v1": {"effective_from": "2024-01-01"}},
    {"at": "2024-06-10T09:00:00Z", "v2": {"effective_from": "2024-07-01", "supersedes": ["v1"]}},
]
SETTINGS = {"at", "attest_yml", "environment", "project"}


class _TextLoader(yaml.SafeLoader):
    """YAML without its own dates, and with `on` as a word: what a case says reaches the product as text."""


_TextLoader.yaml_implicit_resolvers = {
    first: [
        (tag, regexp)
        for tag, regexp in resolvers
        if tag != "tag:yaml.org,2002:timestamp"
        and not (tag == "tag:yaml.org,2002:bool" and first in "oOyYnN")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _cases() -> Iterator[Any]:
    texts = [(path.stem, path.read_text(encoding="utf-8")) for path in CASES]
    blocks = re.findall(r"```yaml\n(.*?)```", EXPLAINED.read_text(encoding="utf-8"), re.DOTALL)
    for place, text in [*texts, *((EXPLAINED.stem, block) for block in blocks)]:
        for case in yaml.load(text, Loader=_TextLoader):
            yield pytest.param(case, id=f"{place}: {case['name']}")


def _build(record: Callable[..., None], case: dict[str, Any]) -> None:
    states: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for step in copy.deepcopy([*(FIXTURE_B if case.get("base") == "B" else []), *case.get("given", [])]):
        environment, project = step.get("environment", "prod"), step.get("project", "shop")
        state = states.setdefault((environment, project), {})
        for name, change in step.items():
            if name in SETTINGS:
                continue
            if change is None:
                state.pop(name)
                continue
            said = state.get(name) or {
                "entity_id": "metric.b",
                "evidence_id": name,
                "authority": "authoritative",
                "permissions": ["readers"],
                "definition": f"text of {name}",
            }
            merged = said | change
            state[name] = {
                key: value for key, value in merged.items() if value is not None or key == "permissions"
            }
        record(step["at"], state, attest_yml=step.get("attest_yml"), environment=environment, project=project)


def _through_sql(world, ask: dict[str, Any]) -> dict[str, Any]:
    function = "definition_on($entity, $on" if "on" in ask else "definition_between($entity, $first, $last"
    values = {name: ask.get(name) for name in ("entity", "known_at", "groups", "scope", "environment")}
    if "on" in ask:
        values |= {"on": ask["on"]}
    else:
        values |= dict(zip(("first", "last"), ask["between"], strict=True))
    connection = duckdb.connect(str(world.warehouse), read_only=True)
    try:
        found = connection.execute(
            f"from attest.{function}, known_at := $known_at, groups := $groups, scope := $scope, "
            "environment := $environment)",
            values,
        )
        (row,) = found.fetchall()
        result = dict(zip([column[0] for column in found.description], row, strict=True))
    finally:
        connection.close()
    return json.loads(json.dumps(result, default=lambda value: value.isoformat()))


def _through_python(world, ask: dict[str, Any]) -> dict[str, Any]:
    return (
        open(world.warehouse)
        .resolve(
            ask["entity"],
            on=ask.get("on"),
            between=ask.get("between"),
            known_at=ask.get("known_at"),
            scope=ask.get("scope"),
            environment=ask.get("environment"),
            requester=Requester(groups=ask["groups"]),
        )
        .as_json()
    )


def _through_command(world, ask: dict[str, Any]) -> dict[str, Any]:
    dates = ["--on", ask["on"]] if "on" in ask else ["--between", *ask["between"]]
    words = ["resolve", ask["entity"], *dates, "--warehouse", str(world.warehouse), "--format", "json"]
    words += ["--groups", ",".join(ask["groups"]), "--environment", ask.get("environment") or "prod"]
    words += ["--known-at", ask["known_at"]] if ask.get("known_at") else []
    for key, value in (ask.get("scope") or {}).items():
        words += ["--scope", f"{key}={value}"]
    ran = CliRunner().invoke(cli, words)
    if ran.exception and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return json.loads(ran.stdout)


def _ids(found: list[dict[str, Any]]) -> list[str]:
    return [one.get("evidence_id") or one["entity"] for one in found]


def _brief(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """The parts of a result that a case speaks of, in the case's form."""
    brief = {key: found.get(key) for key in expected}
    for key in ("candidates", "conflicts", "neighbours"):
        if key in brief:
            brief[key] = _ids(found[key])
    if "segments" in brief:
        brief["segments"] = [
            [one["from"], one["to"], one["evidence_id"] or one["reason"]] for one in found["segments"]
        ]
    return brief


@pytest.mark.parametrize("case", list(_cases()))
def test_case(world, case):
    with world.recording() as record:
        _build(record, case)
    for asked in case["ask"] if isinstance(case["ask"], list) else [case["ask"]]:
        ask = {"entity": "metric.b", "groups": ["readers"]} | asked
        if "during" in ask:
            year = ask.pop("during")
            ask["between"] = [f"{year}-01-01", f"{year}-12-31"]
        ask.setdefault("on", "2024-08-01") if "between" not in ask else None
        if "error" in case["expect"]:
            with pytest.raises(duckdb.InvalidInputException, match=case["expect"]["error"]):
                _through_sql(world, ask)
            for way in (_through_python, _through_command):
                with pytest.raises(InputError, match=f"(?i){case['expect']['error']}"):
                    way(world, ask)
            continue
        for way in (_through_sql, _through_python, _through_command):
            found = way(world, ask)
            assert _brief(found, case["expect"]) == case["expect"], f"{way.__name__} of {ask}"
