"""The code inside the user's Spark application: listener, plan analysis, capture agents, spool. It never imports the server."""
