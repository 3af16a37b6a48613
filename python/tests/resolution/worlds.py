"""Small worlds: drawn by hypothesis, recorded by the real recorder, and asked through the SQL resolvers."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dbt_attest.annotations import read_project_file
from dbt_attest.artifacts import read_manifest
from dbt_attest.warehouse.collecting import collect
from dbt_attest.warehouse.files import connect
from dbt_attest.warehouse.recording import record
from dbt_attest.warehouse.rendering import macro_sql

from .oracle import FOREVER, Alias, Collection, Policy, Statement, World

DAY = timedelta(days=1)
FIRST = date(2024, 3, 1)
DAYS = [FIRST + DAY * number for number in range(-2, 13)]
SCOPES: list[dict[str, str]] = [
    {},
    {"region": "EU"},
    {"region": "US"},
    {"channel": "web"},
    {"region": "EU", "channel": "web"},
    {"region": "EU", "channel": "shop"},
]
REQUESTERS = [["readers"], ["readers", "finance", "board"], ["finance"], []]
NAMES = ["metric.a", "metric.b", "metric.c", "ARR", "turnover", "a1", "b2", "unheard of"]


@dataclass(frozen=True)
class Drawn:
    """A world and the order in which its collections arrive."""

    world: World
    arrivals: tuple[Collection, ...]

    @property
    def entities(self) -> list[str]:
        return sorted({said.entity_id for one in self.arrivals for said in one.statements})

    @property
    def instants(self) -> list[datetime]:
        """Every instant at which knowledge may change, and the moment before."""
        found = {one.instant for one in self.arrivals} | {
            said.recorded_at for one in self.arrivals for said in one.statements if said.recorded_at
        }
        return sorted(found | {one - timedelta(microseconds=1) for one in found})

    def __repr__(self) -> str:
        """As it can be pasted into a test."""
        return "Drawn.of([\n" + "".join(f"    {one!r},\n" for one in self.arrivals) + "])"

    @classmethod
    def of(cls, arrivals: Iterable[Collection]) -> Drawn:
        found = tuple(
            replace(one, artifact=hashlib.sha256(manifest_text(one).encode()).hexdigest()) for one in arrivals
        )
        return cls(World(found), found)


# Drawing


def often(usual: Any, *others: Any, times: int = 4) -> st.SearchStrategy[Any]:
    """Mostly the first, which is also what a failing world shrinks to."""
    return st.sampled_from([usual] * times + list(others))


def day(first: int, last: int) -> st.SearchStrategy[date]:
    return st.integers(first, last).map(lambda number: FIRST + DAY * number)


def instant() -> st.SearchStrategy[datetime]:
    return st.builds(
        lambda day, hour: datetime(day.year, day.month, day.day, hour, tzinfo=timezone.utc),
        day(0, 10),
        st.sampled_from([0, 9, 10]),
    )


def links(others: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    one = st.sampled_from([*others * 4, "no such"])
    return st.sampled_from([0, 1, 1, 2]).flatmap(
        lambda size: st.lists(one, min_size=size, max_size=size, unique=True).map(tuple)
    )


def aliases() -> st.SearchStrategy[tuple[Alias, ...]]:
    one = st.builds(
        Alias,
        st.sampled_from(["ARR", "turnover", "metric.a", "metric.b"]),
        st.none() | day(0, 5),
        st.none() | day(5, 9),
    )
    return st.lists(one, max_size=2, unique_by=lambda alias: alias.alias).map(tuple)


def parts(others: list[str]) -> dict[str, st.SearchStrategy[Any]]:
    """What may be said about one definition, key by key."""
    return {
        "effective_from": often(0, 1, 2, 3, 4, 5, 6, None, times=2).map(
            lambda number: None if number is None else FIRST + DAY * number
        ),
        "effective_to": often(None, 1, 2, 3, 5, 8, FOREVER, times=6).map(
            lambda number: FIRST + DAY * number if isinstance(number, int) else number
        ),
        "supersedes": links(others),
        "superseded_by": often((), None, times=3).flatmap(
            lambda none: st.just(()) if none is not None else links(others)
        ),
        "status": often("approved", "current", "superseded", "draft", "retired", "void", times=7),
        "authority": often("authoritative", "non_authoritative", "untrusted", None, times=12),
        "recorded_at": st.none() | st.none() | instant(),
        "scope": often((), (), (), (("region", "EU"),), (("region", "US"),), (("channel", "web"),),
                       (("channel", "web"), ("region", "EU")), (("region", "EU"), ("channel", "web")),
                       times=6),
        "permissions": often(("everyone",), ("readers",), ("finance",), ("board",), (), ("team",),
                             ("board", "finance"), ("no such",), times=14),
        "aliases": often((), None, times=2).flatmap(
            lambda none: st.just(()) if none is not None else aliases()
        ),
        "certified_until": st.none() | st.none() | day(2, 8),
        "text": st.sampled_from(["first", "second"]),
    }  # fmt: skip


def lawful(said: Statement, collected: datetime) -> Statement:
    """The same, where it contradicts itself changed so that it is no error."""
    if said.recorded_at is not None and said.recorded_at > collected:
        said = replace(said, recorded_at=None)
    if said.status == "retired" and said.effective_to in (None, FOREVER):
        said = replace(said, effective_to=FIRST + DAY * 6)
    if said.effective_from and said.effective_to and said.effective_from > said.effective_to:
        said = replace(said, effective_to=said.effective_from)
    return said


_POLICIES = {
    "board": often(Policy(("board",), hidden=True), Policy(("board",)), Policy(("finance",), hidden=True)),
    "team": often(Policy(("readers",)), Policy(("finance",)), Policy(("nobody",), hidden=True)),
}


@st.composite
def drawn_worlds(draw: st.DrawFn, backdating: bool = True) -> Drawn:
    """One to three entities, one to five definitions, one to five collections, arriving in any order."""
    entities = ["metric.a", "metric.a", "metric.a", "metric.a", "metric.b", "metric.c"]
    definitions: dict[str, tuple[str, str]] = {}
    for number in range(draw(st.sampled_from([4, 5, 5, 3, 2, 5, 1]))):
        entity = draw(st.sampled_from(entities))
        definitions[f"{entity[-1]}{number + 1}"] = entity, draw(often("shop", "other", times=7))
    keys = parts(list(definitions))
    if not backdating:
        keys["recorded_at"] = st.none()
    collections: list[Collection] = []
    last: dict[tuple[str, str], Statement] = {}
    policies = {name: draw(policy) for name, policy in _POLICIES.items()}
    sizes = st.sampled_from([1, 2, 3, 4, 5])
    instants = sizes.flatmap(lambda size: st.lists(instant(), min_size=size, max_size=size))
    for number, at in enumerate(sorted(draw(instants))):
        project, environment = draw(often("shop", "other", times=5)), draw(often("prod", "branch", times=6))
        statements, disabled = [], []
        for evidence_id, (entity_id, owner) in definitions.items():
            if owner != project:
                continue
            key = environment, evidence_id
            fate = draw(often("stated", "absent", "disabled", times=7))
            if fate == "disabled":
                disabled.append(evidence_id)
            if fate != "stated":
                continue
            if key not in last:
                said = Statement(evidence_id, entity_id, **{name: draw(part) for name, part in keys.items()})
            else:
                changed = draw(st.lists(st.sampled_from(list(keys)), max_size=2, unique=True))
                said = replace(last[key], **{name: draw(keys[name]) for name in changed})
            last[key] = lawful(said, at)
            statements.append(last[key])
        if draw(often(False, True)):
            policies = {name: draw(policy) for name, policy in _POLICIES.items()}
        collections.append(
            Collection(
                at, tuple(statements), environment, project, tuple(disabled), tuple(policies.items()),
                tag=str(number),
            )
        )  # fmt: skip
    return Drawn.of(draw(st.permutations(collections)))


def draw_worlds(number: int, count: int, backdating: bool = True) -> list[Drawn]:
    """As many worlds, the same ones for the same number."""
    found: list[Drawn] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn_worlds(backdating))
    def keep(drawn: Drawn) -> None:
        found.append(drawn)

    keep()
    return found


def side_by_side(worlds: Iterable[Drawn]) -> list[Drawn]:
    """Worlds that fit into one warehouse: no name of one is a name of another, and each owns its projects.

    Each begins with the same collections, which state nothing, so that none depends on whether another was collected.
    """
    return [_apart(f"w{place}.", drawn) for place, drawn in enumerate(worlds)]


def _apart(prefix: str, drawn: Drawn) -> Drawn:
    def renamed(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(prefix + name for name in names)

    def apart(said: Statement) -> Statement:
        return replace(
            said,
            evidence_id=prefix + said.evidence_id,
            entity_id=prefix + said.entity_id,
            supersedes=renamed(said.supersedes),
            superseded_by=renamed(said.superseded_by),
            aliases=tuple(replace(one, alias=prefix + one.alias) for one in said.aliases),
        )

    first = datetime(2000, 1, 1, tzinfo=timezone.utc)
    empty = [
        Collection(first, environment=environment, project="nothing") for environment in ("prod", "branch")
    ]
    return Drawn.of(
        empty
        + [
            replace(
                one,
                project=prefix + one.project,
                disabled=renamed(one.disabled),
                statements=tuple(apart(said) for said in one.statements),
            )
            for one in drawn.arrivals
        ]
    )


def restricted(drawn: Drawn, chance: random.Random) -> Drawn:
    """The same world, in which more than half of the definitions are not for everyone."""
    usual = [("everyone",)] * 3 + [("readers",)] * 2 + [("finance",), ("board",), ("board",), (), ("team",)]
    chosen: dict[str, tuple[str, ...]] = {}

    def permitted(said: Statement) -> Statement:
        if said.evidence_id not in chosen or chance.random() < 0.15:
            chosen[said.evidence_id] = chance.choice(usual)
        return replace(said, permissions=chosen[said.evidence_id])

    return Drawn.of(
        replace(one, statements=tuple(permitted(said) for said in one.statements)) for one in drawn.arrivals
    )


# Recording


def manifest_text(collection: Collection) -> str:
    metrics = {
        f"metric.{collection.project}.{said.evidence_id}": _metric(
            collection, said.evidence_id, {"meta": {"attest": annotation(said)}}
        )
        for said in collection.statements
    }
    disabled = {
        f"metric.{collection.project}.{name}": [_metric(collection, name, {})] for name in collection.disabled
    }
    nothing: dict[str, Any] = {}
    return json.dumps(
        {
            "metadata": {
                "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
                "dbt_version": "1.11.0",
                "generated_at": collection.instant.isoformat(),
                "invocation_id": collection.tag,
                "project_name": collection.project,
                "adapter_type": "duckdb",
            },
            "metrics": metrics,
            "disabled": disabled,
            **dict.fromkeys(
                ("nodes", "sources", "semantic_models", "exposures", "saved_queries", "groups", "macros"),
                nothing,
            ),
        }
    )


def _metric(collection: Collection, name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {
        "unique_id": f"metric.{collection.project}.{name}",
        "resource_type": "metric",
        "name": name,
        "package_name": collection.project,
        "original_file_path": "models/metrics.yml",
        "config": config,
    }


def annotation(said: Statement) -> dict[str, Any]:
    """As it stands in the YAML."""
    values: dict[str, Any] = {
        "entity_id": said.entity_id,
        "evidence_id": said.evidence_id,
        "status": said.status,
        "authority": said.authority,
        "effective_from": _iso(said.effective_from),
        "effective_to": _iso(said.effective_to),
        "recorded_at": _iso(said.recorded_at),
        "certified_until": _iso(said.certified_until),
        "definition": said.text or None,
        "aliases": [
            _without_none(
                {
                    "alias": one.alias,
                    "effective_from": _iso(one.effective_from),
                    "effective_to": _iso(one.effective_to),
                }
            )
            for one in said.aliases
        ]
        or None,
    }
    lists = {
        "supersedes": list(said.supersedes),
        "superseded_by": list(said.superseded_by),
        "permissions": list(said.permissions),
    }
    return _without_none(values) | lists | ({"scope": dict(said.scope)} if said.scope else {})


def _iso(value: date | None) -> str | None:
    return None if value is None else value.isoformat()


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def attest_yml(policies: Iterable[tuple[str, Policy]]) -> str:
    return json.dumps(
        {
            "policies": {
                name: {"groups": list(policy.groups)} | ({"existence": "hidden"} if policy.hidden else {})
                for name, policy in policies
            }
        }
    )


class Recorded:
    """A world in a warehouse of its own, open for questions."""

    def __init__(self, folder: Path, empty_warehouse: Path, arrivals: Iterable[Collection]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        path = folder / "evidence.duckdb"
        shutil.copyfile(empty_warehouse, path)
        self.connection = connect(path, read_only=False)
        try:
            for arrival in arrivals:
                self._record(folder, arrival)
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, path: Path) -> Recorded:
        """The warehouse in a file, to be asked."""
        opened = cls.__new__(cls)
        opened.connection = connect(path, read_only=True)
        return opened

    def copy_to(self, path: Path) -> None:
        """The same in a file that others can open."""
        self.connection.execute(f"attach '{path}' as kept; copy from database evidence to kept; detach kept")

    def _record(self, folder: Path, arrival: Collection) -> None:
        """What `attest build` does, without the copy of the file that keeps readers from waiting."""
        manifest, project_file = folder / "manifest.json", folder / "attest.yml"
        manifest.write_text(manifest_text(arrival), encoding="utf-8")
        project_file.write_text(attest_yml(arrival.policies), encoding="utf-8")
        os.utime(project_file, (arrival.instant.timestamp(),) * 2)
        collection, _ = collect(
            folder, read_manifest(manifest), read_project_file(project_file), arrival.environment
        )
        record(self.connection, "attest", collection)

    def rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        found = self.connection.execute(query, values or None)
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def make_grid(self, entities: Iterable[str]) -> None:
        """The table that `Grid` asks about: each entity on each of the days."""
        self.connection.execute(
            "create or replace temp table grid as "
            "select entity.entity_id, day.day from (select unnest($entities) as entity_id) as entity, "
            "(select unnest($days) as day) as day",
            {"entities": list(entities), "days": DAYS},
        )

    def definition_on(self, name: str, day: date, **asked: Any) -> dict[str, Any]:
        (row,) = self.rows(f"from attest.definition_on($name, $day, {_NAMED})", name=name, day=day, **asked)
        return row

    def definition_between(self, name: str, first: date, last: date, **asked: Any) -> dict[str, Any]:
        (row,) = self.rows(
            f"from attest.definition_between($name, $first, $last, {_NAMED})",
            name=name,
            first=first,
            last=last,
            **asked,
        )
        return row

    def close(self) -> None:
        self.connection.close()

    def everything_on(self, name: str, day: date, **asked: Any) -> dict[str, list[dict[str, Any]]]:
        """What every function says of a name: of a day, of all days, and of how it came to that."""
        questions = {
            "definition_on": ("$name, $day", _NAMED),
            "definition_between": ("$name, date '2024-02-01', date '2024-05-01'", _NAMED),
            "explain_on": ("$name, $day", _NAMED),
            "support_on": ("$name, $day", _NAMED),
            "definition_changes_of": ("$name", _NAMED),
            "definition_history": (
                "$name",
                "known_at := $known_at, groups := $groups, environment := $environment",
            ),
            "names_like": ("$name", "groups := $groups, environment := $environment"),
        }
        values = {"name": name, "day": day, **asked}
        return {
            function: self.rows(
                f"from attest.{function}({places}, {named})",
                **{key: value for key, value in values.items() if f"${key}" in places + named},
            )
            for function, (places, named) in questions.items()
        }


_NAMED = "known_at := $known_at, groups := $groups, scope := $scope, environment := $environment"


# The macro that answers a whole grid in one query


class Grid:
    """A macro of the package for any question, rendered once; `definitions` is that over the table `grid`."""

    KNOWN_AT = "2001-02-03T04:05:06Z"
    GROUP, ENVIRONMENT, KEY, VALUE = (
        "sentinel group",
        "sentinel environment",
        "sentinel key",
        "sentinel value",
    )

    def __init__(self, macro: str, *arguments: str, **named: str) -> None:
        scope = {self.KEY: self.VALUE}
        asked = {"known_at": self.KNOWN_AT, "groups": [self.GROUP], "scope": scope}
        self.sql = macro_sql(macro, "attest", self.ENVIRONMENT, *arguments, **named, **asked)
        self.scope = f"map {{'{self.KEY}': '{self.VALUE}'}}"
        for sentinel in (self.KNOWN_AT, f"['{self.GROUP}']", self.ENVIRONMENT, self.scope):
            assert sentinel in self.sql, f"no {sentinel} in:\n{self.sql}"

    @classmethod
    def definitions(cls) -> Grid:
        """`attest.join_definition` of a table of entities and days."""
        return cls("join_definition", "grid", "day", entity_column="entity_id")

    def query(
        self, known_at: datetime | None, groups: list[str], scope: Mapping[str, str], environment: str
    ) -> str:
        """The compiled SQL as it would be with these arguments; the table `grid` has entity_id and day."""
        instant = "null" if known_at is None else f"'{known_at.isoformat()}'"
        keys = ", ".join(f"'{key}': '{value}'" for key, value in scope.items())
        listed = ", ".join(f"'{group}'" for group in groups)
        return (
            self.sql.replace(f"'{self.KNOWN_AT}'", instant)
            .replace(f"['{self.GROUP}']", f"[{listed}]")
            .replace(self.scope, f"map {{{keys}}}")
            .replace(self.ENVIRONMENT, environment)
        )
