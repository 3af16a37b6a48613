"""What a group may see, through what, and since when: what a person looks at before an assistant goes live."""

from __future__ import annotations

import os
from datetime import datetime

import pytest

from dbt_attest import InputError, Requester, open
from dbt_attest.resolution.who_sees import who_sees

JANUARY, FEBRUARY, MARCH = (f"2025-0{month}-10T09:00:00Z" for month in (1, 2, 3))
SAID = {"authority": "authoritative", "effective_from": "2024-01-01"}
YML = {
    JANUARY: "rules: [{path: '**', permissions: [team]}]\npolicies: {team: {groups: [finance]}}\n",
    MARCH: "rules: [{path: '**', permissions: [team]}]\n"
    "policies: {team: {groups: [finance, sales]}, board: {groups: [board], existence: hidden}}\n",
}


def _definition(name, *permissions, **more):
    permitted = {"permissions": list(permissions)} if permissions else {}
    return {
        name: SAID
        | {"entity_id": f"metric.{name}", "evidence_id": f"{name}.v1", "title": name}
        | permitted
        | more
    }


@pytest.fixture(scope="module")
def reviewed(world_in, tmp_path_factory):
    world = world_in(tmp_path_factory.mktemp("reviewed"))
    old = (
        _definition("named", "sales")
        | _definition("revoked", "sales")
        | _definition("ruled")
        | _definition("gone", "sales")
    )
    closed = _definition("named", "finance") | _definition("revoked", "sales")
    states = {
        JANUARY: old,
        FEBRUARY: _definition("ruled") | closed,
        MARCH: _definition("named", "finance", "sales") | _definition("revoked", "finance") | _definition("ruled")
        | _definition("open", "everyone") | _definition("hidden", "board"),
    }  # fmt: skip
    for at, said in states.items():
        text = YML.get(at, YML[JANUARY])
        (world.folder / "attest.yml").write_text(text)
        os.utime(
            world.folder / "attest.yml", (datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp(),) * 2
        )
        world.collect(at, said)
    return open(world.warehouse)


def _told(reviewed, group, **asked):
    return {
        one.entity_id.removeprefix("metric."): (
            one.through,
            one.policies,
            one.rule,
            f"{one.since:%B}",
            one.stated,
        )
        for one in who_sees(reviewed, group, **asked)
    }


def test_through_what_and_since_when(reviewed):
    assert _told(reviewed, "sales") == {
        "gone": (["sales"], [], "annotation", "January", False),
        "named": (["sales"], [], "annotation", "March", True),
        "open": (["everyone"], [], "annotation", "March", True),
        "ruled": (["team"], ["team"], "attest.yml rule 1", "March", True),
    }
    assert _told(reviewed, "finance")["ruled"] == (["team"], ["team"], "attest.yml rule 1", "January", True)
    assert set(_told(reviewed, "board")) == {"hidden", "open"}
    assert set(_told(reviewed, "nobody")) == {"open"}


def test_what_is_new(reviewed):
    new = {"named", "open", "ruled"}
    for since in ("2025-02-01", "2025-03-10T09:00:00Z", datetime(2025, 2, 1), datetime(2025, 2, 1).date()):
        assert set(_told(reviewed, "sales", since=since)) == new
    assert _told(reviewed, "sales", since="2025-03-11") == {}
    with pytest.raises(InputError, match="Expected since as a date"):
        who_sees(reviewed, "sales", since="last week")


def test_it_is_what_the_resolvers_permit(reviewed):
    for group in ("sales", "board"):
        permitted = {
            name
            for name in ("gone", "named", "revoked", "ruled", "open", "hidden")
            if reviewed.resolve(f"metric.{name}", on="2024-06-01", requester=Requester([group])).outcome
            == "answer"
        }
        assert set(_told(reviewed, group)) == permitted


def test_the_command_says_the_same(reviewed, attest):
    asked = ("check", "--who-sees", "sales", "--since", "2025-02-01", "--warehouse", str(reviewed.path))
    ran = attest(reviewed.path.parent, *asked, "--format", "json")
    assert (ran.code, [one["evidence_id"] for one in ran.json["sees"]]) == (
        0,
        ["named.v1", "open.v1", "ruled.v1"],
    )
    told = attest(reviewed.path.parent, *asked).output
    assert "through team (attest.yml rule 1), since 2025-03-10" in told
    assert [line for line in told.splitlines() if line != line.rstrip()] == []
    assert attest(reviewed.path.parent, "check", "--since", "2025-02-01").code == 2
