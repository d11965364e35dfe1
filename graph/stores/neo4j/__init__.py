"""The graph store on a Neo4j server or cluster: `pip install "headwater[neo4j]"`.

Tested on the community edition, 5.26. The store uses no feature that other editions lack. No cluster was tested.
"""

from headwater.graph.stores.neo4j.store import Neo4jStore

__all__ = ["Neo4jStore"]
