"""A session: the pipeline of a program with its actors and their data, and the spool that delivers their commits.

A process has one session; a forked process makes its own. Wrong use raises at once. A later fault (a full disk, an unreachable service)
never reaches the program: the spool keeps what it can, and the runs report what is missing.
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
from headwater.capture.known import SessionData
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

    `settings` have the names of the Spark settings: `home`, `namespace`, `url`, `api_key`, `exit_wait`. With `replayable` the program reads
    and writes at the `read_path` and `write_path` of its data, and leaves out records for which a call returns True.

    Raises:
        ConfigurationError: a setting is invalid, or the spool cannot be written.
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
        import_module("headwater.capture.manifest")  # now: a fork during the first import would block the child's import
        order = ReplayOrder.from_environment()
        if order is not None and not replayable:
            raise UnsupportedError(
                f"The program of session {name} cannot be replayed: nothing leads what it writes to a shadow.",
                hint="Use `read_path` and `write_path` of its data, then say Session(…, replayable=True).",
            )
        if order is not None and (order.keep or order.restrict or order.edits):
            raise UnsupportedError(
                f"The program of session {name} can be replayed without records or as it is, but not on chosen or edited records.",
                hint="Kinds selective and what-if cover Spark programs. Use --without, --changed, --script or --kind verify.",
            )
        self._known = SessionData(order)
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
        """Declare a type of actors or data: its containers, its contents, and the types that feed it within one container.

        Raises:
            InvalidInputError: the name or the axis is invalid.
        """
        self._check_process()
        self._types[name] = declared_type(name, axis, within, holds, after)

    def register(self, name: str, type: str, parents: Iterable[Actor] = ()) -> Actor:  # noqa: A002 - the word of the paper
        """Register an actor of a type, contained in others. An existing actor is restarted, and rolls back what is uncommitted.

        Raises:
            InvalidInputError: the name is invalid, or the actor exists with another type.
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
        """Return the records of a file, by number from 0. Without `format` the file name decides; other files are `text`.

        `options` are options of Spark's reader (`header`). `columns` are pairs of a name and a Spark type. `dataset` is the folder of the
        dataset, if the file is one of many.

        Raises:
            InvalidInputError: `columns` have another form.
        """
        self._check_process()
        return self._known.rows(path, format, options or {}, columns, dataset)

    def bytes(self, path: str | Path, *, dataset: str | Path | None = None) -> Bytes:
        """Return the ranges of bytes of a file, by offset and length."""
        self._check_process()
        return self._known.bytes(path, dataset)

    def stream(self, name: str) -> Stream:
        """Return a stream, by position."""
        self._check_process()
        return self._known.stream(name)

    def table(self, name: str, *, version: int = 0) -> Table:
        """Return a table, by key. A writer that replaces rows increases `version`, and a reader states the version that it read."""
        self._check_process()
        return self._known.table(name, version)

    def close(self, error: str | None = None) -> None:
        """End the session. Uncommitted associations are rolled back and reported. The rest is delivered, within a time limit."""
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
            import_module("headwater.spark_listener.delivery.http")  # as above: otherwise a thread would import it
        return folder, route

    # The methods for actors.

    @property
    def in_replay(self) -> bool:
        """Whether this session runs in a replay: records may be left out, and nothing is kept."""
        return self._known.order is not None

    def check_replayed(self, pairs: Associations) -> None:
        """Check that files written in a replay are in its shadow.

        Raises:
            UnsupportedError: a file is elsewhere.
        """
        from headwater.capture.manifest import ordinals_of

        self._check_process()
        for _, outputs in pairs.batches():
            for ordinal in ordinals_of(outputs):
                container = self._known[ordinal][1]
                if container.local is not None and self._known.shadow is not None:
                    self._known.shadow.check(container.local)

    def job_of(self, actor: str) -> str:
        return f"{self.pipeline.job}.{actor}"

    def began(self, actor: Actor) -> None:
        event = self._event("START", actor, "running")
        self._folder.run_began(actor.run.run_id, event)
        self._folder.event(event, durable=True)

    def note(self, actor: Actor) -> None:
        self._check_process()
        self._folder.event(self._event("RUNNING", actor, "running"))

    def ended(self, actor: Actor, kind: str, error: str | None) -> None:
        self._check_process()
        self._folder.event(self._event(kind, actor, "partial" if actor.problems else "complete", error), durable=True)
        self._folder.run_ended(actor.run.run_id)

    def keep(self, actor: Actor, pairs: Associations | FailedPairs) -> int:
        """Spool the captures of a commit, and return the number of their associations."""
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
        for parts in made_of:  # all captures are complete: now they count
            self._spool(actor, parts, ended, problems)
        return count

    def _state(self, actor: Actor, read: set[int], dropped: int) -> list[dict[str, Any]]:
        """Return the statements of a commit. The files of the commit become readable for traces."""
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
    from headwater.capture.replayed import Nowhere  # used by replays only

    nowhere = Nowhere(order)
    return nowhere, nowhere
