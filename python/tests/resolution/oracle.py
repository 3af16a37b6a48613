"""The rules of DESIGN.md, "Resolution", a second time: plain Python over small worlds, day by day.

It shares nothing with the SQL but the page it was written from, and prefers the plainest way to say a rule
to a fast one. `known_in` is the history as known at an instant (rule 2), `decide` is one day for who may
see everything (rules 3 to 6), `mask` is what a requester gets of it (rule 7), `resolve` is a whole question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from functools import cached_property
from itertools import groupby

DAY = timedelta(days=1)
FOREVER = date(9999, 12, 31)
EVERYTHING = datetime.max.replace(tzinfo=timezone.utc)

Scope = Mapping[str, str]


# What a world is made of


@dataclass(frozen=True)
class Alias:
    """Another name of an entity and the days it is one, both inclusive."""

    alias: str
    effective_from: date | None = None
    effective_to: date | None = None


@dataclass(frozen=True)
class Statement:
    """What one collection says about one definition."""

    evidence_id: str
    entity_id: str
    status: str = "approved"
    authority: str | None = "authoritative"
    effective_from: date | None = None
    effective_to: date | None = None
    recorded_at: datetime | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    scope: tuple[tuple[str, str], ...] = ()
    permissions: tuple[str, ...] = ("everyone",)
    aliases: tuple[Alias, ...] = ()
    certified_until: date | None = None
    text: str = ""


@dataclass(frozen=True)
class Policy:
    """Who may see, and whether the others may know that there is something."""

    groups: tuple[str, ...]
    hidden: bool = False


@dataclass(frozen=True)
class Collection:
    """One manifest with its attest.yml. `artifact` is the manifest's hash, which orders those of one instant.

    The dbt name of a definition is its evidence_id; `disabled` are such names. `tag` is something else in the
    manifest, so that two that state the same are two files.
    """

    instant: datetime
    statements: tuple[Statement, ...] = ()
    environment: str = "prod"
    project: str = "shop"
    disabled: tuple[str, ...] = ()
    policies: tuple[tuple[str, Policy], ...] = ()
    tag: str = ""
    artifact: str = ""


@dataclass(frozen=True)
class Result:
    """An answer. `valid_from`, `valid_to` (exclusive) and `text` are those of the governing definition."""

    outcome: str
    reason: str
    entity: str | None = None
    evidence_id: str | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    text: str | None = None
    recorded: datetime | None = None
    candidates: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()
    neighbours: frozenset[str] = frozenset()
    withheld: bool = False
    warnings: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Segment:
    """Adjacent days of equal outcome, reason and evidence, both ends inclusive."""

    first: date
    last: date
    result: Result


# The clocks, and rule 2: knowledge


@dataclass(frozen=True)
class Assertion:
    """One change of what is said about one definition, with its recorded time."""

    said: Statement
    stated: bool
    recorded: datetime
    generated: datetime


@dataclass(frozen=True)
class Known:
    """What is known about one definition at some instant: the latest assertion, and what was before it."""

    latest: Assertion
    before: tuple[Assertion, ...]

    @property
    def said(self) -> Statement:
        return self.latest.said

    @property
    def removed_on(self) -> date | None:
        return None if self.latest.stated else self.latest.generated.astimezone(timezone.utc).date()

    @property
    def was_governing(self) -> bool:
        """Whether it was, at some time until then, approved and authoritative at once."""
        return any(is_official(one.said) for one in (*self.before, self.latest))


def without_permissions(said: Statement) -> Statement:
    """What counts as a change: permissions stand beside what is said, and the last of all days is no end."""
    open_end = said.effective_to is None or said.effective_to == FOREVER
    return replace(
        said,
        permissions=(),
        effective_to=None if open_end else said.effective_to,
        scope=tuple(sorted(said.scope)),
        supersedes=tuple(sorted(said.supersedes)),
        superseded_by=tuple(sorted(said.superseded_by)),
    )


def content(said: Statement) -> Statement:
    """What a correction corrects: the edit itself is no part of it."""
    return replace(without_permissions(said), recorded_at=None)


class World:
    """Collections of several projects and environments; the order in which they arrived says nothing."""

    def __init__(self, collections: Iterable[Collection]) -> None:
        self.collections = sorted(collections, key=lambda one: (one.instant, one.artifact))

    def was_collected(self, environment: str) -> bool:
        return any(one.environment == environment for one in self.collections)

    def histories(self, environment: str) -> dict[str, list[Assertion]]:
        """Of every definition its assertions, in the order of the artifacts."""
        if environment not in self._histories:
            self._histories[environment] = {
                evidence_id: self._history(environment, evidence_id)
                for evidence_id in sorted(
                    {
                        said.evidence_id
                        for one in self.collections
                        for said in one.statements
                        if one.environment == environment
                    }
                )
            }
        return self._histories[environment]

    @cached_property
    def _histories(self) -> dict[str, dict[str, list[Assertion]]]:
        return {}

    def _collections_of(self, environment: str, evidence_id: str) -> list[Collection]:
        """The collections of the one project that owns a definition."""
        of_environment = [one for one in self.collections if one.environment == environment]
        (project,) = {
            one.project
            for one in of_environment
            if any(said.evidence_id == evidence_id for said in one.statements)
        }
        return [one for one in of_environment if one.project == project]

    def _history(self, environment: str, evidence_id: str) -> list[Assertion]:
        found: list[Assertion] = []
        for collection in self._collections_of(environment, evidence_id):
            said = next((one for one in collection.statements if one.evidence_id == evidence_id), None)
            if said is not None:
                unchanged = (
                    found
                    and found[-1].stated
                    and (without_permissions(found[-1].said) == without_permissions(said))
                )
                if not unchanged:
                    recorded = self._recorded(said, collection, found)
                    found.append(Assertion(said, True, recorded, collection.instant))
            elif found and found[-1].stated and evidence_id not in collection.disabled:
                found.append(Assertion(found[-1].said, False, collection.instant, collection.instant))
        return found

    @staticmethod
    def _recorded(said: Statement, collection: Collection, before: list[Assertion]) -> datetime:
        """The declared instant, if it lies after the predecessor's and not after the artifact's own."""
        declared = said.recorded_at
        if declared is None or declared > collection.instant:
            return collection.instant
        if before and declared <= before[-1].recorded:
            return collection.instant
        return declared

    def permission(self, environment: str, evidence_id: str) -> tuple[frozenset[str], bool]:
        """Today's: which groups may see a definition, and whether it is hidden from the others."""
        collections = self._collections_of(environment, evidence_id)
        policies = dict(collections[-1].policies)
        (*_, said) = (
            said for one in collections for said in one.statements if said.evidence_id == evidence_id
        )
        named = [policies.get(name, Policy((name,))) for name in said.permissions]
        return frozenset(group for policy in named for group in policy.groups), any(
            policy.hidden for policy in named
        )


def known_in(world: World, environment: str, known_at: datetime) -> dict[str, Known]:
    """Rule 2: of each evidence_id, the latest assertion with recorded time ≤ K."""
    found = {}
    for evidence_id, assertions in world.histories(environment).items():
        until = [one for one in assertions if one.recorded <= known_at]
        if until:
            found[evidence_id] = Known(until[-1], tuple(until[:-1]))
    return found


# Rule 3: standing


def is_approved(said: Statement) -> bool:
    return said.status not in ("draft", "void")


def is_official(said: Statement) -> bool:
    return is_approved(said) and said.authority == "authoritative"


def has_standing(said: Statement) -> bool:
    return is_official(said) and said.effective_from is not None


def own_end(said: Statement) -> date:
    """The first day after it, by its own words."""
    if said.effective_to is None or said.effective_to == FOREVER:
        return date.max
    return said.effective_to + DAY


# Rule 4: supersession


def counting_links(known: Mapping[str, Known]) -> set[tuple[str, str]]:
    """Pairs (S, P): S supersedes P, said by one that was approved and authoritative and is no draft now.

    An id that nothing known bears passes links on like any other middle, or a draft of that name would change
    an answer by being recorded.
    """
    found = set()
    for declarer, one in known.items():
        if one.was_governing and one.said.status != "draft":
            found |= {(declarer, other) for other in one.said.supersedes}
            found |= {(other, declarer) for other in one.said.superseded_by}
    return found


def successors(evidence_id: str, links: set[tuple[str, str]]) -> set[str]:
    """Everything that supersedes it over any number of counting links, whatever stands between."""
    found: set[str] = set()
    todo = {evidence_id}
    while todo:
        more = {later for later, earlier in links if earlier in todo} - found
        found |= more
        todo = more
    return found - {evidence_id}


def fits(later: Statement, earlier: Statement) -> bool:
    """Every key of the later one's scope stands in the earlier one's with the same value."""
    return set(later.scope) <= set(earlier.scope)


@dataclass(frozen=True)
class Stretch:
    """A definition with standing and what is left of its days.

    `enders` are those that set its end; `successor_undated`: one that claims to supersede it cannot.
    """

    evidence_id: str
    known: Known
    first: date
    end: date
    enders: frozenset[str]
    successor_undated: bool
    in_cycle: bool

    @property
    def said(self) -> Statement:
        return self.known.said

    def holds_on(self, day: date) -> bool:
        return self.first <= day < self.end


@dataclass(frozen=True)
class State:
    """Everything known in an environment at an instant, and what follows from it for no day in particular."""

    world: World
    environment: str
    known_at: datetime
    known: dict[str, Known] = field(repr=False)
    stretches: dict[str, Stretch] = field(repr=False)

    def of(self, entity_id: str) -> dict[str, Known]:
        return {name: one for name, one in self.known.items() if one.said.entity_id == entity_id}


def state_at(world: World, environment: str, known_at: datetime) -> State:
    known = known_in(world, environment, known_at)
    links = counting_links(known)

    def can_end(later: str, earlier: str) -> bool:
        """Whether it ends the other, should it have a first day: loss of authority leaves the end it set."""
        one = known[later]
        return (
            later in successors(earlier, links)
            and is_approved(one.said)
            and one.was_governing
            and fits(one.said, known[earlier].said)
        )

    def ends(later: str, earlier: str) -> bool:
        return known[later].said.effective_from is not None and can_end(later, earlier)

    stretches = {}
    for evidence_id, one in known.items():
        if not has_standing(one.said) or one.said.effective_from is None:
            continue
        all_enders = {other for other in known if other != evidence_id and ends(other, evidence_id)}
        circle = {other for other in all_enders if ends(evidence_id, other)}
        starts = {other: known[other].said.effective_from or date.max for other in all_enders - circle}
        end = min([own_end(one.said), one.removed_on or date.max, *starts.values()])
        stretches[evidence_id] = Stretch(
            evidence_id,
            one,
            one.said.effective_from,
            end,
            frozenset(other for other, start in starts.items() if start == end),
            any(
                other != evidence_id
                and (other, evidence_id) in links
                and known[other].said.effective_from is None
                and can_end(other, evidence_id)
                for other in known
            ),
            bool(circle),
        )
    return State(world, environment, known_at, known, stretches)


# Rule 5: scope


def applies(said: Statement, scope: Scope) -> bool:
    """The request contradicts none of its keys."""
    return all(scope.get(key, value) == value for key, value in said.scope)


def matches_fully(said: Statement, scope: Scope) -> bool:
    return all(scope.get(key) == value for key, value in said.scope)


# Rules 4 to 6: what the steward gets for one day


@dataclass(frozen=True)
class Decision:
    """One day for who may see everything: the parties are those that decide it."""

    outcome: str
    reason: str
    parties: frozenset[str] = frozenset()


def decide(state: State, entity_id: str, day: date, scope: Scope) -> Decision:
    in_force = [
        one
        for one in state.stretches.values()
        if one.said.entity_id == entity_id and applies(one.said, scope) and one.holds_on(day)
    ]
    # a removed definition yields to any still stated
    in_force = [one for one in in_force if one.known.latest.stated] or in_force
    if not in_force:
        return Decision("abstain", "uncovered")
    circle = names(one for one in in_force if one.in_cycle)
    if circle:
        return Decision("review", "integrity", circle)
    if not all(matches_fully(one.said, scope) for one in in_force):
        return Decision("clarify", "scope_needed", names(in_force))
    widest = [
        one for one in in_force if not any(set(one.said.scope) < set(other.said.scope) for other in in_force)
    ]
    if len(widest) == 1:
        return Decision("answer", "in_force", names(widest))
    conflict = (
        "authority_conflict" if len({set_of(one.said.scope) for one in widest}) == 1 else "scope_conflict"
    )
    return Decision("review", conflict, names(widest))


def names(stretches: Iterable[Stretch]) -> frozenset[str]:
    return frozenset(one.evidence_id for one in stretches)


def set_of(scope: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    return frozenset(scope)


def why_none(  # noqa: PLR0911
    state: State, entity_id: str, day: date, scope: Scope, seen: set[str]
) -> str:
    """The first reason that matches, from what may be seen; ends stay as others set them."""
    known = {name: one.said for name, one in state.of(entity_id).items() if name in seen}
    if not known:
        return "not_recorded_yet"
    official = {name: said for name, said in known.items() if is_official(said)}
    here = {name: said for name, said in official.items() if applies(said, scope)}
    if not here:
        if official:
            return "out_of_scope"
        statuses = {said.status for said in known.values() if said.authority == "authoritative"}
        if not statuses:
            return "no_authority"
        return "draft_only" if "draft" in statuses else "void"
    stretches = [state.stretches[name] for name, said in here.items() if said.effective_from is not None]
    if not stretches:
        return "no_effective_dates"
    held = [one for one in stretches if one.first < one.end]
    if held and day < min(one.first for one in held):
        return "before_first"
    # what is wholly ended was never in force: where nothing else was either, it says why on every day
    reached = [one for one in held if one.end <= day] if held else stretches
    last = [one for one in reached if one.end == max(other.end for other in reached)]
    for reason in ("retired", "removed", "superseded_elsewhere", "no_authority"):
        if any(reason in reasons_of_end(state, one, seen) for one in last):
            return reason
    return "gap" if any(one.first > day for one in held) else "expired"


def reasons_of_end(state: State, one: Stretch, seen: set[str]) -> set[str]:
    """What may be said about why it ended when it did."""
    found = set()
    if one.said.status == "retired" and own_end(one.said) == one.end:
        found.add("retired")
    if one.known.removed_on == one.end:
        found.add("removed")
    for ender in one.enders & seen:
        said = state.known[ender].said
        if said.entity_id != one.said.entity_id:
            found.add("superseded_elsewhere")
        if said.authority != "authoritative":
            found.add("no_authority")
    return found


def neighbours(state: State, entity_id: str, day: date, scope: Scope, seen: set[str]) -> frozenset[str]:
    """The stretches that may be seen just before and just after an uncovered day."""
    held = [
        one
        for one in state.stretches.values()
        if one.said.entity_id == entity_id
        and one.evidence_id in seen
        and applies(one.said, scope)
        and one.first < one.end
    ]
    before = max((one.end for one in held if one.end <= day), default=None)
    after = min((one.first for one in held if one.first > day), default=None)
    return names(one for one in held if one.end == before or one.first == after)


# Rule 7: permission, as a mask


@dataclass(frozen=True)
class Sight:
    """What a requester may see of an environment, by today's permissions, and what is hidden."""

    seen: set[str]
    hidden: set[str]


def sight_of(world: World, environment: str, groups: Iterable[str]) -> Sight:
    own = {*groups, "everyone"}
    sight = Sight(set(), set())
    for evidence_id in world.histories(environment):
        allowed, hidden = world.permission(environment, evidence_id)
        if allowed & own:
            sight.seen.add(evidence_id)
        elif hidden:
            sight.hidden.add(evidence_id)
    return sight


def definitions_ever(world: World, environment: str, entity_id: str) -> set[str]:
    return {
        evidence_id
        for evidence_id, assertions in world.histories(environment).items()
        if any(one.said.entity_id == entity_id for one in assertions)
    }


def face_of(world: World, environment: str, entity_id: str, sight: Sight) -> str:
    """Of an entity as a whole: seen, denied or unknown."""
    ever = definitions_ever(world, environment, entity_id)
    if ever & sight.seen:
        return "seen"
    return "denied" if ever - sight.hidden else "unknown"


def mask(state: State, entity_id: str, day: date, scope: Scope, sight: Sight) -> Result:
    """One day of an entity of which something may be seen."""
    decision = decide(state, entity_id, day, scope)
    visible = decision.parties & sight.seen
    withheld = bool(decision.parties - sight.seen - sight.hidden)
    beside = conflicts(state, entity_id, sight)
    if decision.outcome == "answer":
        (winner,) = decision.parties
        if visible:
            return answered(state, entity_id, day, scope, sight, winner)
        if withheld:
            return Result("deny", "not_permitted", entity_id)
    elif visible or withheld:
        return Result(
            decision.outcome,
            decision.reason,
            entity_id,
            candidates=visible,
            conflicts=beside,
            withheld=withheld,
        )
    return Result(
        "abstain",
        why_none(state, entity_id, day, scope, sight.seen),
        entity_id,
        conflicts=beside,
        neighbours=neighbours(state, entity_id, day, scope, sight.seen),
    )


# Rule 8: conflicts


def conflicts(state: State, entity_id: str, sight: Sight) -> frozenset[str]:
    return frozenset(
        name
        for name, one in state.of(entity_id).items()
        if name in sight.seen
        and one.said.status != "void"
        and (one.said.status == "draft" or one.said.authority != "authoritative")
    )


# Rule 11: warnings


def answered(state: State, entity_id: str, day: date, scope: Scope, sight: Sight, winner: str) -> Result:
    stretch = state.stretches[winner]
    latest, said = stretch.known.latest, stretch.said
    warnings = {
        "removed": not latest.stated,
        "backdated": latest.stated and latest.recorded < latest.generated,
        "successor_undated": stretch.successor_undated,
        "certification_expired": said.certified_until is not None and said.certified_until < day,
        "same_instant": same_instant(state, winner),
    }
    end_of_day = datetime.combine(day + DAY, datetime.min.time(), timezone.utc) - timedelta(microseconds=1)
    if end_of_day < state.known_at:
        then = state_at(state.world, state.environment, end_of_day)
        decision = decide(then, entity_id, day, scope)
        if decision.outcome == "answer":
            (other,) = decision.parties
            # that something hidden governed then is not told
            warnings["retroactive"] = other != winner and other not in sight.hidden
            warnings["corrected"] = other == winner and content(then.known[other].said) != content(said)
    return Result(
        "answer",
        "in_force",
        entity_id,
        winner,
        stretch.first,
        None if stretch.end == date.max else stretch.end,
        said.text,
        latest.recorded,
        conflicts=conflicts(state, entity_id, sight),
        warnings=frozenset(name for name, holds in warnings.items() if holds),
    )


def same_instant(state: State, evidence_id: str) -> bool:
    """Whether another artifact of the same instant, ordered before it by its hash, said something else."""
    known = state.known[evidence_id]
    return any(one.generated == known.latest.generated for one in known.before)


# Rule 1: the entity


def named(state: State, name: str, day: date, sight: Sight) -> set[str]:
    """The entities that a name may mean on a day; what a requester may not know of matches nothing."""
    world, environment = state.world, state.environment
    faces = {
        said.entity_id: face_of(world, environment, said.entity_id, sight)
        for assertions in world.histories(environment).values()
        for said in (one.said for one in assertions)
    }
    exact = {name} if faces.get(name, "unknown") != "unknown" else set()
    visible = [one.said for evidence_id, one in state.known.items() if evidence_id in sight.seen]
    official = [said for said in visible if is_official(said)]
    if exact and any(one.latest.stated for one in state.of(name).values()):
        return exact
    return (
        {said.entity_id for said in official if bears(said, name, day)}
        or {said.entity_id for said in official if said.evidence_id == name}
        or exact
        or only({said.entity_id for said in visible if said.evidence_id == name})
    )


def bears(said: Statement, name: str, day: date) -> bool:
    return any(
        one.alias == name and (one.effective_from or date.min) <= day <= (one.effective_to or date.max)
        for one in said.aliases
    )


def only(found: set[str]) -> set[str]:
    return found if len(found) == 1 else set()


# Whole questions


def resolve(
    world: World,
    name: str,
    day: date,
    known_at: datetime = EVERYTHING,
    groups: Iterable[str] = (),
    scope: Scope | None = None,
    environment: str = "prod",
) -> Result:
    """One name on one day."""
    return answer(state_at(world, environment, known_at), name, day, groups, scope or {})


def answer(state: State, name: str, day: date, groups: Iterable[str], scope: Scope) -> Result:
    if not state.world.was_collected(state.environment):
        return Result("abstain", "nothing_collected")
    sight = sight_of(state.world, state.environment, groups)
    entities = named(state, name, day, sight)
    if not entities:
        return Result("abstain", "unknown_entity")
    if len(entities) > 1:
        return Result("clarify", "ambiguous_name", candidates=frozenset(entities))
    (entity_id,) = entities
    return of_entity(state, entity_id, day, groups, scope)


def of_entity(state: State, entity_id: str, day: date, groups: Iterable[str], scope: Scope) -> Result:
    """One entity, by its id and nothing else."""
    if not state.world.was_collected(state.environment):
        return Result("abstain", "nothing_collected")
    sight = sight_of(state.world, state.environment, groups)
    face = face_of(state.world, state.environment, entity_id, sight)
    if face == "unknown":
        return Result("abstain", "unknown_entity")
    if face == "denied":
        return Result("deny", "not_permitted", entity_id)
    return mask(state, entity_id, day, scope, sight)


def between(
    state: State, name: str, first: date, last: date, groups: Iterable[str], scope: Scope
) -> tuple[str, list[Segment]]:
    """Rule 9: a period, day by day; its outcome and its segments."""
    days = [first + DAY * number for number in range((last - first).days + 1)]
    answers = [(day, answer(state, name, day, groups, scope)) for day in days]
    segments = []
    for _, run in groupby(answers, key=lambda one: (one[1].outcome, one[1].reason, one[1].evidence_id)):
        members = list(run)
        segments.append(Segment(members[0][0], members[-1][0], members[0][1]))
    outcomes = {one.result.outcome for one in segments}
    if len(segments) > 1 and "answer" in outcomes:
        return "split", segments
    return next(
        one for one in ("answer", "review", "deny", "clarify", "abstain") if one in outcomes
    ), segments
