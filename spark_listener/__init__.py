"""What runs inside the user's Spark application: listener, plan analysis, capture agents, spool. Light by rule: no server import."""
