"""Which definition was in force on a date, who says so, what it was built from, and may I see it?

    import dbt_attest warehouse = dbt_attest.open("evidence.duckdb") warehouse.resolve("metric.revenue",
    on=date(2025, 6, 30), requester=dbt_attest.Requester(groups=["analytics_readers"]))

Nothing is imported until it is used: dbt imports every installed package whose name starts with `dbt_`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt_attest.errors import AttestError, InputError, WarehouseError
    from dbt_attest.resolution import Requester, Resolution, Warehouse, open

__version__ = "0.1.0"
__all__ = ["AttestError", "InputError", "Requester", "Resolution", "Warehouse", "WarehouseError", "open"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dbt_attest' has no attribute {name!r}")
    from importlib import import_module

    module = "dbt_attest.errors" if name.endswith("Error") else "dbt_attest.resolution"
    return getattr(import_module(module), name)
