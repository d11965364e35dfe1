"""Compares two versions of a dataset, record by record."""
