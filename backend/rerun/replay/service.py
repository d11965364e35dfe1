"""The replays of one home, for GraphQL and the command line: start, follow, list and remove them.

One replay runs at a time, because each starts Spark applications. Others wait in a queue. A replay that ran when the service died is marked
as failed the next time that somebody looks at it. The service never resumes it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shutil
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from headwater.backend.rerun.replay.compare import compare
from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.local_copies import fetched
from headwater.backend.rerun.replay.model import FAULT, Difference, Replay, ReplayState, Step
from headwater.backend.rerun.replay.plan import applications_between
from headwater.backend.rerun.replay.process_wait import in_thread_left_behind
from headwater.backend.rerun.replay.replayed_places import place_named, places_written
from headwater.backend.rerun.replay.runner import run_steps
from headwater.errors import HeadwaterError, InvalidQueryError, SourceChangedError, UnsupportedError
from headwater.graph.model import parse_id
from headwater.graph.records import DataRoots
from headwater.graph.storage.addresses import is_remote
from headwater.graph.stores import GraphStore
from headwater.graph.trace import Grain, TraceAnswer, TraceRequest
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.replay import met_file
from headwater.spark_listener.shadow_paths import ShadowPaths

_FILE = "replay.json"
_log = logging.getLogger("headwater.replay")
_ID = re.compile(r"[0-9a-f]{32}")


class Tracer(Protocol):
    """Answers a trace request of one tenant."""

    def __call__(self, tenant: str, request: TraceRequest) -> Awaitable[TraceAnswer]: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """Records to exclude: `files` maps a file to record numbers, `datasets` contain these files, `outputs` depend on the records."""

    files: Mapping[str, Sequence[int]]
    datasets: Sequence[str]
    outputs: Sequence[str]


def _selection(request: TraceRequest, answer: TraceAnswer) -> Selection:
    if not answer.selected:
        raise InvalidQueryError(
            f"No record of {request.dataset} was selected.", field="where", hint="Look at the records first: `headwater trace … --where …`."
        )
    files: dict[str, list[int]] = {}
    for record in answer.selected:
        if record.grain is not Grain.RECORD or record.file is None or record.row is None:
            raise InvalidQueryError(f"{record.dataset} is known at the grain of a {record.grain}; only records can be left out.")
        files.setdefault(record.file, []).append(record.row)
    outputs = list(dict.fromkeys(record.dataset for record in answer.records))
    if not outputs:
        output = request.to or "any output"
        if lacking := [f"{entry.what}: {entry.reason}" for entry in answer.incomplete if entry.effect == "missing"]:
            reason = f"Whether the selected records of {request.dataset} had a part in {output} is not known: {'; '.join(lacking)}."
            raise InvalidQueryError(reason, hint="Run the program again on what is there now, then replay that run.")
        raise InvalidQueryError(f"The selected records of {request.dataset} had no part in {output}.", hint="There is nothing to replay.")
    if request.to is None and len(outputs) > 1:
        raise InvalidQueryError(f"The selected records reach {', '.join(outputs)}.", field="output", hint="Say which one to replay.")
    return Selection(files, list(dict.fromkeys(record.dataset for record in answer.selected)), outputs)


class Replays:
    """Implements the schema's `ReplayService` over the folder `replays/` of a home."""

    def __init__(
        self, folder: Path, graph: GraphStore, trace: Tracer, registry: Registry, sources: DataRoots, turn: asyncio.Lock | None = None
    ) -> None:
        self._folder = folder
        self._graph = graph
        self._trace = trace
        self._registry = registry
        self._sources = sources
        self._one_at_a_time = turn or asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> str:
        """Plan a replay without the selected records, queue it, and return its id.

        Raises:
            InvalidQueryError: the selection is empty or does not select records.
            NotFoundError: nothing leads to `output`.
            UnsupportedError: a program on the way is not registered or changed since, or `output` cannot be read.
        """
        replay = await self.plan(tenant, dataset, where, rows, output)
        task = asyncio.create_task(self._run_in_turn(replay))
        self._tasks[replay.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(replay.id, None))
        return replay.id

    async def plan(self, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> Replay:
        """Return the replay that `start` would run, kept as queued. Raises like `start`."""
        selection = await self._select(tenant, dataset, where, rows, output)
        target = selection.outputs[0]
        _check_readable(target, self._sources)
        upstream = await upstream_of(self._graph, tenant, target)
        applications = applications_between(upstream.flows, selection.datasets, target)
        steps = [Step(job=upstream.names.get(one, one), invocation=upstream.invocation(one, self._registry)) for one in applications]
        states = await asyncio.to_thread(_states, selection.files, self._sources)
        identifier = uuid.uuid4().hex
        replay = Replay(
            id=identifier, tenant=tenant, output=target, within=place_named(target, output), started_at=_now(),
            shadow=str(self._folder / identifier / "data"),
            exclude=selection.files, states=states, steps=steps, process=os.getpid(),
        )  # fmt: skip
        self._save(replay)
        return replay

    async def run(self, replay: Replay, changed: Callable[[Replay], None] = lambda _: None) -> Replay:
        """Run a planned replay to its end, in threads. `changed` is called after each step."""

        def save(now: Replay) -> None:
            self._save(now)
            changed(now)

        replay.state = ReplayState.RUNNING
        save(replay)
        try:
            await asyncio.to_thread(_check_unchanged, replay, self._sources)
            await in_thread_left_behind(run_steps, replay, self._folder / replay.id, save)
            await asyncio.to_thread(_check_unchanged, replay, self._sources)
            _check_met(replay)
            replay.differences, replay.differing = await asyncio.to_thread(_differences, replay, self._sources, self._folder / replay.id)
            replay.state = ReplayState.COMPLETE
        except HeadwaterError as error:
            replay.state, replay.error = ReplayState.FAILED, str(error)
        except Exception as error:  # the state must never stay "running" when nothing runs
            replay.state, replay.error = ReplayState.FAILED, f"{FAULT}{error!r}"
            raise
        finally:
            replay.ended_at = _now()
            save(replay)
        return replay

    async def get(self, tenant: str, identifier: str) -> Replay | None:
        """Return the current state of a replay, or None if there is no such id.

        Raises:
            InvalidQueryError: the text is not an id.
        """
        if not _ID.fullmatch(identifier):
            raise InvalidQueryError(f"{identifier!r} is not the id of a replay.", hint="An id is 32 hexadecimal digits.")
        replay = await asyncio.to_thread(self._load, self._folder / identifier / _FILE)
        return self._settled(replay) if replay and replay.tenant == tenant else None

    async def list(self, tenant: str, first: int) -> Sequence[Replay]:
        """Return the latest replays, newest first."""
        found = await asyncio.to_thread(lambda: [self._load(file) for file in self._folder.glob(f"*/{_FILE}")])
        mine = [self._settled(replay) for replay in found if replay and replay.tenant == tenant]
        return sorted(mine, key=lambda replay: replay.started_at, reverse=True)[:first]

    async def remove(self, tenant: str, identifier: str) -> Replay | None:
        """Remove an ended replay and its shadow folder. Returns None if there is no such id.

        Raises:
            InvalidQueryError: the replay waits or runs, or the text is not an id.
        """
        found = await self.get(tenant, identifier)
        if found is not None:
            if found.state in (ReplayState.QUEUED, ReplayState.RUNNING):
                raise InvalidQueryError(f"The replay {identifier} has not ended.", field="id", hint="Remove it when it has.")
            await asyncio.to_thread(shutil.rmtree, self._folder / identifier)
        return found

    async def close(self) -> None:
        """Stop waiting for running programs. They run to their own end in their shadow folder."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _run_in_turn(self, replay: Replay) -> None:
        async with self._one_at_a_time:
            await self.run(replay)

    async def _select(self, tenant: str, dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None) -> Selection:
        request = TraceRequest(dataset=dataset, where=where, rows=rows, forward=True, to=output, values=False)
        return _selection(request, await self._trace(tenant, request))

    @staticmethod
    def _settled(replay: Replay) -> Replay:
        """Mark a replay as failed if its file says that it runs but its process is gone."""
        if replay.state in (ReplayState.QUEUED, ReplayState.RUNNING) and not _alive(replay.process):
            replay.error = "The process that ran this replay stopped before its end. Start it again."
            replay.state = ReplayState.FAILED
        return replay

    def _save(self, replay: Replay) -> None:
        folder = self._folder / replay.id
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = folder / f"{_FILE}.tmp"
        partial.write_text(replay.model_dump_json(indent=1), encoding="utf-8")
        partial.replace(folder / _FILE)

    @staticmethod
    def _load(file: Path) -> Replay | None:
        try:
            return Replay.model_validate_json(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValidationError as error:  # written by an earlier version; it must not hide the others
            _log.warning("the replay in %s cannot be read and is not listed: %d fields differ", file.parent, error.error_count())
            return None


def _differences(replay: Replay, sources: DataRoots, folder: Path) -> tuple[list[Difference], int]:
    place = _place(replay.output)
    after = ShadowPaths(replay.shadow).folder(place)
    places = places_written(replay.output, after, replay.within)
    if not is_remote(place):
        return compare(replay.output, Path(place), after, sources=sources, places=places)
    with fetched(sources, place, folder) as copy:
        return compare(replay.output, copy, after, sources=DataRoots.of([copy]), places=places)


def _states(files: Iterable[str], sources: DataRoots) -> dict[str, tuple[int, int]]:
    """Return the current length and modification time of files, without files that may not be read here."""
    look, found = sources.look(), {}
    for file in files:
        with suppress(UnsupportedError, OSError):
            block = look.block(file)
            found[file] = (block.length, block.modified)
    return found


def _check_unchanged(replay: Replay, sources: DataRoots) -> None:
    """Check that the files of excluded records are unchanged since the records were chosen.

    Raises:
        SourceChangedError: a file changed, so its records have other numbers now.
    """
    found = _states(replay.states, sources)
    for file, then in replay.states.items():
        if (now := found.get(file)) != then:
            reason = "is gone" if now is None else f"had {then[0]} bytes, modified at {then[1]} ms; it has {now[0]}, at {now[1]}"
            raise SourceChangedError(f"{file} has changed since records of it were chosen: it {reason}.", hint="Start the replay again.")


def _check_met(replay: Replay) -> None:
    """Check that the programs excluded the records of every file.

    Raises:
        UnsupportedError: no program excluded the records of a file, because it was read in another way (JDBC, Iceberg).
    """
    listed = met_file(replay.shadow)
    met = {json.loads(line) for line in listed.read_text(encoding="utf-8").splitlines()} if listed.exists() else set()
    if lacking := sorted(set(replay.exclude) - met):
        raise UnsupportedError(
            f"The records of {lacking[0]} were left out by no program that was run again, so what came out says nothing of them.",
            hint="Records of files that Spark reads by their paths can be left out; rows of databases and of tables of Iceberg cannot yet.",
        )


def _check_readable(output: str, sources: DataRoots) -> None:
    """Check that an output can be compared.

    Raises:
        UnsupportedError: files of this place cannot be read, or no root of remote storage contains it.
    """
    place = _place(output)
    if not is_remote(place):
        sources.look().path(place)
    elif not sources.remote.covers(place):
        raise UnsupportedError(
            f"{place} lies below no root of remote storage, so a replay cannot compare it.", hint="Name it as a root in storage.toml."
        )


def _place(dataset: str) -> str:
    """Return the place of a dataset: a path, or a URI of remote storage.

    Raises:
        UnsupportedError: the dataset has neither.
    """
    namespace, name = parse_id(dataset)[1]
    if namespace == "file":
        return name
    place = f"{namespace.rstrip('/')}/{name.lstrip('/')}"
    if not is_remote(place):
        raise UnsupportedError(f"{dataset} is neither on a local file system nor on an object store, so a replay cannot compare it.")
    return place


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
