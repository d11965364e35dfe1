"""The outcome of a program, a query, or the save of an RDD."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is None after a success. `exit_code` is known under `headwater run`; `language` is the language of the error.

    `cancelled`: somebody ended it, so it is not a fault of the program.
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
    """Whether an error text of Python says that somebody ended the work."""
    return error.startswith("KeyboardInterrupt") or "[SPARK_JOB_CANCELLED]" in error
