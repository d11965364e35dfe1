"""The process that reads bodies: one at a time, until its standard input ends.

`Readers` starts it as `python -m headwater.backend.ingest.bodies.child`. It has no store and no file. A function of
`backend.ingest.intake` reads the body in this thread alone, so that a signal can end the reading between any two
steps: when the caller leaves (SIGUSR1), or at the limit of processor time (SIGPROF). Its memory is limited. It has
the priority of the service, because a request waits for it. With a lower priority, a body of two seconds of processor
time would take half a minute on a busy machine.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType
from typing import Any, BinaryIO

from headwater.backend.ingest.bodies.messages import Limits, Task
from headwater.backend.ingest.intake import captures, declarations, event_namespaces, prov  # noqa: F401 - what tasks name is there before the first
from headwater.backend.process.child_errors import QuestionEndedError
from headwater.backend.process.child_process import Reply, limit_memory
from headwater.backend.process.messages import packed, read
from headwater.errors import HeadwaterError

_log = logging.getLogger("headwater.bodies")


class _LeftError(BaseException):
    """The client has disconnected, so the result is not needed."""


class _TooLongError(BaseException):
    """Reading the body has reached the limit of processor time."""


class _Reading:
    """The current reading, for the signal handlers. Between two tasks they ignore signals."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._is_at_work = False
        signal.signal(signal.SIGUSR1, self._end)
        signal.signal(signal.SIGPROF, self._end)

    def reply(self, task: Task) -> Reply:
        try:
            self._is_at_work = True
            signal.setitimer(signal.ITIMER_PROF, self._limits.seconds)
            answer = task.read(*task.arguments)
            self._is_at_work = False
        except _LeftError:
            return Reply(0, error=QuestionEndedError("Nobody waits for it any more."))
        except _TooLongError:
            return Reply(0, error=self._limits.too_long())
        except MemoryError:
            return Reply(0, error=self._limits.too_much())
        except HeadwaterError as error:
            return Reply(0, error=error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next body must be read
            _log.error("a body could not be read", exc_info=error)
            return Reply(0, error=RuntimeError(f"{type(error).__name__}: {error}"))
        finally:
            self._is_at_work = False
            signal.setitimer(signal.ITIMER_PROF, 0)
        return Reply(0, answer)

    def _end(self, number: int, _: FrameType | None) -> None:
        if self._is_at_work:
            self._is_at_work = False
            raise _TooLongError if number == signal.SIGPROF else _LeftError


def main() -> None:
    requests: BinaryIO = os.fdopen(os.dup(0), "rb")
    replies: BinaryIO = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # text that a library prints must not be mixed with the replies
    limits: Any = read(requests)
    if limits is None:
        return
    reading = _Reading(limits)
    if sys.platform == "linux":
        limit_memory(limits.memory)
    replies.write(packed(Reply(0)))
    replies.flush()
    while (task := read(requests)) is not None:
        replies.write(packed(reading.reply(task)))
        replies.flush()


if __name__ == "__main__":
    main()
