"""How something ended: a program, a query, the saving of an RDD."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` None: well. `exit_code` is known where the program ran under `headwater run`; `language` is that of the error.

    `cancelled`: somebody ended it, as opposed to a fault of its own.
    """

    error: str | None = None
    stack_trace: str | None = None
    exit_code: int | None = None
    language: str = "PYTHON"
    cancelled: bool = False

    @property
    def failed(self) -> bool:
        return self.error is not None or bool(self.exit_code)


def is_cancelled(error: str) -> bool:
    """Whether an error, as Python's text of it, says that somebody ended the work."""
    return error.startswith("KeyboardInterrupt") or "[SPARK_JOB_CANCELLED]" in error
