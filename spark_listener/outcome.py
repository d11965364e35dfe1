"""The outcome of a program, of a query, or of the save of an RDD."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a program, query or save. `error` is None after a success.

    `exit_code` is known under `headwater run`. `language` is the language of the error. `cancelled` means that a user ended it, so the
    program has no fault.
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
    """Return whether an error text of Python means that a user cancelled the work."""
    return error.startswith("KeyboardInterrupt") or "[SPARK_JOB_CANCELLED]" in error
