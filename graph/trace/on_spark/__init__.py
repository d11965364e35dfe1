"""Traces whose walk over kept associations runs as jobs of Spark."""
