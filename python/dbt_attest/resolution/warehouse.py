"""Asking a warehouse. Every rule is in the resolvers; here are only the questions and the answers' types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.audit import Audit, audited
from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.result import Resolution, Segment, Step, Support

if TYPE_CHECKING:
    import duckdb

    from dbt_attest.resolution.changes import Changes
    from dbt_attest.resolution.history import Change, History

_NOBODY = Requester()
# Far enough in both directions to hold every date a definition can have.
_ALL_TIME = (date(1, 1, 1), date(9999, 12, 31))


def open(path: str | Path, *, schema: str | None = None, environment: str | None = None) -> Warehouse:
    """The evidence warehouse in a DuckDB file, a stand-alone one or a project's own.

    `schema` is needed only where several schemas of the file hold evidence; `environment` is the one that is
    asked where a question names none (default: the one the resolvers were built for). Each question is written
    to the audit that the nearest attest.yml around the file names, if any.

    Raises WarehouseError where the file is missing, no warehouse, or held by a writer for too long.
    """
    from dbt_attest.resolution.settings import audit_around

    path = Path(path)
    warehouse = Warehouse(path, schema=schema, environment=environment, audit=audit_around(path))
    with warehouse.connection():
        return warehouse


class Warehouse:
    """An evidence warehouse, opened read-only for each question and closed at once: nobody waits for it.

    `open` makes one, and checks at once that the file can be asked; without it the first question does.
    """

    def __init__(
        self,
        path: Path,
        *,
        schema: str | None = None,
        environment: str | None = None,
        audit: Audit | None = None,
    ) -> None:
        self.path = path
        self.environment = environment
        self.audit = audit
        self._wanted_schema = schema

    @contextmanager
    def connection(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """A read-only connection, in UTC, and the quoted schema of evidence and resolvers.

        Raises WarehouseError as `open` does.
        """
        from dbt_attest.warehouse.contract import check_version, quoted
        from dbt_attest.warehouse.files import connect, damage_told, find_schema

        connection = connect(self.path, read_only=True)
        try:
            with damage_told(self.path):
                schema = find_schema(connection, self.path, self._wanted_schema)
                check_version(connection, self.path, schema)
                yield connection, quoted(schema)
        finally:
            connection.close()

    @contextmanager
    def held(self) -> Iterator[Warehouse]:
        """The same in one state: everything that is asked of it is asked of one connection, without audit."""
        from dbt_attest.resolution.held import Held

        with self.connection() as (connection, schema):
            yield Held(connection, schema, self)

    def asked_place(self) -> tuple[str, str]:
        """The schema of evidence and resolvers, and the environment that is asked where none is named."""
        from dbt_attest.warehouse.contract import unquoted

        with self.connection() as (connection, schema):
            (row,) = rows_of(
                connection,
                f"select answer.environment from {schema}.definition_on(null, null, environment := $here) as answer",
                {"here": self.environment},
            )
            return unquoted(schema), row["environment"]

    @audited("resolve")
    def resolve(
        self,
        entity: str,
        *,
        on: date | str | None = None,
        between: tuple[date | str, date | str] | None = None,
        during: str | None = None,
        known_at: datetime | date | str | None = None,
        requester: Requester = _NOBODY,
        scope: Mapping[str, str] | None = None,
        environment: str | None = None,
        support: bool = False,
        explain: bool = False,
    ) -> Resolution:
        """Which definition of `entity` was in force: `on` a day (default today, UTC), `between` two days,
        both inclusive, or `during` a year, quarter or month such as 2025, 2025-Q3 or 2025-07.

        `known_at` is the state of knowledge asked, an instant (without offset UTC; a bare date is the end of
        that day); None is everything recorded. `support` and `explain` also fill Resolution.support and
        Resolution.explanation, for one day.

        Raises InputError where the question is not understood: two kinds of date at once, a text that is no
        date, an instant in the future.
        """
        if sum(given is not None for given in (on, between, during)) > 1:
            raise InputError("Expected one of on, between and during, found several; name one.")
        if during is not None:
            from dbt_attest.resolution.periods import period

            between = period(during)
        for wanted, name in ((support, "support"), (explain, "an explanation")):
            if wanted and between is not None:
                raise InputError(
                    f"Expected {name} to be asked for one day, found a period; name the day with on."
                )
        first, last = between or (on, on)
        question: dict[str, Any] = {
            "entity": entity,
            "first": first,
            "known_at": known_at,
            "groups": list(requester.groups),
            "scope": dict(scope or {}),
            "environment": environment or self.environment,
        }
        named = "known_at := $known_at, groups := $groups, scope := $scope, environment := $environment"
        with self.connection() as (connection, schema):
            (row,) = rows_of(
                connection,
                f"from {schema}.definition_between($entity, $first, $last, {named})",
                question | {"last": last},
            )
            found = Resolution(
                asked=entity,
                **row | {"segments": tuple(_segment(segment) for segment in row["segments"])},
            )
            if support:
                sql = f"select * exclude (supported) from {schema}.support_on($entity, $first, {named})"
                rows = rows_of(connection, sql, question)
                found = replace(found, support=tuple(Support(**one) for one in rows))
            if explain:
                rows = rows_of(connection, f"from {schema}.explain_on($entity, $first, {named})", question)
                found = replace(found, explanation=tuple(Step(**one) for one in rows))
        return found

    @audited("timeline")
    def timeline(
        self,
        entity: str,
        *,
        known_at: datetime | date | str | None = None,
        requester: Requester = _NOBODY,
        scope: Mapping[str, str] | None = None,
        environment: str | None = None,
    ) -> Resolution:
        """What was in force over all time, as the segments of one resolution."""
        return self.resolve(
            entity,
            between=_ALL_TIME,
            known_at=known_at,
            requester=requester,
            scope=scope,
            environment=environment,
        )

    @audited("history")
    def history(
        self,
        entity: str,
        *,
        known_at: datetime | date | str | None = None,
        requester: Requester = _NOBODY,
        environment: str | None = None,
    ) -> History:
        """What was asserted about `entity` when, by which file and commit, and what changed each time.

        Raises InputError as `resolve` does.
        """
        from dbt_attest.resolution.history import History

        environment = environment or self.environment
        found = self.resolve(entity, known_at=known_at, requester=requester, environment=environment)
        asked: dict[str, Any] = {
            "known_at": known_at,
            "requester": requester,
            "environment": environment,
        }
        return History(found, self.asserted(entity, **asked))

    def asserted(
        self,
        entity: str,
        *,
        known_at: datetime | date | str | None = None,
        requester: Requester = _NOBODY,
        environment: str | None = None,
    ) -> tuple[Change, ...]:
        """The changes of `history` alone."""
        from dbt_attest.resolution.history import Change

        with self.connection() as (connection, schema):
            rows = rows_of(
                connection,
                f"from {schema}.definition_history($entity, known_at := $known_at, groups := $groups, "
                "environment := $environment)",
                {
                    "entity": entity,
                    "known_at": known_at,
                    "groups": list(requester.groups),
                    "environment": environment or self.environment,
                },
            )
        return tuple(Change(**row) for row in rows)

    @audited("changes")
    def changes(
        self,
        entity: str,
        *,
        known_at: datetime | date | str | None = None,
        requester: Requester = _NOBODY,
        scope: Mapping[str, str] | None = None,
        environment: str | None = None,
    ) -> Changes:
        """When the answer for the same days became another one, from what to what, and because of what.

        Raises InputError as `resolve` does.
        """
        from dbt_attest.resolution.changes import AnswerChange, Changes

        environment = environment or self.environment
        found = self.resolve(
            entity, known_at=known_at, requester=requester, scope=scope, environment=environment
        )
        with self.connection() as (connection, schema):
            rows = rows_of(
                connection,
                f"from {schema}.definition_changes_of($entity, known_at := $known_at, groups := $groups, "
                "scope := $scope, environment := $environment)",
                {
                    "entity": entity,
                    "known_at": known_at,
                    "groups": list(requester.groups),
                    "scope": dict(scope or {}),
                    "environment": environment,
                },
            )
        return Changes(found, tuple(AnswerChange(**row) for row in rows))

    def near_names(
        self, name: str, *, requester: Requester = _NOBODY, environment: str | None = None
    ) -> list[str]:
        """Entities with a name like `name` that the requester may see, the nearest first, at most three."""
        with self.connection() as (connection, schema):
            rows = rows_of(
                connection,
                f"from {schema}.names_like($name, groups := $groups, environment := $environment)",
                {
                    "name": name,
                    "groups": list(requester.groups),
                    "environment": environment or self.environment,
                },
            )
        return [row["entity"] for row in rows]


def _segment(values: dict[str, Any]) -> Segment:
    return Segment(
        from_date=values["from"],
        to_date=values["to"],
        outcome=values["outcome"],
        reason=values["reason"],
        evidence_id=values["evidence_id"],
    )
