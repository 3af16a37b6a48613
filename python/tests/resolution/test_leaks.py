"""What a requester may not see is in no output: not in an answer, a reason, an error, a suggestion or a file.

Every field of a definition holds its evidence_id, so that a search for the ids of what a requester may not see finds
any part of it. The random worlds of the default run are the same every time; `ATTEST_LEAK_WORLDS=5000 pytest -n 2 -k
random_worlds python/tests/resolution/test_leaks.py` asks as many fresh ones.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from dbt_attest import Requester, Warehouse
from dbt_attest.resolution import lineage
from dbt_attest.resolution.attributes import ATTRIBUTES, resolve_attribute
from dbt_attest.resolution.audit_file import AuditFile
from dbt_attest.resolution.bundle import bundle
from dbt_attest.resolution.differences import differences

from . import oracle, worlds
from .oracle import Policy, Statement
from .worlds import DAYS, NAMES, REQUESTERS, SCOPES, Drawn, Recorded, draw_worlds, restricted, side_by_side

SHARDS = 2
ALL_WORLDS = int(os.environ.get("ATTEST_LEAK_WORLDS", "0"))
WORLDS_AT_ONCE = 25 if ALL_WORLDS else 150
# a group's name must be found where it is, and nowhere else
PLAIN_ANNOTATION = worlds.annotation
GROUPS = ["readers", "finance", "board", "team", "nobody", "no such"]


def group(name: str) -> str:
    return name if name == "everyone" else f"grp<{name}>"


def annotation(said: Statement) -> dict[str, Any]:
    """Everything that can be said, with the id in each place; sources are those of another definition, too."""
    name = said.evidence_id
    prefix, _, short = name.partition(".")
    if not short:  # not yet beside others
        return PLAIN_ANNOTATION(said)
    other = f"{prefix}.{short[0]}{int(short[1:]) % 5 + 1}"
    return PLAIN_ANNOTATION(said) | {
        "definition": f"{name} words",
        "title": f"{name} title",
        "owner": f"{name} owner",
        "grain": f"{name} grain",
        "approved_by": f"{name} approver",
        "date_basis": f"{name} basis",
        "corrects": f"{name} reason",
        "sources": [f"source.shop.raw.{name}", f"source.shop.raw.{other}"],
        "models": [f"model.shop.{other}"],
    }


def marked(drawn: Drawn) -> Drawn:
    """The same world with names of groups and policies that stand nowhere else."""
    return Drawn.of(
        replace(
            one,
            statements=tuple(
                replace(
                    said,
                    permissions=tuple(map(group, said.permissions)),
                    aliases=(*said.aliases, oracle.Alias(f"{said.evidence_id} alias")),
                )
                for said in one.statements
            ),
            policies=tuple(
                (group(name), Policy(tuple(map(group, policy.groups)), policy.hidden))
                for name, policy in one.policies
            ),
        )
        for one in drawn.arrivals
    )


class Restricted:
    """The strings of a world that a requester may not learn."""

    def __init__(self, drawn: Drawn, groups: list[str]) -> None:
        sight = oracle.sight_of(drawn.world, "prod", groups)
        statements = [said for one in drawn.arrivals for said in one.statements]
        seen = [said for said in statements if said.evidence_id in sight.seen]
        self.ids = {said.evidence_id for said in statements} - sight.seen
        shown = {said.entity_id for said in seen} | {alias.alias for said in seen for alias in said.aliases}
        self.entities = {said.entity_id for said in statements} - shown
        self.hidden = {
            name for name in self.entities if oracle.face_of(drawn.world, "prod", name, sight) == "unknown"
        }
        self.aliases = {alias.alias for said in statements for alias in said.aliases} - shown - self.entities
        self.groups = {group(name) for name in GROUPS} - set(groups)
        # what a visible definition says it is built from, and nothing contains (decision 0013)
        self.ends = {
            end for said in seen for key in ("models", "sources") for end in annotation(said).get(key, ())
        }

    def but_ends(self, text: str) -> Searched:
        """A text of lineage without the names of such ends."""
        # the longest first, since one name may begin with another
        for end in sorted(self.ends, key=len, reverse=True):
            text = text.replace(end, "")
        return Searched(text)

    def found_in(self, text: Searched, asked: str | None = None) -> set[str]:
        """Those in the text; the name that was asked is an echo, and a denied entity's id no secret to who names it."""
        return text.holds((self.ids | self.entities | self.aliases | self.groups) - {asked})

    def found_in_export(self, text: Searched) -> set[str]:
        """A file for all questions holds the ids of denied entities."""
        return text.holds(self.ids | self.hidden | self.aliases | self.groups)


class Searched:
    """A text of many worlds: what follows each mention of a world, since only that can be a name of its."""

    LONGEST = 40

    def __init__(self, text: str) -> None:
        self.text = text
        self.mentions: dict[str, set[str]] = defaultdict(set)
        for found in re.finditer(r"w\d+\.", text):
            self.mentions[found[0]].add(text[found.start() : found.start() + self.LONGEST])

    def holds(self, names: Iterable[str]) -> set[str]:
        return {name for name in names if self._holds(name)}

    def _holds(self, name: str) -> bool:
        world = re.match(r"w\d+\.", name)
        if world is None:
            return name in self.text
        assert len(name) <= self.LONGEST
        return any(mention.startswith(name) for mention in self.mentions[world[0]])


def everything_in(recorded: Recorded) -> str:
    """All rows of an exported file, and its resolvers, as text: in its bytes a string may be compressed."""
    tables = recorded.rows("select schema_name, table_name from duckdb_tables()")
    held = [recorded.rows(f'from "{one["schema_name"]}"."{one["table_name"]}"') for one in tables]
    held += [
        recorded.rows(f"from {listed} where not internal")
        for listed in ("duckdb_views()", "duckdb_functions()", "duckdb_tables()", "duckdb_types()")
    ]
    return repr(held)


def python_says(asked: Warehouse, name: str, requester: Requester, **question: Any) -> Iterator[str]:
    common = {key: question[key] for key in ("known_at", "scope")} | {"requester": requester}
    yield repr(asked.resolve(name, on=question["on"], support=True, explain=True, **common).as_json())
    yield repr(asked.timeline(name, **common).as_json())
    yield repr(asked.history(name, known_at=question["known_at"], requester=requester).as_json())
    yield repr(asked.changes(name, **common).as_json())
    yield repr(asked.near_names(name, requester=requester))
    yield repr(bundle(asked, name, on=question["on"], **common))
    for walk in (lineage.upstream, lineage.downstream, lineage.impact):
        yield repr(walk(asked, name, known_at=question["known_at"], requester=requester).as_json())
    days = (str(question["on"]), str(DAYS[-1]))
    yield repr(differences(asked, name, *days, **common).as_json())
    for attribute in ATTRIBUTES:
        yield repr(resolve_attribute(asked, name, attribute, on=question["on"], **common).as_json())
    audit = asked.audit
    assert audit is not None
    yield audit.path.read_text(encoding="utf-8")
    audit.path.unlink()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_worlds(shard, grid, record, export, monkeypatch, tmp_path, capsys):
    wanted = ALL_WORLDS // SHARDS or WORLDS_AT_ONCE
    seed = random.SystemRandom().randrange(10**9) if ALL_WORLDS else shard
    monkeypatch.setattr(worlds, "annotation", annotation)
    counted: Counter[str] = Counter()
    while counted["worlds"] < wanted:
        chance = random.Random(seed)
        drawn = [marked(restricted(one, chance)) for one in draw_worlds(seed, WORLDS_AT_ONCE)]
        together = side_by_side(drawn)
        recorded = record(one for apart in together for one in apart.arrivals)
        recorded.make_grid([name for apart in together for name in apart.entities])
        full = tmp_path / f"asked{counted['worlds']}.duckdb"
        recorded.copy_to(full)
        for short in chance.sample(REQUESTERS, 2):
            groups = [group(name) for name in short]
            hidden_from = [Restricted(apart, groups) for apart in together]
            exported, out = export(recorded, groups)
            told = {
                "grid": recorded.rows(grid.query(None, groups, {}, "prod")),
                "timeline": recorded.rows(
                    "from attest.definition_timeline_at(null, groups := $groups, environment := 'prod')",
                    groups=groups,
                ),
            }
            shown = {name: Searched(repr(rows)) for name, rows in told.items()}
            held = Searched(out.read_bytes().decode("latin-1") + everything_in(exported))
            for place, secrets in enumerate(hidden_from):
                where = f"seed {seed}, world {place}, groups {groups}: {together[place]!r}"
                # the grid names every entity that it is asked about
                assert not secrets.found_in(shown["grid"]) - secrets.entities, where
                assert not secrets.found_in(shown["timeline"]), where
                assert not secrets.found_in_export(held), where
                counted["secrets"] += len(secrets.ids)
            for place in chance.sample(range(len(together)), 4):
                apart, secrets = together[place], hidden_from[place]
                name = chance.choice([*apart.entities * 2, *(f"w{place}.{one}" for one in NAMES)])
                question = {
                    "known_at": chance.choice([None, *apart.instants]),
                    "scope": chance.choice(SCOPES),
                }
                day = chance.choice(DAYS)
                where = f"seed {seed}, world {place}, {name} on {day}, {question}, {groups}: {apart!r}"
                said = recorded.everything_on(name, day, groups=groups, environment="prod", **question)
                for function, rows in said.items():
                    text = secrets.but_ends(repr(rows)) if function == "support_on" else Searched(repr(rows))
                    assert not secrets.found_in(text, name), f"{function}: {where}"
                counted["questions"] += 1
            place = chance.randrange(len(together))
            if together[place].entities:
                name = chance.choice(together[place].entities)
                asked = Warehouse(full, environment="prod", audit=AuditFile(tmp_path / "audit.jsonl"))
                for text in python_says(
                    asked, name, Requester(groups), on=chance.choice(DAYS), known_at=None, scope={}
                ):
                    # a bundle names the groups that it was made for
                    secrets = hidden_from[place]
                    assert not secrets.found_in(secrets.but_ends(text), name), (
                        f"{name}: {text}\n{together[place]!r}"
                    )
        counted["worlds"] += len(together)
        seed += SHARDS
    if ALL_WORLDS:
        with capsys.disabled():
            print(f"\nleaks: {dict(counted)}, last seed {seed - SHARDS}")
    assert counted["secrets"] >= counted["worlds"]
