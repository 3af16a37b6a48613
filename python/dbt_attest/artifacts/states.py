"""dbt's states in one spelling, so that they can be compared; the one that dbt wrote is kept beside it."""

from __future__ import annotations

import re

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPELLINGS = {"no op": "no-op", "noop": "no-op"}


def outcome(status: object) -> str:
    """A state in lower case and with blanks between words: `Pass` → `pass`, `RuntimeError` → `runtime error`.

    A state that is not yet invented stays itself; none at all is `unknown`.
    """
    words = _HUMP.sub(" ", str(status or "")).replace("_", " ").replace("-", " ").lower().split()
    text = " ".join(words)
    return _SPELLINGS.get(text, text) or "unknown"
