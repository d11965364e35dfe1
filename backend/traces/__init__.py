"""Traces by size: small ones in this process, large ones as Spark jobs."""
