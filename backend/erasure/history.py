"""The runs that made the present data of datasets. An erasure repeats them in the order in which they ran.

A replay repeats the latest run of each job. Several runs may have made the data of a dataset: one that replaced it, and others that
appended to it. An erasure repeats all of them. A run must never be repeated on other data than it had, because other records would change.
Whatever is not known for certain is a reason not to make a dataset again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater.backend.rerun.replay.invocations import Upstream
from headwater.backend.rerun.replay.kinds.kind import Sources, place_of
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.backend.rerun.replay.plan import Flow
from headwater.backend.rerun.replay.starting_point import files_read, is_below
from headwater.errors import HeadwaterError
from headwater.graph.model import Node, NodeKind, bare_name, parse_id
from headwater.graph.records import AssociationStore, FileBlock
from headwater.graph.versions.blocks import Block, BlockMode, list_blocks
from headwater.graph.versions.collection import list_block_files
from headwater.spark_listener.registry import Registry

_INPUT = "input:"  # a run has a property with this prefix for each dataset that it read


@dataclass(slots=True)
class RepeatedRun:
    """An application run to repeat: its name, its job, when it began, and the datasets that it read and wrote."""

    application: str
    name: str = ""
    job: tuple[str, str] = ("", "")
    began: str = ""
    runs: dict[str, Node] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class History:
    """The runs to repeat, by application, and the reasons why a dataset cannot be made again."""

    runs: dict[str, RepeatedRun] = field(default_factory=dict)
    blocks: dict[str, list[Block]] = field(default_factory=dict)  # the blocks of the present data, by dataset
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def doubt(self, dataset: str, reason: str) -> None:
        found = self.reasons.setdefault(dataset, [])
        if reason not in found:
            found.append(reason)

    def makers(self, dataset: str) -> list[RepeatedRun]:
        return [run for run in self.ordered() if dataset in run.writes]

    def ordered(self) -> list[RepeatedRun]:
        return sorted(self.runs.values(), key=lambda run: (run.began, run.application))

    def upstream(self) -> Upstream:
        """Return the runs in the form that a replay takes, in their order."""
        ordered = self.ordered()
        flows = [Flow(run.application, frozenset(run.reads), frozenset(run.writes)) for run in ordered]
        return Upstream(flows, {run.application: run.job for run in ordered}, {run.application: run.name for run in ordered})


async def find_history(
    names: Sequence[str], datasets: Sequence[str], deleted: Collection[str], records: AssociationStore, registry: Registry,
    sources: Sources, renewed: Collection[str] = (),
) -> History:  # fmt: skip
    """Return the runs that made the present data of `datasets`, which derive from the source. `names` are the names of the source.

    `renewed` are the URIs of files of the source that the erasure has replaced, so they are not compared with what the runs read.
    A dataset that cannot be made again has reasons, and so has every dataset that a repeated run makes of it.
    """
    search = _Search(set(names), set(datasets), set(deleted), records, registry, sources, set(renewed))
    await search.run()
    return search.history


def present_blocks(blocks: list[Block]) -> list[Block]:
    """Return the blocks of the present data: the last block that may have replaced the others, and what was added to it."""
    first = max((number for number, block in enumerate(blocks) if block.mode is not BlockMode.DELTA), default=0)
    return blocks[first:]


class _Search:
    def __init__(
        self, names: set[str], datasets: set[str], deleted: set[str], records: AssociationStore, registry: Registry, sources: Sources,
        renewed: set[str],
    ) -> None:  # fmt: skip
        self._renewed = renewed
        self._names = names
        self._datasets = datasets
        self._deleted = deleted
        self._records = records
        self._registry = registry
        self._sources = sources
        self._listed: dict[str, Sequence[FileBlock] | None] = {}
        self.history = History()

    async def run(self) -> None:
        waiting = sorted(self._datasets - self._deleted)
        while waiting:
            for dataset in waiting:
                await self._add(dataset)
            waiting = await self._find_more()
        for dataset in sorted(self.history.blocks):
            await self._check_output(dataset)
        for run in self.history.ordered():
            await self._check_inputs(run)
        self._check_nesting()
        self._spread()

    async def _add(self, dataset: str) -> None:
        """Add the runs of the present data of a dataset."""
        self._datasets.add(dataset)
        history, graph, tenant = self.history, self._sources.graph, self._sources.tenant
        history.blocks[dataset] = []
        try:
            blocks = await list_blocks(graph, tenant, dataset)
        except HeadwaterError as error:
            history.doubt(dataset, error.message)
            return
        if not blocks:
            history.doubt(dataset, "no completed run is known to have written it")
            return
        current = history.blocks[dataset] = present_blocks(blocks)
        nodes = {node.id: node for node in await graph.get(tenant, [each for one in current for each in (one.run, one.version)])}
        for block in current:
            run, version = nodes.get(block.run), nodes.get(block.version)
            if run is None:
                history.doubt(dataset, f"the run {bare_name(block.run)} that wrote it is not known")
                continue
            application = str(run.properties.get("parentRun") or block.run)
            found = history.runs.setdefault(application, RepeatedRun(application))
            found.writes.add(dataset)
            found.runs[run.id] = run
            found.reads |= {name.removeprefix(_INPUT) for name in run.properties if name.startswith(_INPUT)}
            if not found.began:
                await self._describe(found, run)
            try:
                Upstream([], {application: found.job}, {}).invocation(application, self._registry)
            except HeadwaterError as error:
                if version is not None and version.properties.get("replaces") is not None:
                    history.doubt(dataset, "it has the data of a committed replay, and the program of that replay cannot be repeated")
                else:
                    history.doubt(dataset, f"{error.message} {error.hint or ''}".strip())

    async def _describe(self, found: RepeatedRun, run: Node) -> None:
        graph, tenant = self._sources.graph, self._sources.tenant
        above = await graph.ancestors(tenant, [found.application, run.id])
        parts = next(
            (parse_id(node.id)[1] for each in (found.application, run.id) for node in above.get(each, ()) if node.kind is NodeKind.JOB),
            None,
        )
        found.job = (parts[0], parts[1]) if parts else ("default", found.application)
        found.name = found.job[1]
        node = next(iter(await graph.get(tenant, [found.application])), run)
        found.began = str(node.properties.get("startedAt") or run.properties.get("startedAt") or "")

    async def _find_more(self) -> list[str]:
        """Return inputs that a run to repeat writes again, although they do not derive from the source."""
        found = []
        inputs = {dataset for run in self.history.runs.values() for dataset in run.reads} - self._datasets - self._names
        for dataset in sorted(inputs):
            try:
                blocks = await list_blocks(self._sources.graph, self._sources.tenant, dataset)
            except HeadwaterError:
                continue
            nodes = await self._sources.graph.get(self._sources.tenant, [block.run for block in blocks[-1:]])
            if any(str(node.properties.get("parentRun") or node.id) in self.history.runs for node in nodes):
                found.append(dataset)
        return found

    async def _check_output(self, dataset: str) -> None:
        """Check that a commit can replace a dataset, and that all of its files were written by the runs to repeat."""
        doubt, blocks = self.history.doubt, self.history.blocks[dataset]
        try:
            found = await asyncio.to_thread(OutputPlaces(self._sources.roots).find, dataset)
            if found is None or found[0] != "folder":
                what = "no local folder of files" if found is None else f"no plain local folder ({found[0]})"
                doubt(dataset, f"it is {what}, and its old data would stay")
                return
            listed = await self._list(dataset)
        except (HeadwaterError, OSError) as error:
            doubt(dataset, str(error).removesuffix("."))
            return
        known = await asyncio.to_thread(list_block_files, self._records, self._sources.tenant, dataset, blocks)
        runs = {run.id: run for maker in self.history.makers(dataset) for run in maker.runs.values()}
        written = {file for block in blocks for file in known[block.sequence].files}
        unlisted = [block.run for block in blocks if known[block.sequence].unknown or not known[block.sequence].files]
        windows = [_window(runs[run]) for run in unlisted if run in runs]
        foreign = [
            file for file in listed or () if file not in written and not any(begin <= file.modified <= end for begin, end in windows)
        ]
        if foreign:
            doubt(dataset, f"no known run wrote {len(foreign):,} of its files, such as {foreign[0].path}, and they would be lost")

    async def _check_inputs(self, run: RepeatedRun) -> None:
        """Check that each input of a run is as the run read it, except for the records to erase."""
        if not run.reads:
            self._doubt_all(run, f"the inputs of {run.name} are not known")
        began = _milliseconds(run.began)
        read = await files_read(self._sources, sorted(run.runs))
        blocks = {block for found in read.values() for block in found}
        for dataset in sorted(run.reads - run.writes):
            if dataset in self._deleted:
                self._doubt_all(run, f"it is made from {bare_name(dataset)}, which is deleted: delete it, too")
                continue
            if reason := await self._compare(dataset, blocks, began, is_made=dataset in self.history.blocks):
                self._doubt_all(run, f"{bare_name(dataset)} {reason}. Run {run.name} again first")
        for dataset in sorted(run.reads & run.writes):  # the repeated runs write it again before it is read again
            own = {block for block in blocks if _is_in(block, dataset)}
            if not own or own - set(await self._list(dataset) or ()):
                self._doubt_all(run, f"{run.name} reads {bare_name(dataset)} in a state that it replaced")

    async def _compare(self, dataset: str, read: Collection[FileBlock], began: float | None, *, is_made: bool) -> str | None:
        """Return the difference between a dataset now and the dataset that a run read. None if there is none, or it cannot be known."""
        try:
            listed = await self._list(dataset)
        except (HeadwaterError, OSError):
            return None  # a table of a database, or a place that may not be read here
        if not listed:
            return "is gone"
        own = {block for block in read if _is_in(block, dataset) and block.path not in self._renewed}
        if own - set(listed):
            return "has changed since it was read"
        if is_made or began is None:  # the runs that wrote it are repeated in their order
            return None if began is not None else "was read at an unknown time"
        paths = {block.path for block in own} | self._renewed
        if later := next((block for block in listed if block.path not in paths and _came_after(block, began)), None):
            return f"has a file that came after it was read ({later.path})"
        return None

    async def _list(self, dataset: str) -> Sequence[FileBlock] | None:
        if dataset not in self._listed:
            self._listed[dataset] = await asyncio.to_thread(self._sources.roots.look().listed, place_of(dataset))
        return self._listed[dataset]

    def _doubt_all(self, run: RepeatedRun, reason: str) -> None:
        for dataset in run.writes:
            self.history.doubt(dataset, reason)

    def _check_nesting(self) -> None:
        places: dict[str, str] = {}
        for dataset in {*self.history.blocks, *self._names}:
            try:
                places[dataset] = place_of(dataset).rstrip("/")
            except HeadwaterError:
                continue
        for one, outer in places.items():
            for other, inner in places.items():
                if inner.startswith(f"{outer}/"):
                    for dataset in {one, other} - self._names:
                        self.history.doubt(dataset, f"{inner} lies in {outer}")

    def _spread(self) -> None:
        """Give the reasons of a dataset to every dataset that a repeated run makes of it, and to all outputs of its runs."""
        changed = True
        while changed:
            changed = False
            for run in self.history.runs.values():
                bad = sorted((run.reads | run.writes) & self.history.reasons.keys())
                for dataset in sorted(run.writes - self.history.reasons.keys()) if bad else ():
                    self.history.doubt(dataset, f"it cannot be made again without {bare_name(bad[0])}")
                    changed = True


def _window(run: Node) -> tuple[float, float]:
    """Return the time in which a run without record lineage wrote, in milliseconds since the epoch, or an empty one."""
    begin, end = _milliseconds(str(run.properties.get("startedAt") or "")), _milliseconds(str(run.properties.get("endedAt") or ""))
    return (begin, end + 1_000) if begin is not None and end is not None else (1, 0)


def _milliseconds(instant: str) -> float | None:
    try:
        return datetime.fromisoformat(instant).timestamp() * 1000
    except ValueError:
        return None


def _came_after(block: FileBlock, instant: float) -> bool:
    """Whether a file was written or moved to its place after an instant. The kernel sets the status time of a local file."""
    if block.modified > instant:
        return True
    try:
        return os.lstat("/" + block.path.removeprefix("file:").lstrip("/")).st_ctime_ns / 1e6 > instant
    except OSError:
        return False


def _is_in(block: FileBlock, dataset: str) -> bool:
    try:
        return is_below(block, dataset)
    except HeadwaterError:  # a table of a database
        return False
