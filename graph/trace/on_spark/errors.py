"""What goes wrong in a cluster. Apart from what needs pyspark, so that a service which runs none can tell it from other faults."""

from __future__ import annotations

from headwater.errors import UnavailableError


class SparkJobError(UnavailableError):
    """A job of Spark failed. Its message is for the operator: it may name hosts, addresses and paths of the cluster."""
