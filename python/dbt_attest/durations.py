"""Durations as attest.yml has them."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def parse_duration(text: object) -> timedelta | None:
    """`12h`, `2d` or `26 w` as a duration; None for anything else."""
    match = re.fullmatch(r"([0-9]{1,6}) ?([hdw])", text.strip()) if isinstance(text, str) else None
    return timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else None
