"""A made warehouse of many definitions: the evidence tables filled set-wise, the resolvers built by dbt.

Every entity has five definitions, each ending the one before it at the beginning of a year, as a project
grows: recorded in five collections, or all in one. Who may see a definition says one of 50 policies, or
nothing but the group `everyone`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dbt_attest.warehouse.contract import create_tables
from dbt_attest.warehouse.files import connect
from dbt_attest.warehouse.resolvers import build_resolvers

ROOT = Path(__file__).resolve().parents[1]
DBT = Path(sys.executable).with_name("dbt")

VERSIONS = 5
POLICIES = 50
#: The group of a requester who may see everything that is made here, and so may take the longest way.
GROUP = "readers"
_COLLECTIONS = """
insert into attest.collections by name
select sha256('collection ' || v) as collection_id, 'made' as project_name, 'prod' as environment,
  sha256('manifest ' || v) as manifest_id, sha256('attest.yml') as project_file_id,
  [sha256('manifest ' || v), sha256('attest.yml')] as artifact_ids, sha256('files ' || v) as files_id,
  make_timestamptz(2020 + v, 12, 1, 0, 0, 0.0) as generated_at, generated_at as known_until,
  [] as disabled, generated_at as ingested_at, false as removals_allowed
from range(1, $versions + 1) as versions(v)
"""
_ASSERTIONS = """
insert into attest.assertions by name
select 'prod' as environment, format('metric.measure_{:06}', e) as entity_id,
  format('metric.measure_{:06}.v{}', e, v) as evidence_id, true as stated,
  make_timestamptz(2020 + v, 12, 1, 0, 0, 0.0) as asserted_at, asserted_at as generated_at,
  sha256('manifest ' || v) as artifact_id, sha256('collection ' || v) as collection_id,
  asserted_at as ingested_at, sha256('content ' || evidence_id) as content_hash,
  sha256('state ' || evidence_id) as state_hash, sha256('logic ' || e) as logic_hash, 'made' as project_name,
  'made' as package_name, format('metric.made.measure_{:06}', e) as node_id,
  format('models/area_{}/metrics.yml', e % 100) as file,
  [format('measure_{:06}', e), format('Measure {:06}', e)] as names, 'metric_definition' as entity_type,
  v as version, 'approved' as status, 'authoritative' as authority, format('Approver {}', e % 20) as approved_by,
  make_date(2020 + v, 11, 1) as approved_at, make_date(2021 + v, 1, 1) as effective_from,
  'transaction_date' as date_basis, [{name: format('Team {}', e % 30), effective_from: null, effective_to: null}]
  as owners, 'one row per order' as grain, format('Measure {:06}', e) as title,
  format('The sum of measure {} over all orders that were completed in the period, version {}.', e, v)
  as definition, if(v = 1, [], [format('metric.measure_{:06}.v{}', e, v - 1)]) as supersedes,
  [] as superseded_by, false as links_elsewhere, [format('model.made.orders_{}', e % 1000)] as models,
  [format('source.made.raw.orders_{}', e % 1000)] as sources,
  [if($policies = 0, 'everyone', format('policy_{}', e % greatest($policies, 1)))] as permissions,
  'annotation' as permissions_from, [] as aliases, map {} as scope
from range(1, $versions + 1) as versions(v), range($entities) as entities(e)
order by {order}
"""
_NAMES = """
insert into attest.names by name
select 'prod' as environment, unnest([format('measure_{:06}', e), format('Measure {:06}', e)]) as name,
  format('metric.measure_{:06}', e) as entity_id
from range($entities) as entities(e)
"""
_POLICIES = """
insert into attest.policies by name
select sha256('attest.yml') as project_file_id, format('policy_{}', p) as policy,
  ['readers', format('team_{}', p)] as groups, 'disclosed' as existence
from range($policies) as policies(p)
"""


def entity(number: int) -> str:
    """The id of one of the made entities, from 0."""
    return f"metric.measure_{number:06}"


def make_warehouse(path: Path, definitions: int, *, at_once: bool = False, policies: int = POLICIES) -> int:
    """Write a stand-alone warehouse of so many definitions; the number of its entities.

    Rows lie as they are recorded: one collection after the other, or entity by entity where all came `at_once`.
    """
    entities = definitions // VERSIONS
    values = {"versions": VERSIONS, "entities": entities, "policies": policies}
    order = "e, v" if at_once else "v, e"
    connection = connect(path, read_only=False)
    try:
        create_tables(connection, "attest")
        for statement in (_COLLECTIONS, _ASSERTIONS.replace("{order}", order), _NAMES, _POLICIES):
            named = {name: value for name, value in values.items() if f"${name}" in statement}
            connection.execute(statement, named)
    finally:
        connection.close()
    build_resolvers(path, "attest", "prod")
    return entities


def compiled(folder: Path, model: str) -> str:
    """The SQL that dbt makes of a model of a project which has the package, for a made warehouse."""
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "asked.sql").write_text(model)
    (folder / "dbt_project.yml").write_text("name: asks\nprofile: asks\nvars: {attest_schema: attest}\n")
    (folder / "packages.yml").write_text(f"packages: [{{local: '{ROOT}'}}]\n")
    (folder / "profiles.yml").write_text(
        "asks: {target: dev, outputs: {dev: {type: duckdb, path: ':memory:'}}}\n"
    )
    for words in (["deps"], ["compile"]):
        done = subprocess.run(
            [DBT, "--quiet", *words, "--profiles-dir", "."],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"dbt {words[0]} failed:\n{done.stdout}{done.stderr}")
    return (folder / "target" / "compiled" / "asks" / "models" / "asked.sql").read_text()
