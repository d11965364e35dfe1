"""Suspects: what is unusual about a run and its tasks, by what the graph states about sizes, times and columns."""

from headwater.graph.suspects.runs import RunReport, find_run_suspects

__all__ = ["RunReport", "find_run_suspects"]
