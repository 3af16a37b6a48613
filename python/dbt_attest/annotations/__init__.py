"""The annotation contract: from `meta.attest`, `attest.yml` and Markdown front matter to definitions."""

from dbt_attest.annotations.claims import Claim
from dbt_attest.annotations.definition import Alias, Definition, Owner
from dbt_attest.annotations.documents import Document, read_documents
from dbt_attest.annotations.extract import Extraction, extract
from dbt_attest.annotations.path_rules import Rule
from dbt_attest.annotations.project_file import CollectionLimits, Policy, ProjectFile, read_project_file

__all__ = [
    "Alias",
    "Claim",
    "CollectionLimits",
    "Definition",
    "Document",
    "Extraction",
    "Owner",
    "Policy",
    "ProjectFile",
    "Rule",
    "extract",
    "read_documents",
    "read_project_file",
]
