"""Maintenance of a home: checks of its files, repair, backup, pruning and diagnosis."""
