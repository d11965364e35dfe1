"""Errors of a cluster. A service without pyspark imports this module to handle them apart from other errors."""

from __future__ import annotations

from headwater.errors import UnavailableError


class SparkJobError(UnavailableError):
    """A Spark job failed. The message is for the operator: it may name hosts, addresses and paths of the cluster."""
