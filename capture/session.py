"""A session: the pipeline that a program is, with its actors and their data, and the spool that takes what they commit to its destination.

One a process; a process that was forked makes its own. Wrong use raises at once. What fails later (a full disk, a service that is away)
never reaches the program: the spool keeps what it can, and the runs say what is missing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from headwater.capture.actor import Actor
from headwater.capture.associations import Associations
from headwater.capture.data import Bytes, Data, Rows, Stream, Table, checked_name
from headwater.capture.events import actor_event, pipeline_event
from headwater.capture.failures import FailedPairs
from headwater.capture.forks import renewed
from headwater.capture.known import Known
from headwater.capture.types import declared_type
from headwater.errors import ConfigurationError, HeadwaterError, InvalidInputError, UnsupportedError
from headwater.spark_listener.delivery.route import Report, Route
from headwater.spark_listener.lineage.events import now
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.parents import RunName, given_parent, new_run_id
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.replay import ReplayOrder
from headwater.spark_listener.settings import load_settings
from headwater.spark_listener.spool import SpoolFolder

_log = logging.getLogger("headwater.capture")


class Session:
    """The session of the pipeline `name`.

    `settings` are those of the Spark side, by name: `home`, `namespace`, `url`, `api_key`, `exit_wait`. `replayable`: the program reads
    and writes at the `read_path` and `write_path` of its data, and leaves out the records that calls say are left out.

    Raises:
        ConfigurationError: a setting cannot be used, or the spool cannot be written.
        UnsupportedError: this is a replay, and the program is not replayable.
    """

    def __init__(self, name: str, *, replayable: bool = False, **settings: Any) -> None:
        self.settings = load_settings(**settings)
        self.namespace = self.settings.namespace
        self.pipeline = RunName(self.namespace, checked_name(name, "name"), new_run_id())
        self.report: Report | None = None
        self._lock = RLock()
        renewed(self)
        self._process = os.getpid()
        import_module("headwater.capture.manifest")  # now: a fork amid a first import hangs a child that imports the same
        order = ReplayOrder.from_environment()
        if order is not None and not replayable:
            raise UnsupportedError(
                f"The program of session {name} cannot be replayed: nothing leads what it writes to a shadow.",
                hint="Use `read_path` and `write_path` of its data, then say Session(…, replayable=True).",
            )
        self._known = Known(order)
        self.left_out = self._known.left_out
        self._types: dict[str, dict[str, Any]] = {}
        self._actors: dict[str, Actor] = {}
        self._folder: SpoolFolder
        self._route: Route
        self._folder, self._route = self._spooled(name) if order is None else _unspooled(order)
        start = pipeline_event("START", now(), self.pipeline, self._ledger("running", ()), given_parent(os.environ), None)
        self._folder.describe(application=str(self.pipeline.run_id), start=start, ended=False)
        self._folder.event(start, durable=True)
        self._route.add(self._folder)

    def declare(
        self, name: str, *, axis: str = "actor", within: Iterable[str] = (), holds: Iterable[str] = (), after: Iterable[str] = ()
    ) -> None:
        """Declare a type of actors (or data): what may contain it, what it may contain, and which types feed it within one container.

        Raises:
            InvalidInputError: it is no name of a type, or no axis.
        """
        self._check_process()
        self._types[name] = declared_type(name, axis, within, holds, after)

    def register(self, name: str, type: str, parents: Iterable[Actor] = ()) -> Actor:  # noqa: A002 - the word of the paper
        """An actor of a type, contained in others. One of the same name is restarted: what it did not commit is rolled back.

        Raises:
            InvalidInputError: it is no name, or the one of that name has another type.
        """
        self._check_process()
        with self._lock:
            known = self._actors.get(checked_name(name, "name"))
            if type not in self._types:
                self.declare(type)
            if known is not None:
                if known.type != type:
                    raise InvalidInputError(f"{name} is a {known.type}.", field="type", hint="Choose another name.")
                known.restart()
                return known
            made = Actor(self, name, type, tuple(parents), limit=self.settings.spool_bytes)
            self._actors[name] = made
            return made

    def rows(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - the word of Spark's reader
        options: Mapping[str, Any] | None = None,
        columns: Sequence[tuple[str, str]] = (),
        dataset: str | Path | None = None,
    ) -> Rows:
        """The records of a file, by number from 0. `format` is by the path's ending, else `text`: its lines.

        `options` are those of Spark's reader (`header`). `columns` are pairs of a name and a type of Spark. `dataset` is the folder that
        the file is a part of, if it is one of many.

        Raises:
            InvalidInputError: `columns` have another form.
        """
        self._check_process()
        return self._known.rows(path, format, options or {}, columns, dataset)

    def bytes(self, path: str | Path, *, dataset: str | Path | None = None) -> Bytes:
        """The ranges of bytes of a file, by offset and length."""
        self._check_process()
        return self._known.bytes(path, dataset)

    def stream(self, name: str) -> Stream:
        """A stream, by position."""
        self._check_process()
        return self._known.stream(name)

    def table(self, name: str, *, version: int = 0) -> Table:
        """A table, by key. A writer that replaces rows counts `version` up, and a reader says which it read."""
        self._check_process()
        return self._known.table(name, version)

    def close(self, error: str | None = None) -> None:
        """End the session: what was not committed is rolled back, and said; what was is delivered, as far as that goes in time."""
        if self.report is not None or os.getpid() != self._process:
            return
        for actor in self._actors.values():
            actor.roll_back("the session ended")
            self.ended(actor, "FAIL" if error else "COMPLETE", error)
            actor.close()
        problems = [problem for actor in self._actors.values() for problem in actor.problems]
        ledger = self._ledger("partial" if problems else "complete", problems)
        self._folder.last_event(
            pipeline_event("FAIL" if error else "COMPLETE", now(), self.pipeline, ledger, given_parent(os.environ), error)
        )
        self._folder.describe(ended=True)
        self.report = self._route.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(f"{kind.__name__}: {error}" if kind else None)

    def _spooled(self, name: str) -> tuple[SpoolFolder, Route]:
        try:
            folder = SpoolFolder.create(self.settings.home / "spool", f"{name[:80]}-{uuid4().hex[:8]}", limit=self.settings.spool_bytes)
        except OSError as error:
            raise ConfigurationError(
                f"The spool in {self.settings.home} cannot be written: {error}.", hint="Set HEADWATER_HOME."
            ) from error
        route = Route.choose(self.settings)
        if route.sends:
            import_module("headwater.spark_listener.delivery.http")  # as above: else a thread would import it
        return folder, route

    # What actors ask of their session.

    @property
    def in_replay(self) -> bool:
        """Whether records may be left out, and nothing is kept."""
        return self._known.order is not None

    def check_replayed(self, pairs: Associations) -> None:
        """See that what was written in a replay is in its shadow.

        Raises:
            UnsupportedError: it is not.
        """
        from headwater.capture.manifest import ordinals_of

        self._check_process()
        for _, outputs in pairs.batches():
            for ordinal in ordinals_of(outputs):
                container = self._known[ordinal][1]
                if container.local is not None and self._known.shadow is not None:
                    self._known.shadow.check(container.local)

    def job_of(self, actor: str) -> str:
        """The name of an actor's job."""
        return f"{self.pipeline.job}.{actor}"

    def began(self, actor: Actor) -> None:
        """A run of an actor began."""
        event = self._event("START", actor, "running")
        self._folder.run_began(actor.run.run_id, event)
        self._folder.event(event, durable=True)

    def note(self, actor: Actor) -> None:
        """Something was declared of an actor."""
        self._check_process()
        self._folder.event(self._event("RUNNING", actor, "running"))

    def ended(self, actor: Actor, kind: str, error: str | None) -> None:
        """A run of an actor ended."""
        self._check_process()
        self._folder.event(self._event(kind, actor, "partial" if actor.problems else "complete", error), durable=True)
        self._folder.run_ended(actor.run.run_id)

    def keep(self, actor: Actor, pairs: Associations | FailedPairs) -> int:
        """Spool the captures of a commit; how many associations they have."""
        from headwater.capture.manifest import Committed, capture_of, ordinals_of

        self._check_process()
        if self.in_replay or (not len(pairs) and not pairs.dropped):
            return len(pairs)
        flows: dict[Data, set[int]] = {}  # by output: the containers of its inputs
        written: dict[Data, set[int]] = {}
        count = 0
        for inputs, outputs in pairs.batches():
            count += len(inputs)
            read = ordinals_of(inputs)
            for ordinal in ordinals_of(outputs):
                written.setdefault(self._known[ordinal][0], set()).add(ordinal)
                flows.setdefault(self._known[ordinal][0], set()).update(read)
        every_input: set[int] = set().union(*flows.values())
        self._known.check(every_input)
        actor.written.update(*written.values())
        actor.read.update(every_input)
        problems = self._state(actor, every_input, pairs.dropped)
        ended = now()
        made_of: list[dict[str, Any]] = []
        for data, ordinals in written.items():
            sources = self._known.parts(flows[data])
            for output in self._known.parts(ordinals):
                committed = Committed(
                    self._folder.segments, f"{actor.name} ({actor.type})", output, sources, self._known.stated, pairs.batches()
                )
                made_of.append(capture_of(committed))
        for parts in made_of:  # all of them could be made: from here on they count
            self._spool(actor, parts, ended, problems)
        return count

    def _state(self, actor: Actor, read: set[int], dropped: int) -> list[dict[str, Any]]:
        """What is to be said of a commit; the files are registered for reading."""
        paths, problems = self._known.look(actor.written, actor.read, read)
        if dropped:
            problems.append((f"{dropped} association(s) had no room (HEADWATER_SPOOL_BYTES)", "missing"))
        try:
            Registry(self.settings.home).add_roots(paths)
        except (HeadwaterError, OSError) as error:
            _log.warning("The files of this session could not be registered for reading: %s", error)
        for reason, kind in problems:
            actor.problem(reason, kind)
        return [{"operator": actor.name, "reason": reason, "kind": kind} for reason, kind in problems]

    def _spool(self, actor: Actor, parts: dict[str, Any], ended: str, problems: list[dict[str, Any]]) -> None:
        run = actor.run
        manifest = {
            **parts, "run": {"namespace": run.namespace, "job": run.job, "runId": run.run_id},
            "application": {"id": self.pipeline.run_id, "name": self.pipeline.job, "spark": ""},
            "started": actor.since, "ended": ended, "mode": "active", "problems": problems,
            "status": "partial" if any(problem["kind"] == "missing" for problem in problems) else "complete",
        }  # fmt: skip
        if self._folder.capture(manifest):
            actor.captures += 1
        else:
            actor.problem("the spool is full (HEADWATER_SPOOL_BYTES), so record lineage was dropped", "missing")
        self._route.wake()

    def _event(self, kind: str, actor: Actor, status: str, error: str | None = None) -> dict[str, Any]:
        inputs, outputs = ({self._known[ordinal][0] for ordinal in ordinals} for ordinals in (actor.read, actor.written))
        ledger = self._ledger(status, actor.problems)
        at = actor.began if kind == "START" else now()
        return actor_event(kind, at, actor, self.pipeline, ledger, list(self._types.values()), inputs, outputs, error)

    @staticmethod
    def _ledger(status: str, problems: Sequence[Mapping[str, Any]]) -> Ledger:
        return Ledger(status=status, mode="active", problems=problems)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise ConfigurationError("This session belongs to the process that forked this one.", hint="Make a Session in the child.")


def _unspooled(order: ReplayOrder) -> tuple[Any, Any]:
    from headwater.capture.replayed import Nowhere  # replays alone need it

    nowhere = Nowhere(order)
    return nowhere, nowhere
