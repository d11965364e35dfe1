"""An actor: records which outputs were made of which inputs.

One thread of a program uses an actor. A commit counts as a whole or not at all. Each recording call returns whether the record is to be
left out. The answer is always no, except in a replay that excludes records.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headwater.capture.associations import BATCH, Associations
from headwater.capture.failures import Failures, name_of
from headwater.spark_listener.lineage.events import now
from headwater.spark_listener.lineage.parents import RunName, new_run_id

if TYPE_CHECKING:
    from headwater.capture.session import Session

_log = logging.getLogger("headwater.capture")
_SETS = (set, frozenset)  # of tags


class Actor:
    """An actor, made by `Session.register`. References come from data of the same session."""

    def __init__(self, session: Session, name: str, type_: str, parents: tuple[Actor, ...], *, limit: int) -> None:
        self.name = name
        self.type = type_
        self.parents = parents
        self.links: list[Actor] = []  # declared: the actors that this one feeds
        self.captures = 0
        self.problems: list[dict[str, Any]] = []
        self.written: set[int] = set()  # containers of committed outputs; `read`: of committed inputs
        self.read: set[int] = set()
        self.began = self.since = ""
        self._session = session
        self._pairs = Associations(limit)
        self._failures = Failures()
        self._before: dict[Any, array[int]] = {}  # by tag: inputs since the last reset
        self._left_out = session.left_out
        self._start()

    def capture(self, input: int, output: int) -> bool:  # noqa: A002 - the words of the paper
        """Record that `output` was made of `input` and of the inputs of other calls. Return whether a replay leaves the record out."""
        pairs = self._pairs
        pairs.inputs.append(input)
        pairs.outputs.append(output)
        if len(pairs.inputs) >= BATCH:
            pairs.spill()
        return bool(self._left_out) and input in self._left_out

    def capture_all(self, inputs: Iterable[int], output: int) -> bool:
        """Record that `output` was made of all `inputs`. Return whether a replay leaves one of them out."""
        return any([self.capture(each, output) for each in inputs])  # noqa: C419 - each is to be recorded

    def add_input(self, input: int, tag: Any = None) -> bool:  # noqa: A002
        """Add an input to every output of the same tag that is added before the next reset of the tag.

        A set of tags stands for each of its tags: the input is added to the outputs of all of them.
        """
        if isinstance(tag, _SETS):
            return any([self.add_input(input, one) for one in tag])  # noqa: C419 - each is to be recorded
        before = self._before.get(tag)
        if before is None:
            before = self._before[tag] = array("q")
        before.append(input)
        return bool(self._left_out) and input in self._left_out

    def add_output(self, output: int, tag: Any = None) -> bool:
        """Record that an output was made of the earlier inputs of the same tag. Inputs before it may have had a part.

        With a set of tags, the output was made of the inputs of all of them.
        """
        before: array[int] | None
        if isinstance(tag, _SETS):
            before = array("q", dict.fromkeys(each for one in tag for each in self._before.get(one, ())))
        else:
            before = self._before.get(tag)
        if before is None:
            return False
        pairs = self._pairs
        pairs.inputs.extend(before)
        pairs.outputs.extend(array("q", [output]) * len(before))
        if len(pairs.inputs) >= BATCH:
            pairs.spill()
        return bool(self._left_out) and not self._left_out.isdisjoint(before)

    def reset(self, tag: Any = None) -> None:
        """Separate later outputs from the inputs of the tag so far. With a set of tags, of each tag."""
        for one in tag if isinstance(tag, _SETS) else (tag,):
            self._before.pop(one, None)

    def flow_link(self, other: Actor) -> None:
        """Declare that this actor feeds another."""
        self.links.append(other)
        self._session.note(self)

    def fail(self, input: int, reason: object = None) -> None:  # noqa: A002
        """Record that processing an input failed, and take back its associations. The input may be captured again.

        A trace of the input then reports the failure and the `reason` (a text or an exception), even if the actor commits nothing more.
        """
        self._pairs.fail(input)
        if not self._session.in_replay:
            self._failures.add(input, reason)
        for before in self._before.values():
            while input in before:
                before.remove(input)

    @property
    def waiting(self) -> int:
        """The number of associations that wait for a commit."""
        return len(self._pairs)

    def commit(self) -> int:
        """Commit the associations since the last commit, and return their number. Commit files only after they are written completely.

        A fault of ours raises nothing: the run's ledger names what could not be kept.
        """
        pairs = self._pairs
        count = 0
        if self._session.in_replay:
            self._session.check_replayed(pairs)  # raises: a fault of a replay ends its program
        try:
            count = self._session.keep(self, pairs)
        except Exception as error:  # noqa: BLE001 - whatever it is, the program goes on
            _log.warning("What %s captured could not be kept: %r", self.name, error)
            self.problem(f"{len(pairs)} association(s) could not be kept: {error!r}", "missing")
        self._keep_failures()
        pairs.clear()
        self.since = now()
        return count

    def restart(self) -> None:
        """Begin a new run of the actor. Associations since the last commit are rolled back, and the ended run reports that."""
        self.roll_back("the actor was restarted")
        self._session.ended(self, "ABORT", None)
        self._start()

    def roll_back(self, why: str) -> None:
        """Discard the associations since the last commit, and report that."""
        if len(self._pairs) or self._before:
            self.problem(f"{why}: {len(self._pairs)} association(s) that were not committed are rolled back", "missing")
        self._pairs.clear()
        self._keep_failures()
        self._before.clear()

    def _keep_failures(self) -> None:
        """Store the failed inputs, even if the associations are lost."""
        failures = self._failures
        if not len(failures) and not failures.left_out:
            return
        try:
            table = self._session.table(name_of(self.run.job))
            self._session.keep(self, failures.pairs(table, self._pairs, self.run.run_id))
        except Exception as error:  # noqa: BLE001 - as at a commit
            _log.warning("Which inputs failed in %s could not be kept: %r", self.name, error)
            self.problem(f"which {len(failures)} input(s) failed could not be kept: {error!r}", "missing")
        if failures.left_out:
            self.problem(f"{failures.left_out} more input(s) failed; they are not listed", "missing")
        failures.clear()

    def close(self) -> None:
        self._pairs.close()

    def problem(self, reason: str, kind: str) -> None:
        self.problems.append({"operator": self.name, "reason": reason, "kind": kind})

    def _start(self) -> None:
        self.run = RunName(self._session.namespace, self._session.job_of(self.name), new_run_id())
        self.captures = 0
        self.problems = []
        self.written, self.read = set(), set()
        self.began = self.since = now()
        self._session.began(self)
