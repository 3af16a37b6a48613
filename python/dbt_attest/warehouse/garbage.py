"""Python's cycle collector, which has nothing to do while a collection is read and recorded."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Without the cycle collector, which would go through a large manifest again and again.

    Nothing made of one refers to itself; what is no longer needed is freed all the same. Afterwards the
    collector is as it was.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
