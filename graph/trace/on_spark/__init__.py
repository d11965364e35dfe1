"""Traces that follow kept associations with Spark jobs."""
