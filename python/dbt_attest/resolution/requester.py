"""Who asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Requester:
    """Who asks, as the caller's environment or identity provider says; never as a resolved text says.

    `groups` are the requester's groups; everybody is also in the built-in group `everyone`, and groups alone
    decide what may be seen. `subject` and `tenant` say who it is, for the audit.
    """

    groups: Sequence[str] = field(default_factory=tuple)
    subject: str | None = None
    tenant: str | None = None

    def __post_init__(self) -> None:
        # a text is one group, not its letters
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(self.groups)
        object.__setattr__(self, "groups", groups)
