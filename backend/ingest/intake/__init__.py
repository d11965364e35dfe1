"""Intake checks incoming documents, removes secrets, and appends them to the log. Refused documents become dead letters."""
