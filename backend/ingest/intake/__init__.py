"""Intake: what comes in is checked, redacted and kept, or refused by the name of its field and kept as a dead letter."""
