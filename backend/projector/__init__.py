"""Applies the log to the graph and the stored captures, entry by entry."""
