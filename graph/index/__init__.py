"""The index: a store's nodes and edges in memory. A walk of many steps asks the store only twice.

It serves stores whose walks are slow. The index must never return data that the store has deleted: before each walk, it asks the store for
changes by any process. The index must not use more memory than its limit: above the limit, the store walks itself.
"""

from headwater.graph.index.store import IndexedStore, open_indexed, source_of

__all__ = ["IndexedStore", "open_indexed", "source_of"]
