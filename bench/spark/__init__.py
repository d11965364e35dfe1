"""The common parts of the suites with Spark: an arm, its cases, and its counts."""
