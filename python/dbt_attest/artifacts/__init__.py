"""dbt's artifacts, read into a small typed subset. Nothing here knows what an annotation is."""

from dbt_attest.artifacts.catalog import Catalog, read_catalog
from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.freshness import FreshnessResults, Observation, read_freshness
from dbt_attest.artifacts.instants import parse_instant
from dbt_attest.artifacts.lineage import Edge, circles, edges
from dbt_attest.artifacts.logic import LogicHashes
from dbt_attest.artifacts.manifest import Manifest, read_manifest
from dbt_attest.artifacts.nodes import (
    Column,
    Exposure,
    Group,
    Metric,
    Node,
    NodeConfig,
    SemanticModel,
    Source,
)
from dbt_attest.artifacts.run_results import Execution, RunResults, read_run_results
from dbt_attest.artifacts.semantic_manifest import SemanticManifest, read_semantic_manifest

__all__ = [
    "Catalog",
    "Column",
    "Edge",
    "Execution",
    "Exposure",
    "Finding",
    "FreshnessResults",
    "Group",
    "LogicHashes",
    "Manifest",
    "Metric",
    "Node",
    "NodeConfig",
    "Observation",
    "RunResults",
    "SemanticManifest",
    "SemanticModel",
    "Source",
    "circles",
    "edges",
    "parse_instant",
    "read_catalog",
    "read_freshness",
    "read_manifest",
    "read_run_results",
    "read_semantic_manifest",
    "sorted_findings",
]
