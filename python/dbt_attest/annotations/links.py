"""Links between definitions: who follows whom, and the models and sources a definition rests on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from typing import Any

from dbt_attest.annotations import values
from dbt_attest.annotations.dbt_names import DbtNames
from dbt_attest.annotations.definition import Definition, hashed
from dbt_attest.annotations.drafting import Draft
from dbt_attest.artifacts import LogicHashes, Manifest, Node

_NEVER_APPROVED = frozenset({"draft", "void"})


def linked(drafts: list[Draft], manifest: Manifest) -> list[Definition]:
    """The definitions with their links as evidence_ids and unique_ids, and with their hashes."""
    names = DbtNames(manifest)
    known = {draft.definition.evidence_id: draft.definition.entity_id for draft in drafts}
    versions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for draft in drafts:
        definition = draft.definition
        versions[(definition.entity_id, definition.version)].append(definition.evidence_id)
    implied = _implied(drafts)
    logic = _Logic(drafts, manifest)
    found: list[Definition] = []
    for draft in drafts:
        definition = draft.definition
        links = {key: _evidence_ids(draft, key, known, versions) for key in draft.links}
        if "supersedes" not in links:
            links["supersedes"] = sorted(implied.get(definition.evidence_id, ()))
        every_link = [evidence_id for ids in links.values() for evidence_id in ids]
        changes: dict[str, Any] = dict(links)
        changes["links_elsewhere"] = any(known.get(link) != definition.entity_id for link in every_link)
        for key, texts in draft.declared.items():
            changes[key] = _unique_ids(draft, key, texts, names)
        changes["logic_hash"] = logic.behind(draft)
        found.append(hashed(definition, draft.declared, changes))
    return found


class _Logic:
    """The logic behind definitions: of several in one block it is behind the newest; what the older ones
    stood on is unknown."""

    def __init__(self, drafts: list[Draft], manifest: Manifest) -> None:
        self._hashes = LogicHashes(manifest)
        self._nodes: dict[str, Node] = {**manifest.nodes, **manifest.metrics}
        self._newest: dict[str, date] = {}
        for draft in drafts:
            if draft.entry.in_versions and draft.definition.status not in _NEVER_APPROVED:
                start = draft.definition.effective_from or date.min
                self._newest[draft.family] = max(self._newest.get(draft.family, date.min), start)

    def behind(self, draft: Draft) -> str | None:
        definition = draft.definition
        node = self._nodes.get(definition.node_id or "")
        if node is None or draft.statement.place.node != definition.node_id:
            return None  # a document, a column, or a source
        if draft.entry.in_versions:
            start = definition.effective_from or date.min
            if definition.status in _NEVER_APPROVED or start != self._newest[draft.family]:
                return None
        return self._hashes.of(node)


def _implied(drafts: Iterable[Draft]) -> dict[str, set[str]]:
    """What each definition supersedes because it was declared together with it: that of the preceding date.

    Together means one `versions` list or the versions of one dbt model, one entity and one scope. A link
    counts only if its declarer is authoritative: where an authoritative definition follows one that is not,
    it also supersedes the authoritative one before that, so that two never hold at once by such a step
    between.
    """
    families: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Definition]] = defaultdict(list)
    for draft in drafts:
        definition = draft.definition
        if definition.effective_from is not None and definition.status not in _NEVER_APPROVED:
            scope = tuple(sorted(definition.scope.items()))
            families[(draft.family, definition.entity_id, scope)].append(definition)
    found: dict[str, set[str]] = {}
    for members in families.values():
        if len(members) == 1:
            continue
        for definition in members:
            followed = _latest(definition, members)
            if definition.authority == "authoritative" and not any(
                d.authority == "authoritative" for d in followed
            ):
                followed += _latest(definition, [d for d in members if d.authority == "authoritative"])
            found[definition.evidence_id] = {d.evidence_id for d in followed}
    return found


def _latest(definition: Definition, members: list[Definition]) -> list[Definition]:
    start = definition.effective_from
    before = [
        d for d in members if d.effective_from is not None and start is not None and d.effective_from < start
    ]
    latest = max((d.effective_from for d in before if d.effective_from is not None), default=None)
    return [d for d in before if d.effective_from == latest]


def _evidence_ids(
    draft: Draft, key: str, known: dict[str, str], versions: dict[tuple[str, str], list[str]]
) -> list[str]:
    definition, found = draft.definition, set()
    for item in draft.links[key]:
        name = values.text(draft.statement.place, draft.entry.get(key).key, item)
        if name is None:
            continue
        same_entity = set(versions.get((definition.entity_id, name), ())) - {definition.evidence_id}
        if isinstance(item, str) and name in known:
            found.add(name)
        elif same_entity:
            found |= same_entity
        else:
            # A number is always a version, also one that is no longer stated here.
            found.add(name if isinstance(item, str) else f"{definition.entity_id}.v{name}")
    return sorted(found)


def _unique_ids(draft: Draft, key: str, texts: list[str], names: DbtNames) -> list[str]:
    package = draft.definition.package_name
    find = names.model if key == "models" else names.source
    found: list[str] = []
    for name in texts:
        unique_id = find(name, package)
        if unique_id is None:
            expected = f"the name of one of dbt's {key} in this manifest"
            draft.statement.place.finding(draft.entry.get(key).key, expected, f"{name}; kept as written")
        found.append(unique_id or name)
    return list(dict.fromkeys(found))
