"""Every place that may state a definition: dbt nodes, their columns, and documents, each with its block.

A block is the `attest` mapping as it holds for the place, after what dbt does to `meta` has been undone:

* dbt 1.10 and later write the same meta twice, earlier ones in one of two places: both are read.
* A table without an `attest` of its own gets that of its source, identity keys included, since dbt merges
  `meta` by its top keys alone; `source_meta` shows what is the source's.
* A metric that dbt makes for a measure (`create_metric`) gets the meta of its semantic model. The manifest of
  Core writes `create_metric: false` all the same, so the metric is known by a measure of its name and an
  equal block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from dbt_attest.annotations.dbt_names import unversioned_id
from dbt_attest.annotations.documents import Document
from dbt_attest.annotations.owner_claims import Stated, meta_owner, owner_claims, stated_by_dbt
from dbt_attest.annotations.path_rules import forward_slashes
from dbt_attest.annotations.place import Place, Report
from dbt_attest.annotations.schema import shown
from dbt_attest.artifacts import Column, Manifest, Node, NodeConfig, SemanticModel, Source

IDENTITY_KEYS = frozenset({"entity_id", "evidence_id", "version", "aliases"})
OUR_PACKAGE = "attest"
_ENTITY_TYPES = {
    "model": "dbt_model",
    "source": "source_schema",
    "seed": "dbt_seed",
    "snapshot": "dbt_snapshot",
    "metric": "metric_definition",
    "semantic_model": "semantic_model",
    "exposure": "exposure",
}


class Statement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One place with all that it says before defaults and inheritance.

    `block` is None where nothing is annotated. `rule_path` is the path the rules of attest.yml see. `family`
    is common to the versions of one dbt model. `instant` is when the artifact was written, UTC. `stated` are
    the owners and grains that dbt states outside the annotation. `access`, `latest_version` and
    `deprecation_date` are dbt's own attributes of a model, as it writes them.
    """

    place: Place
    rule_path: str
    node_id: str | None
    package_name: str | None
    entity_id: str
    entity_type: str
    node_version: str | None
    names: tuple[str | None, ...]
    description: str | None
    title: str | None
    owner_claims: dict[str, list[str]]
    stated: list[Stated]
    instant: datetime
    block: dict[str, Any] | None
    family: str
    access: str | None = None
    latest_version: str | None = None
    deprecation_date: Any = None


def statements(manifest: Manifest, documents: Iterable[Document], report: Report) -> Iterator[Statement]:
    """All places of a project, annotated or not

    columns only where annotated. The package `attest` is ours.
    """
    nodes: list[Node] = [
        *manifest.nodes.values(),
        *manifest.sources.values(),
        *manifest.metrics.values(),
        *manifest.semantic_models.values(),
        *manifest.exposures.values(),
    ]
    for node in nodes:
        if node.package_name != OUR_PACKAGE:
            yield from _node_statements(manifest, node, report)
    for document in documents:
        yield _document_statement(manifest, document, report)


def _node_statements(manifest: Manifest, node: Node, report: Report) -> Iterator[Statement]:
    original = forward_slashes(node.original_file_path or "")
    # The YAML file that describes a node is `patch_path`; its own file is where dbt found the SQL or CSV.
    described_in = forward_slashes((node.patch_path or "").split("://", 1)[-1]) or original
    here = Place(report, manifest.artifact_id, described_in or manifest.path.name, node.unique_id)
    block = _block(manifest, node, here)
    if block is None and original:
        here = Place(report, manifest.artifact_id, original, node.unique_id)
    version = node.version_text
    unversioned = unversioned_id(node.unique_id, version)
    names: tuple[str | None, ...] = (node.name, node.label)
    if isinstance(node, Source):
        names = (node.name, f"{node.source_name}.{node.name}", node.label)
    owners = owner_claims(manifest, node)
    config_meta = node.config.meta if node.config else None
    group = node.group or (node.config.group if node.config else None)
    yield Statement(
        place=here,
        rule_path=original or described_in,
        node_id=node.unique_id,
        package_name=node.package_name,
        entity_id=unversioned,
        entity_type=_ENTITY_TYPES.get(node.resource_type, node.resource_type),
        node_version=version,
        names=names,
        description=node.description,
        title=None,
        owner_claims=owners,
        stated=stated_by_dbt(owners, config_meta, node.meta, group),
        instant=manifest.generated_at,
        block=block,
        family=unversioned,
        access=node.access,
        latest_version=node.latest_version_text,
        deprecation_date=node.deprecation_date,
    )
    for key, column in node.columns.items():
        name = column.name or key
        there = Place(
            report, manifest.artifact_id, described_in or manifest.path.name, f"{node.unique_id}.{name}"
        )
        column_block = _merged(there, column.config, column.meta)
        if column_block is not None:
            yield Statement(
                place=there,
                rule_path=original or described_in,
                node_id=node.unique_id,
                package_name=node.package_name,
                entity_id=f"{unversioned}.{name}",
                entity_type="dbt_column",
                node_version=version,
                # The bare name of a column names too many things.
                names=(f"{names[1] if isinstance(node, Source) else node.name}.{name}",),
                description=column.description,
                title=None,
                owner_claims=_column_claims(owners, column),
                stated=stated_by_dbt({}, column.config.meta if column.config else None, column.meta, None),
                instant=manifest.generated_at,
                block=column_block,
                family=f"{unversioned}.{name}",
            )


def _document_statement(manifest: Manifest, document: Document, report: Report) -> Statement:
    return Statement(
        place=Place(report, document.artifact_id, document.path, None),
        rule_path=document.path,
        node_id=None,
        package_name=manifest.project_name,
        entity_id=document.default_entity_id,
        entity_type="document",
        node_version=None,
        names=(),
        description=document.body,
        title=document.heading,
        owner_claims={},
        stated=[],
        instant=document.generated_at,
        block=document.front_matter or None,
        family=document.path,
    )


def _column_claims(of_node: dict[str, list[str]], column: Column) -> dict[str, list[str]]:
    own = meta_owner(column.config.meta if column.config else None, column.meta)
    return {**of_node, "meta": own or of_node["meta"]}


def _block(manifest: Manifest, node: Node, place: Place) -> dict[str, Any] | None:
    block = _merged(place, node.config, node.meta)
    if isinstance(node, Source):
        return _with_source_block(node, block, place)
    if isinstance(node, SemanticModel):
        for measure in node.measures or ():
            own = _attest(measure.config.meta if measure.config else None)
            if own is not None and own != block:
                place.finding(
                    f"measures['{measure.name}'].config.meta.attest",
                    "an annotation on a metric or semantic model; a measure is no entity",
                    f"{shown(own)}; not taken",
                )
    elif node.resource_type == "metric" and block is not None and _made_by_dbt(manifest, node, block):
        return None
    return block


def _with_source_block(node: Source, own: dict[str, Any] | None, place: Place) -> dict[str, Any] | None:
    whole = _attest(node.source_meta)
    if whole is None:
        return own
    source = f"source.{node.package_name}.{node.source_name}"
    there = Place(place.report, place.artifact_id, place.file, source)
    if not isinstance(whole, dict):
        there.problem("", "a mapping of annotation keys under meta.attest", shown(whole))
        return own
    refused = sorted(whole.keys() & (IDENTITY_KEYS | {"versions"}))
    for key in refused:
        there.finding(
            key,
            "identity keys on the table; a source names all of its tables",
            f"{shown(whole[key])}; not taken",
        )
    inherited = {key: value for key, value in whole.items() if key not in refused}
    return {**inherited, **({} if own is None or own == whole else own)}


def _made_by_dbt(manifest: Manifest, metric: Node, block: dict[str, Any]) -> bool:
    for parent in (metric.depends_on.nodes if metric.depends_on else None) or ():
        model = manifest.semantic_models.get(parent)
        for measure in (model.measures if model else None) or ():
            if measure.name == metric.name and model is not None:
                metas = [config.meta for config in (model.config, measure.config) if config is not None]
                return block in [_attest(meta) for meta in (*metas, model.meta)]
    return False


def _merged(place: Place, config: NodeConfig | None, top_meta: Any) -> dict[str, Any] | None:
    """The block of a node, from `config.meta` and the older `meta`; the first wins, key by key."""
    blocks: list[dict[str, Any]] = []
    for where, meta in (("config.meta.attest", config.meta if config else None), ("meta.attest", top_meta)):
        block = _attest(meta)
        if isinstance(block, dict):
            blocks.append(block)
        elif block is not None:
            place.problem("", f"a mapping of annotation keys under {where}", shown(block))
    if len(blocks) < 2 or blocks[0] == blocks[1]:
        return blocks[0] if blocks else None
    first, second = blocks
    for key in sorted(first.keys() & second.keys()):
        if first[key] != second[key]:
            found = f"{shown(first[key])} in config.meta, which was taken, and {shown(second[key])} in meta"
            place.finding(key, "one value in config.meta and meta", found)
    return {**second, **first}


def _attest(meta: Any) -> Any:
    return meta.get("attest") if isinstance(meta, dict) else None
