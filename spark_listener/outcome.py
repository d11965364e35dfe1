"""How something ended: a program, a query, the saving of an RDD."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` None: well. `exit_code` is known where the program ran under `headwater run`; `language` is that of the error."""

    error: str | None = None
    stack_trace: str | None = None
    exit_code: int | None = None
    language: str = "PYTHON"

    @property
    def failed(self) -> bool:
        return self.error is not None or bool(self.exit_code)
