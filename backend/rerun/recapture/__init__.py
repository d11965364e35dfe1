"""Recapture: finds the record lineage of an earlier run, by running its program again with record capture.

Recapture helps if the first run had no record capture (mode `coarse` or `lazy`, or beyond the limits of `auto`). The second run writes to a
separate folder (the shadow), like a replay. If the files are identical, its associations become the lineage of the first run.
A recapture never touches real data and never runs an unregistered program. If anything differs or is uncertain, nothing is stored.
"""
