"""Versions of a dataset: the blocks that runs wrote, in order, and how far each consumer has read them."""

from headwater.graph.versions.blocks import Block, BlockMode, list_blocks
from headwater.graph.versions.consumers import ConsumedInput, ConsumptionMode, list_consumers

__all__ = ["Block", "BlockMode", "ConsumedInput", "ConsumptionMode", "list_blocks", "list_consumers"]
