"""The JSON Schemas are valid, describe every key, and the quick check says what jsonschema says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from dbt_attest.annotations import Definition
from dbt_attest.annotations.quick_check import quick_check
from dbt_attest.annotations.schema import ANNOTATION, PROJECT_FILE, schema

BOTH = (ANNOTATION, PROJECT_FILE)


@pytest.mark.parametrize("name", BOTH)
def test_schema_is_valid_and_describes_every_key_for_editors(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert all("description" in key for key in schema(name)["properties"].values())


def test_every_annotated_column_has_a_key() -> None:
    fields = set(Definition.__struct_fields__)
    renamed = {"owner": "owners", "recorded_at": "declared_recorded_at"}
    keys = {renamed.get(key, key) for key in schema(ANNOTATION)["properties"]} - {"versions"}
    assert keys <= fields
    derived = {"content_hash", "state_hash", "logic_hash", "links_elsewhere"}
    derived |= {"package_name", "node_id", "file", "names", "access", "latest_version", "deprecation_date"}
    assert fields - keys == derived | {"permissions_from", "annotated", "rules_taken"}


def test_rules_give_only_keys_of_the_annotation() -> None:
    rule = set(schema(PROJECT_FILE)["$defs"]["rule"]["properties"]) - {"path", "max_authority"}
    assert rule <= set(schema(ANNOTATION)["properties"])


def test_unknown_keyword_is_refused() -> None:
    with pytest.raises(ValueError, match="maximum"):
        quick_check({"type": "number", "maximum": 3})


KEYS = sorted(
    {key for name in BOTH for key in schema(name)["properties"]}
    | {"path", "name", "alias", "groups", "max_age"}
)
WORDS = ["", "x", "draft", "authoritative", "untrusted", "hidden", "group", "2d", "20%", "100%", "2024-01-01"]
scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.5, 2.0]) | st.sampled_from(WORDS)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS, "odd"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(value=st.dictionaries(st.sampled_from(KEYS), values, max_size=5) | values, name=st.sampled_from(BOTH))
def test_quick_check_agrees_with_jsonschema(value: Any, name: str) -> None:
    assert quick_check(schema(name))(value) == Draft202012Validator(schema(name)).is_valid(value)


def test_definition_can_be_written_as_json(project: Any) -> None:
    definition = project.metric({"effective_from": "2024-01-01", "owner": "A"}).one()
    assert msgspec.json.decode(msgspec.json.encode(definition), type=Definition) == definition
