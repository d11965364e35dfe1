"""Frames with taps, checkpointed in place of the program's frames so that rows are recorded: PySpark's side of the JVM's `Checkpoint`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TappedFrame:
    """`frame` is PySpark's, with the plan of the program's frame and taps in it. None: the program's frame is checkpointed, unrecorded."""

    frame: Any | None
    java: Any

    @classmethod
    def of(cls, frame: Any, bridge: Any) -> TappedFrame | None:
        """The tapped frame of PySpark's `frame`; None if records are not captured. No job runs."""
        java = bridge.checkpoint(frame._jdf)  # noqa: SLF001  # there is no public way to the JVM's object
        if java is None:
            return None
        tapped = java.frame()
        return cls(None if tapped is None else type(frame)(tapped, frame.sparkSession), java)

    def made(self, checkpoint: Any) -> None:
        """The program received `checkpoint`, a frame that reads the rows."""
        self.java.made(checkpoint._jdf)  # noqa: SLF001  # as above
