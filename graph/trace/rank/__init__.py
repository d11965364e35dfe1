"""Ranks the inputs of an aggregate by how much its value would change without each of them."""

from headwater.graph.trace.rank.answer import RankAnswer, RankedRecord, RankRequest

__all__ = ["RankAnswer", "RankRequest", "RankedRecord"]
