"""Traces by their size: small ones in this process, large ones by jobs of Spark."""
