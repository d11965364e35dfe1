"""The warning about an inexact answer in the shell."""

from __future__ import annotations


class LineageWarning(UserWarning):
    """An answer contains more than the lineage, or lacks a part. The message gives the reason."""
