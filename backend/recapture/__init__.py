"""Recapture: record lineage after the fact, by running a program once more and capturing what it does.

For people whose program ran with less than record lineage (in mode `coarse` or `lazy`, or beyond the limits of `auto`). The second run
writes into a shadow folder, as a replay does. Only if it wrote the very same files is what it recorded kept, as the lineage of the run that
wrote the real ones. It must never touch real data, never run a program that is not registered on this home, and keep nothing where anything
differs or is not certain.
"""
