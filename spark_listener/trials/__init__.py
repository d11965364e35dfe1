"""Trials: one process runs a registered program several times, each time on other records, in one warm JVM.

The process is a server for `backend/rerun/trials`. Each trial is a replay: it writes to a shadow folder of its own, and never to the real
data.
"""
