"""Compares the results of two runs of a job, and attributes the difference to what changed between the runs. Replays verify each cause."""
