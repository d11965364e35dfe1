"""Applies the log to the graph and the kept captures, entry by entry."""
