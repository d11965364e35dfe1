"""Maintenance of a home's store: backup, restore, moving the graph to another store, pruning of old associations."""
