"""Traces by size: small ones run in this process, large ones as Spark jobs."""
