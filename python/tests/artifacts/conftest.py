"""Manifests made of the keys a test cares about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

URL = "https://schemas.getdbt.com/dbt/manifest/v12.json"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes manifest.json with the given sections and returns its path."""

    def write(**sections: Any) -> Path:
        metadata = {"generated_at": "2026-01-01T00:00:00Z", "dbt_schema_version": URL, "project_name": "p"}
        path = tmp_path / "manifest.json"
        path.write_text(json.dumps({"metadata": metadata, "nodes": {}, **sections}))
        return path

    return write
