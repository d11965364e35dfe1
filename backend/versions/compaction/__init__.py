"""Compactions: a Spark job with capture merges the blocks of an enrolled dataset, and its result takes their place."""
