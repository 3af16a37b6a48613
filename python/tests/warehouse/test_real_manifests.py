"""Manifests that nobody annotated: the entities are there, unclassified, and the summary says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from dbt_attest.cli.main import cli

ARTIFACTS = Path(__file__).resolve().parents[4] / "shared" / "artifacts"
MANIFESTS = [
    path
    for pattern in ("dbt-bouncer/*/manifest.json", "dbt-artifacts-parser/manifest/v1[0-2]/*/*.json")
    for path in sorted(ARTIFACTS.glob(pattern))
]


@pytest.mark.skipif(not MANIFESTS, reason="../shared/artifacts is not here")
@pytest.mark.parametrize(
    "path", MANIFESTS, ids=[path.relative_to(ARTIFACTS).as_posix() for path in MANIFESTS]
)
def test_a_build_of_what_nobody_annotated(world, monkeypatch, path):
    (world.folder / "target").mkdir()
    (world.folder / "dbt_project.yml").write_text("name: any\n", encoding="utf-8")
    shutil.copyfile(path, world.folder / "target" / "manifest.json")
    monkeypatch.chdir(world.folder)
    ran = CliRunner().invoke(cli, ["build", "--format", "json"])
    assert ran.exit_code == 0, ran.output
    built = json.loads(ran.output)
    assert built["annotated"] == built["governed"] == 0
    assert built["unclassified"] == built["definitions"] > 0

    manifest = json.loads(path.read_text(encoding="utf-8"))
    models = {
        key
        for key, node in manifest["nodes"].items()
        if node["resource_type"] in ("model", "seed", "snapshot")
    }
    expected = models | {*manifest["sources"], *manifest["metrics"], *manifest["exposures"]}
    with duckdb.connect(str(world.warehouse), read_only=True) as connection:
        stated = connection.execute(
            "select node_id, authority, permissions from attest.assertions"
        ).fetchall()
        written_by = connection.execute(
            "select dbt_version from attest.artifacts where kind = 'manifest' and artifact_id in "
            "(select manifest_id from attest.collections where environment = 'prod')"
        ).fetchall()
    assert written_by == [(manifest["metadata"]["dbt_version"],)]
    assert expected <= {node_id for node_id, _, _ in stated}
    assert {authority for _, authority, _ in stated} == {None}
    assert [node_id for node_id, _, permissions in stated if permissions] == []

    ran = CliRunner().invoke(cli, ["build"])
    assert "recorded  nothing: the same files were recorded before" in ran.output
    ran = CliRunner().invoke(cli, ["build", "--environment", "another"])
    assert "nothing is annotated yet" in ran.output
    assert f"{built['definitions']} definitions" in ran.output
