"""Recapture: find record lineage after the fact by running a program again with capture.

For people whose program ran without record lineage (in mode `coarse` or `lazy`, or beyond the limits of `auto`). The second run writes to a
shadow folder, like a replay. If it writes identical files, its associations become the lineage of the run that wrote the real files.
A recapture never touches real data and never runs an unregistered program. Nothing is kept if anything differs or is uncertain.
"""
