"""The care of a home: soundness checks, repair, backup, pruning and diagnosis."""
