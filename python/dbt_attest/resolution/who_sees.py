"""Oversharing review: what a group may see, through what, and since when. For stewards: nothing is masked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from typing import Any

from dbt_attest.errors import InputError
from dbt_attest.resolution.asking import rows_of
from dbt_attest.resolution.result import plain
from dbt_attest.resolution.warehouse import Warehouse
from dbt_attest.warehouse.contract import unquoted
from dbt_attest.warehouse.rendering import macro_sql


@dataclass(frozen=True)
class Seen:
    """One definition that the members of a group may see, by today's permissions.

    `through` are the names in its permissions that let them in: the group, everyone, or policies (`policies`).
    `rule` says where these permissions stand: annotation, or attest.yml rule N. `since` is the instant (UTC)
    from which on they could see it without a break, as far as collections tell; `stated` is whether it is still
    stated: what was removed can be asked, too.
    """

    entity_id: str
    evidence_id: str
    title: str | None
    through: list[str]
    policies: list[str]
    rule: str | None
    since: datetime
    stated: bool

    def as_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        as_plain: dict[str, Any] = plain(vars(self))
        return as_plain


def who_sees(
    warehouse: Warehouse,
    group: str,
    *,
    since: date | datetime | str | None = None,
    environment: str | None = None,
) -> tuple[Seen, ...]:
    """What the members of `group`, who are in `everyone`, too, may see, by entity and evidence_id.

    With `since`, a day (its beginning in UTC) or an instant, only what they could not see before it. Raises
    InputError where that is neither, WarehouseError where the warehouse cannot be asked.
    """
    environment = environment or warehouse.environment or warehouse.asked_place()[1]
    values = {"group": group.strip(), "environment": environment}
    with warehouse.connection() as (connection, schema):
        sql = macro_sql("who_sees_sql", unquoted(schema), environment)
        found = tuple(Seen(**row) for row in rows_of(connection, sql, values))
    if since is None:
        return found
    begin = _instant(since)
    return tuple(one for one in found if one.since >= begin)


def _instant(since: date | datetime | str) -> datetime:
    if isinstance(since, str):
        try:
            since = datetime.fromisoformat(since.strip().replace("Z", "+00:00"))
        except ValueError:
            raise InputError(
                f"Expected since as a date such as 2025-06-30 or an instant, found {since!r}."
            ) from None
    if not isinstance(since, datetime):
        since = datetime.combine(since, time.min)
    return since if since.tzinfo else since.replace(tzinfo=timezone.utc)
