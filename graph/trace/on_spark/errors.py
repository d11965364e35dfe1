"""Errors of a Spark cluster. A service without pyspark can import this module."""

from __future__ import annotations

from headwater.errors import UnavailableError


class SparkJobError(UnavailableError):
    """A Spark job failed. The message is for the operator: it may name hosts, addresses and paths of the cluster."""
