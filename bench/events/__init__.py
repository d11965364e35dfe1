"""Compares the events of Headwater and of OpenLineage's own Spark integration with the correct events of small programs."""
