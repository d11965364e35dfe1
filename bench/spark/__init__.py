"""What the suites over Spark share: an arm, its cases, and what it counts."""
