"""The code inside the user's Spark application: listener, capture, Python-side recording, spool, delivery. It never imports the server."""
