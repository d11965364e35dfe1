"""Graph stores: the protocol, and a registry that imports an implementation when it is needed."""

from headwater.graph.stores.protocol import Cone, Direction, GraphStore, Listing, Page, Subgraph
from headwater.graph.stores.registry import open_store

__all__ = ["Cone", "Direction", "GraphStore", "Listing", "Page", "Subgraph", "open_store"]
