"""The way of a document into the durable log: bodies, checks, and the log itself."""
