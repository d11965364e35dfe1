"""The messages between the service and a process that reads bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.backend.ingest.intake.bodies import BodyTooLargeError


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one body: seconds of processor time, and bytes of memory."""

    seconds: float
    memory: int

    def too_long(self) -> BodyTooLargeError:
        return BodyTooLargeError(
            f"The body takes more than {self.seconds:g} s of processor time to read.",
            field="body",
            hint="Send it in parts, or raise HEADWATER_BODY_SECONDS.",
        )

    def too_much(self) -> BodyTooLargeError:
        return BodyTooLargeError(
            f"The body takes more than {self.memory / 2**30:g} GiB of memory to read.", field="body", hint="Send it in parts."
        )


@dataclass(frozen=True, slots=True)
class Task:
    """A function of a module, and its arguments, which include the body."""

    read: Callable[..., Any]
    arguments: Sequence[Any]
