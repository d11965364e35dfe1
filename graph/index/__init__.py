"""The index: a store's nodes and edges in memory, so that walks of many steps ask the store but twice.

For stores whose walks are what people wait for. The index must never answer from what the store no longer holds: before each walk it asks
the store what has changed, whoever changed it. It must not take more memory than it is given: where it would, the store walks itself.
"""

from headwater.graph.index.store import IndexedStore, open_indexed, source_of

__all__ = ["IndexedStore", "open_indexed", "source_of"]
