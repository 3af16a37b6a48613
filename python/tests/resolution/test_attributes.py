"""Who owned it in March: attributes with every place that states them, and which is believed."""

from __future__ import annotations

import pytest

from dbt_attest.resolution import Requester, open
from dbt_attest.resolution.attributes import resolve_attribute
from dbt_attest.warehouse.building import build

JANUARY, APRIL = "2025-01-10T09:00:00Z", "2025-04-10T09:00:00Z"
A = {
    "entity_id": "metric.a",
    "evidence_id": "A",
    "authority": "authoritative",
    "approved_by": "Council",
    "effective_from": "2024-01-01",
    "permissions": ["finance"],
}
FINANCE = Requester(groups=["finance"])


@pytest.fixture
def owned(world, make_manifest, make_project):
    """Records manifests of one metric with these owners in its annotation and in people's own meta."""

    def record(*states, attest_yml=None):
        for at, annotation, meta in states:
            content = make_manifest(at, {"a": A | annotation})
            metric = content["metrics"]["metric.shop.a"]
            metric["description"] = meta.pop("description", None)
            metric["config"]["meta"] |= meta
            make_project(world.folder, content, attest_yml)
            build(world.folder)
        return open(world.warehouse, environment="prod")

    return record


def ask(warehouse, attribute="owner", requester=FINANCE, **question):
    return resolve_attribute(warehouse, "metric.a", attribute, requester=requester, **question)


def claims(found):
    return [(claim.source, claim.stated_value, claim.believed) for claim in found.claims]


def test_dated_owners_and_the_places_that_disagree(owned):
    dated = [
        {"name": "Sales", "effective_to": "2025-02-28"},
        {"name": "Finance", "effective_from": "2025-03-01"},
    ]
    warehouse = owned((JANUARY, {"owner": dated}, {"data_owner": "Ann"}))
    for day, owner in (("2025-02-28", "Sales"), ("2025-03-01", "Finance")):
        found = ask(warehouse, on=day)
        assert (found.outcome, found.reason, found.value, found.value_then) == (
            "answer",
            "recorded",
            owner,
            None,
        )
        assert found.value == found.resolution.owner
        assert claims(found) == [
            ("annotation", owner, True),
            *(("annotation", one["name"], False) for one in dated if one["name"] != owner),
            ("meta", "Ann", False),
        ]
    meta = found.claims[-1]
    assert (meta.place, meta.collector, meta.source_version, meta.certified) == (
        "meta.data_owner",
        "dbt",
        "1.11.0",
        False,
    )
    assert meta.observed_at.isoformat() == "2025-01-10T09:00:00+00:00"


#: For each attribute its key in the annotation, and a place outside it.
PLACES = [
    ("owner", "owner", "meta", "owner"),
    ("grain", "grain", "meta", "grain"),
    ("description", "definition", "dbt", "description"),
]
EACH = pytest.mark.parametrize(("attribute", "key", "other", "place"), PLACES)


@EACH
def test_precedence_of_attest_yml_decides_which_is_believed(owned, attribute, key, other, place):
    for order, believed in (([other, "annotation"], "Theirs"), (["annotation", other], "Ours")):
        warehouse = owned(
            (JANUARY, {key: "Ours"}, {place: "Theirs"}),
            attest_yml=f"precedence: {{{attribute}: [{', '.join(order)}]}}",
        )
        found = ask(warehouse, attribute, on="2025-03-01")
        assert found.value == believed
        assert {one: is_believed for one, _, is_believed in claims(found)} == {
            "annotation": believed == "Ours",
            other: believed == "Theirs",
        }


@EACH
def test_precedence_holds_from_the_time_of_attest_yml_on(owned, attribute, key, other, place):
    for attest_yml in (None, f"precedence: {{{attribute}: [{other}, annotation]}}"):
        warehouse = owned((JANUARY, {key: "Ours"}, {place: "Theirs"}), attest_yml=attest_yml)
    assert ask(warehouse, attribute, on="2025-01-20", known_at="2025-01-20").value == "Ours"
    assert ask(warehouse, attribute, on="2025-01-20").value == "Theirs"


@EACH
def test_a_person_stands_for_what_the_annotation_says_and_for_nothing_else(
    owned, attribute, key, other, place
):
    found = ask(owned((JANUARY, {key: "Ours"}, {place: "Theirs"})), attribute, on="2025-03-01")
    assert {one.source: one.certified for one in found.claims} == {"annotation": True, other: False}
    assert {one.observed_at.isoformat() for one in found.claims} == {"2025-01-10T09:00:00+00:00"}
    found = ask(
        owned((APRIL, {key: "Ours", "approved_by": None}, {place: "Theirs"})), attribute, on="2025-05-01"
    )
    assert {one.certified for one in found.claims} == {False}


@EACH
def test_what_another_place_said_first_and_then_nobody_is_cleared(owned, attribute, key, other, place):
    warehouse = owned((JANUARY, {}, {place: "Theirs"}), (APRIL, {key: None}, {}))
    found = ask(warehouse, attribute, on="2025-05-01")
    assert (found.outcome, found.reason, found.claims) == ("abstain", "cleared", ())
    then = ask(warehouse, attribute, on="2025-05-01", known_at="2025-03-01")
    assert (then.value, claims(then)) == ("Theirs", [(other, "Theirs", True)])


@EACH
@pytest.mark.parametrize("annotation_alone", [False, True])
def test_a_place_that_is_not_believed_answers_nothing(owned, attribute, key, other, place, annotation_alone):
    """Null in the annotation removes the attribute, and a place that `precedence` leaves out is never believed."""
    warehouse = owned(
        (JANUARY, {} if annotation_alone else {key: None}, {place: "Theirs"}),
        attest_yml=f"precedence: {{{attribute}: [annotation]}}" if annotation_alone else None,
    )
    found = ask(warehouse, attribute, on="2025-03-01")
    assert (found.outcome, found.reason, found.value) == ("abstain", "not_stated", None)
    assert claims(found) == [(other, "Theirs", False)]


def test_who_it_was_as_known_then(owned):
    warehouse = owned((JANUARY, {"owner": "Sales"}, {}), (APRIL, {"owner": "Finance"}, {}))
    found = ask(warehouse, on="2025-03-01")
    assert (found.value, found.value_then) == ("Finance", "Sales")
    assert ask(warehouse, on="2025-03-01", known_at="2025-03-01").value == "Sales"
    assert claims(found) == [("annotation", "Finance", True)]


def test_what_was_cleared_is_told_from_what_was_never_stated(owned):
    warehouse = owned((JANUARY, {"owner": "Sales"}, {}), (APRIL, {}, {}))
    assert (ask(warehouse, on="2025-05-01").outcome, ask(warehouse, on="2025-05-01").reason) == (
        "abstain",
        "cleared",
    )
    assert ask(warehouse, "grain", on="2025-05-01").reason == "not_stated"


def test_a_grain_that_only_people_s_own_meta_states(owned):
    warehouse = owned((JANUARY, {}, {"primary_key": ["day", "shop"]}))
    found = ask(warehouse, "grain", on="2025-03-01")
    assert (found.value, claims(found)) == ("day, shop", [("meta", "day, shop", True)])


def test_who_may_not_see_the_definition_learns_nothing_of_its_claims(owned):
    warehouse = owned((JANUARY, {"owner": "Sales"}, {"owner": "Ann"}))
    found = ask(warehouse, on="2025-03-01", requester=Requester())
    assert (found.outcome, found.reason, found.value, found.claims) == ("deny", "not_permitted", None, ())


def test_the_command_tells_it_in_words_and_json(owned, attest, world):
    owned((JANUARY, {"owner": "Sales"}, {"owner": "Ann"}), (APRIL, {"owner": "Finance"}, {"owner": "Ann"}))
    words = ["resolve", "a", "--on", "2025-03-01", "--attribute", "owner", "--groups", "finance"]
    told = attest(world.folder, *words)
    assert told.code == 0
    assert told.output.splitlines()[:4] == [
        "Owner of A (metric.a) on 1 March 2025: Finance.",
        "As known when that day had ended it was Sales.",
        "",
        "  annotation  owner: Finance (believed)",
    ]
    found = attest(world.folder, *words, "--format", "json").json
    assert (found["value"], found["value_then"], found["evidence_id"]) == ("Finance", "Sales", "A")
    assert [claim["source"] for claim in found["claims"]] == ["annotation", "meta"]
    assert attest(world.folder, *words, "--support").code == 2
    assert attest(world.folder, "resolve", "nothing", "--attribute", "owner").code == 2
