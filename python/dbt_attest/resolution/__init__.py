"""The Python face of the resolvers: ask a warehouse, get a resolution."""

from dbt_attest.resolution.requester import Requester
from dbt_attest.resolution.result import Resolution, Segment, Step, Support
from dbt_attest.resolution.warehouse import Warehouse, open

__all__ = ["Requester", "Resolution", "Segment", "Step", "Support", "Warehouse", "open"]
