"""Traces whose walk over kept associations runs as Spark jobs."""
