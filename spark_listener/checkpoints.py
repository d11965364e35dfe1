"""DataFrames with taps for checkpoints: Spark checkpoints them in place of the program's, so that their rows are recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TappedFrame:
    """A DataFrame to checkpoint: the plan of the program's with taps. If `frame` is None, the program's own is checkpointed."""

    frame: Any | None
    java: Any

    @classmethod
    def of(cls, frame: Any, bridge: Any) -> TappedFrame | None:
        """Return PySpark's `frame` with taps. None if records are not captured. No job runs."""
        java = bridge.checkpoint(frame._jdf)  # noqa: SLF001  # there is no public way to the JVM's object
        if java is None:
            return None
        tapped = java.frame()
        return cls(None if tapped is None else type(frame)(tapped, frame.sparkSession), java)

    def made(self, checkpoint: Any) -> None:
        """Register `checkpoint`, the DataFrame that the program received from the checkpoint."""
        self.java.made(checkpoint._jdf)  # noqa: SLF001  # as above
