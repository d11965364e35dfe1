"""Search for nodes by words: the words of a node, the request, the order of the hits. Pure; the stores keep the index.

A hit must be visible to the caller, and so must be everything that it is found by. Therefore an entry of the index holds only names and
descriptions of the node itself, and the order of hits depends on nothing else in the graph.
"""

from headwater.graph.search.entries import SEARCHED, Activity, Entry, entry_of
from headwater.graph.search.ranking import Candidate, Ranked, Ranking
from headwater.graph.search.request import Facet, Facets, Found, Hit, Order, SearchRequest

__all__ = [
    "SEARCHED",
    "Activity",
    "Candidate",
    "Entry",
    "Facet",
    "Facets",
    "Found",
    "Hit",
    "Order",
    "Ranked",
    "Ranking",
    "SearchRequest",
    "entry_of",
]
