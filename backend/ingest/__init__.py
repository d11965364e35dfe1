"""Accepts documents into the durable log: request bodies, checks, and the log itself."""
