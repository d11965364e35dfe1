"""What two agents tell of the same small programs, against what should be told: ours, and OpenLineage's own integration for Spark."""
