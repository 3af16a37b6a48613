"""dbt's artifacts, read into a small typed subset. Nothing here knows what an annotation is."""

from dbt_attest.artifacts.findings import Finding, sorted_findings
from dbt_attest.artifacts.instants import parse_instant
from dbt_attest.artifacts.lineage import Edge, edges
from dbt_attest.artifacts.manifest import Manifest, read_manifest
from dbt_attest.artifacts.nodes import Column, Exposure, Group, Node, NodeConfig, SemanticModel, Source

__all__ = [
    "Column",
    "Edge",
    "Exposure",
    "Finding",
    "Group",
    "Manifest",
    "Node",
    "NodeConfig",
    "SemanticModel",
    "Source",
    "edges",
    "parse_instant",
    "read_manifest",
    "sorted_findings",
]
