"""The SQL of the bundled package's models and macros without a dbt process, which takes seconds.

Its macros are plain Jinja but for a few names that dbt provides; these are provided here, and relations get the
names that the caller wants. A test compares the text with what dbt compiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from dbt_attest.warehouse.contract import dbt_package_dir, quoted

#: What names the relation of a model of the package.
Relations = Callable[[str], str]


def renderer(schema: str, environment: str, relations: Relations | None = None) -> Callable[[str], str]:
    """What gives the SQL of a model of the package, with the evidence in `schema`, asked for `environment`.

    `relations` names the relations of models; by default they are in `schema`, too.
    """

    host = _Host(schema, environment, relations)

    def render(model: str) -> str:
        (path,) = dbt_package_dir().glob(f"models/**/{model}.sql")
        return host.render(path.read_text(encoding="utf-8"))

    return render


def resolver_statements(schema: str, environment: str) -> list[str]:
    """The statements that create all resolvers in `schema`, in an order in which what each reads is there."""
    sources = {path.stem: path.read_text("utf-8") for path in dbt_package_dir().glob("models/**/*.sql")}
    statements: dict[str, str] = {}
    reads: dict[str, set[str]] = {}
    host = _Host(schema, environment)
    for model in sorted(sources):
        host.read = set()
        sql = host.render(sources[model])
        creates = (
            "" if "create_function" in sources[model] else f"create or replace view {host.named(model)} as\n"
        )
        statements[model] = creates + sql
        reads[model] = host.read & sources.keys() - {model}
    ordered = (statements[model] for model in TopologicalSorter(reads).static_order())
    # of a text with several, DuckDB 1.5 keeps the names of windows from one to the next
    return [one for text in ordered for one in text.split("\n;") if one.strip()]


def macro_sql(
    name: str,
    schema: str,
    environment: str,
    *arguments: Any,
    relations: Relations | None = None,
    **named: Any,
) -> str:
    """The SQL of a macro of the package, with evidence and resolvers in `schema`, asked for `environment`.

    `relations` is as for `renderer`.
    """
    return str(getattr(_Host(schema, environment, relations), name)(*arguments, **named)).strip()


class _Host:
    """What dbt would give a template, as far as the package's resolvers use it."""

    def __init__(self, schema: str, environment: str, relations: Relations | None = None) -> None:
        import jinja2

        def in_schema(name: str) -> str:
            return f"{quoted(schema)}.{quoted(name)}"

        self._jinja = jinja2.Environment(extensions=["jinja2.ext.do"])
        self._evidence, self._relations, self._asked = in_schema, relations or in_schema, environment
        #: Names of the relations that were asked for.
        self.read: set[str] = set()
        self._jinja.globals |= {
            "attest": self,
            "config": lambda **_: "",
            "dbt": _Dbt(),
            "ref": lambda _, name: _Relation(self.named(name)),
            "target": {"type": "duckdb"},
            "var": lambda _, default=None: default,
        }

    def render(self, source: str) -> str:
        return self._jinja.from_string(source).render().strip()

    def named(self, name: str) -> str:
        self.read.add(name)
        return self._relations(name)

    # Macros that dbt answers with its graph, and those that name relations.

    def evidence(self, table: str) -> str:
        return self._evidence(table)

    def recorded_assertions(self) -> str:
        return self.named("recorded_assertions")

    def is_unit_test(self) -> bool:
        return False

    def environment(self) -> str:
        return self._asked

    def stay(self, _: str) -> str:
        return ""

    def resolver_function(self, name: str) -> str:
        return self.named(name)

    def create_function(self, name: str, parameters: str) -> str:
        body = getattr(self, f"{name}_function")()
        return f"create or replace macro {self._relations(name)}({parameters}) as table\n{body}\n;"

    def __getattr__(self, name: str) -> Any:
        """Any other macro of the package, from the file that has it."""
        source = _macro_files().get(name)
        if source is None:
            raise AttributeError(name)
        module = self._jinja.from_string(source).make_module()
        for macro in re.findall(_MACRO, source):
            setattr(self, macro, getattr(module, macro))
        return self.__dict__[name]


class _Dbt:
    def escape_single_quotes(self, text: str) -> str:
        return text.replace("'", "''")

    def string_literal(self, text: str) -> str:
        return f"'{text}'"


class _Relation:
    def __init__(self, name: str) -> None:
        self._name = name

    def include(self, **_: bool) -> _Relation:
        return self

    def render(self) -> str:
        return self._name


_MACRO = r"{%-?\s*macro\s+(\w+)\("


@cache
def _macro_files() -> dict[str, str]:
    found: dict[str, str] = {}
    for folder in ("resolution", "functions", "gaps", "public"):
        for path in sorted((dbt_package_dir() / "macros" / folder).glob("*.sql")):
            source = path.read_text(encoding="utf-8")
            found |= dict.fromkeys(re.findall(_MACRO, source), source)
    return found
