"""Registered programs that run again: replays and recaptures."""
