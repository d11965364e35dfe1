"""The events of Headwater and of OpenLineage's own integration for Spark, compared with the right events of small programs."""
