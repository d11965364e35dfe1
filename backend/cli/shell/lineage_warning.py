"""The warning about an answer of the shell that is not exact."""

from __future__ import annotations


class LineageWarning(UserWarning):
    """An answer holds more than the lineage, or lacks something. The message says what."""
