"""What was asked and not answered, in `attest check`: counted, and first to be repaired."""

from __future__ import annotations

import json

import pytest

EVERYONE = ["everyone"]
GOOD = {
    "authority": "authoritative", "approved_by": "Council", "effective_from": "2024-01-01", "owner": "Finance",
    "grain": "one value a day", "definition": "What it is.", "permissions": EVERYONE,
}  # fmt: skip
# of one kind each, and by their names in the other order
STATES = {
    "a": GOOD | {"entity_id": "metric.a", "evidence_id": "A", "effective_to": "2024-06-30"},
    "b": GOOD
    | {"entity_id": "metric.b", "evidence_id": "B", "effective_to": "2024-06-30", "aliases": ["sales"]},
    "c": GOOD | {"entity_id": "metric.c", "evidence_id": "C", "permissions": ["board"]},
    "h": GOOD | {"entity_id": "metric.h", "evidence_id": "H", "permissions": ["secret"]},
}
ATTEST_YML = "audit: audit.jsonl\npolicies: {secret: {groups: [secret], existence: hidden}}\n"


@pytest.fixture(scope="module")
def asked(world_in, tmp_path_factory):
    """A warehouse of which questions were asked; its folder."""
    world = world_in(tmp_path_factory.mktemp("asked"))
    world.collect("2025-02-10T09:00:00Z", STATES, attest_yml=ATTEST_YML)
    return world.folder


@pytest.fixture
def ask(attest, asked):
    def ask_again(*names):
        (asked / "audit.jsonl").unlink(missing_ok=True)
        for name in names:
            attest(asked, "resolve", name, "--on", "2025-01-01", "--groups", "readers")

    return ask_again


def unanswered(ran):
    keys = ("outcome", "reason", "entity", "asked", "questions")
    return [tuple(one[key] for key in keys) for one in ran.json["demand"]["unanswered"]]


def test_non_answers_are_counted_by_entity_whatever_it_was_called(attest, asked, ask):
    ask("sales", "metric.b", "metric.b", "metric.c", "turnover", "turnover")
    ran = attest(asked, "check", "--format", "json")
    assert unanswered(ran) == [
        ("abstain", "expired", "metric.b", "metric.b", 3),
        ("abstain", "unknown_entity", None, "turnover", 2),
        ("deny", "not_permitted", "metric.c", "metric.c", 1),
    ]
    expired = [gap for gap in ran.json["gaps"] if gap["kind"] == "version_expired"]
    assert [(gap["evidence_id"], gap["questions"]) for gap in expired] == [("B", 3), ("A", 0)]


def test_without_questions_the_order_is_that_of_names(attest, asked, ask):
    ask()
    ran = attest(asked, "check", "--format", "json")
    assert [gap["evidence_id"] for gap in ran.json["gaps"]] == ["A", "B"]
    assert ran.json["demand"] == {"file": None, "unanswered": [], "lines_passed_over": 0}


def test_it_is_told_in_words_and_what_is_hidden_only_here(attest, asked, ask):
    ask("metric.h", "metric.b")
    said = attest(asked, "check").output
    assert "asked     1 question without an answer" in said
    assert "1  abstain: unknown_entity  metric.h" in said
    assert (
        "| 1 | abstain | unknown\\_entity | metric.h |"
        in attest(asked, "check", "--format", "markdown").output
    )
    assert "metric.h" not in attest(asked, "resolve", "metrich", "--groups", "readers").errors


def test_repairs_are_for_what_people_ask(attest, asked, ask):
    ask()
    before = attest(asked, "check", "--ready-for", "**", "--format", "json").json["repairs"]
    ask("metric.b")
    after = attest(asked, "check", "--ready-for", "metric.a,metric.b,metric.c", "--format", "json").json[
        "repairs"
    ]
    assert [one["questions"] for one in before] == [0] * len(before)
    assert "metric.b" in after[0]["entities"]
    assert after[0]["questions"] == 1


def test_a_file_of_questions_for_a_target_folder(attest, asked, ask):
    ask()
    question = {"question": {"asked": ["metric.b"]}, "outcome": "abstain", "reason": "expired"}
    lines = [
        question,
        question | {"environment": "dev"},
        question | {"outcome": "answer"},
        question | {"question": {"verb": "lineage up", "asked": ["metric.b"]}},
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines) + '{"outcome": \n'
    (asked / "questions.jsonl").write_text(text, encoding="utf-8")
    (asked / "questions.jsonl.1").write_text(json.dumps(question), encoding="utf-8")
    ran = attest(asked, "check", "--target-dir", "target", "--demand", "questions.jsonl", "--format", "json")
    assert unanswered(ran) == [("abstain", "expired", "metric.b", "metric.b", 2)]
    assert ran.json["demand"]["lines_passed_over"] == 1


def test_questions_that_nobody_asked_yet_are_put_to_the_warehouse(attest, asked, ask):
    ask()
    of_board = {"question": {"asked": ["metric.c"], "on": "2025-01-01"}, "requester": {"groups": ["board"]}}
    lines = [
        of_board,
        {"question": of_board["question"]},
        {"question": {"asked": ["sales"], "on": "2025-01-01"}},
        {"question": {"asked": ["sales"], "on": "once"}},
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (asked / "planned.jsonl").write_text(text, encoding="utf-8")
    ran = attest(asked, "check", "--demand", "planned.jsonl", "--format", "json")
    assert unanswered(ran) == [
        ("deny", "not_permitted", "metric.c", "metric.c", 1),
        ("abstain", "expired", "metric.b", "sales", 1),
    ]
    assert ran.json["demand"]["lines_passed_over"] == 1
    assert not (asked / "audit.jsonl").exists()


def test_a_file_that_is_not_there_is_a_sentence(attest, asked):
    ran = attest(asked, "check", "--demand", "nowhere.jsonl")
    assert ran.code == 2
    assert "nowhere.jsonl: expected questions" in ran.sentence


def test_a_dbt_name_is_that_of_what_governs(attest, world):
    used = {"entity_id": "model.orders", "evidence_id": "M", "authority": "non_authoritative"}
    governing = GOOD | {"entity_id": "metric.orders", "evidence_id": "O"}
    world.collect("2025-02-10T09:00:00Z", {"x:orders": governing, "y:orders": used})
    questions = world.folder / "asked.jsonl"
    questions.write_text('{"question": {"asked": ["orders"]}, "outcome": "abstain"}\n', encoding="utf-8")
    ran = attest(world.folder, "check", "--demand", str(questions), "--format", "json")
    assert unanswered(ran) == [("abstain", "", "metric.orders", "orders", 1)]
