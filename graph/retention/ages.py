"""The age of the data in a dataset: when its oldest part was written, or came from a source.

A block is as old as the oldest data that its run read. A run read versions, if its files are known. Otherwise it read the version that was
there when it began. Data of files that no run wrote is as old as the files. So a dataset that a job writes anew each day may be old.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headwater.errors import InvalidInputError, NotFoundError, UnsupportedError
from headwater.graph.dataflow.versions import versions_read
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.versions.blocks import Block, list_blocks
from headwater.graph.versions.collection import kept_since

_INPUT = "input:"
_ALL = ""  # the key of the age of all data of a block
MOST_BLOCKS = 50_000  # that one answer reads
_MOST_FILES = 20_000  # of one portion of runs
_RUNS = 50  # of one portion


@dataclass(frozen=True, slots=True)
class Age:
    """The time at which data was written, in ISO 8601. If it is not `known`, the data may be older."""

    born: str
    known: bool = True

    def older(self, other: Age | None) -> Age:
        """Return the older one. The result is known if both are."""
        return self if other is None else Age(min(self.born, other.born), self.known and other.known)


@dataclass(slots=True)
class _Read:
    """The part of a dataset that a run read: blocks, or files without a known writer."""

    blocks: set[str] = field(default_factory=set)
    files: Age | None = None


class Ages:
    """The ages of blocks. Each block is read once. Data of each of the `origins` has an age of its own."""

    def __init__(self, graph: GraphStore, tenant: str, origins: Iterable[str]) -> None:
        self._graph, self._tenant, self._origins = graph, tenant, frozenset(origins)
        self._blocks: dict[str, list[Block]] = {}
        self._nodes: dict[str, tuple[str, Block]] = {}  # version → its dataset and block
        self._reads: dict[str, dict[str, _Read]] = {}  # run → dataset → what it read
        self._ages: dict[str, dict[str, Age]] = {}  # version → origin → age

    async def load(self, datasets: Iterable[str]) -> None:
        """Read the present blocks of datasets and all blocks upstream of them.

        Raises:
            UnsupportedError: these are too many.
        """
        waiting: list[str] = []
        for dataset in datasets:
            waiting += [block.version for block in await self.present(dataset)]
        while waiting:
            fresh = [self._nodes[version] for version in dict.fromkeys(waiting) if self._nodes[version][1].run not in self._reads]
            waiting = []
            for start in range(0, len(fresh), _RUNS):
                waiting += await self._read_runs(fresh[start : start + _RUNS])
            if len(self._reads) > MOST_BLOCKS:
                raise UnsupportedError(f"The data comes from more than {MOST_BLOCKS:,} blocks.", hint="Ask about one dataset at a time.")
        self._compute()

    async def present(self, dataset: str) -> Sequence[Block]:
        """Return the blocks of the present version."""
        blocks = await self.blocks(dataset)
        return [block for block in blocks if block.sequence >= kept_since(blocks, 1)]

    async def blocks(self, dataset: str) -> list[Block]:
        if dataset not in self._blocks:
            try:
                found = await list_blocks(self._graph, self._tenant, dataset)
            except (InvalidInputError, NotFoundError):  # there are too many, or the dataset is only named
                found = []
            self._blocks[dataset] = found
            self._nodes |= {block.version: (dataset, block) for block in found}
        return self._blocks[dataset]

    def of(self, version: str, origin: str) -> Age | None:
        """Return the age of the data of an origin in a block, or None if the block has none."""
        return self._ages.get(version, {}).get(origin)

    async def _read_runs(self, blocks: Sequence[tuple[str, Block]]) -> list[str]:
        """Read what the runs of some blocks read. Returns the blocks that are to be read next."""
        runs = {node.id: node for node in await self._graph.get(self._tenant, sorted({block.run for _, block in blocks}))}
        reads: dict[str, dict[str, _Read]] = {block.run: {} for _, block in blocks}
        edges = await self._graph.neighbours(self._tenant, sorted(runs), direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
        files: dict[str, list[str]] = {}
        for edge in edges:
            if edge.src.startswith(f"{NodeKind.VERSION}:"):
                reads[edge.dst].setdefault(_dataset_of_version(edge.src), _Read()).blocks.add(edge.src)
            elif edge.src.startswith(f"{NodeKind.PARTITION}:"):
                files.setdefault(edge.src, []).append(edge.dst)
        await self._read_files(files, reads)
        found: list[str] = []
        for dataset, block in blocks:
            of_run = reads[block.run]
            run = runs.get(block.run)
            for source in _inputs(run):
                await self._read_coarsely(source, of_run, block, run)
            if block.merges:  # a compaction: the same records as before
                earlier = [each for each in await self.blocks(dataset) if each.sequence < block.sequence]
                since = kept_since(earlier, 1)
                of_run.setdefault(dataset, _Read()).blocks |= {each.version for each in earlier if each.sequence >= since}
            for source in of_run:
                await self.blocks(source)
            found += [version for read in of_run.values() for version in read.blocks if version in self._nodes]
        self._reads |= reads
        return found

    async def _read_files(self, files: Mapping[str, Sequence[str]], reads: Mapping[str, dict[str, _Read]]) -> None:
        """Add the times of files that no known run wrote."""
        if not files or len(files) > _MOST_FILES:
            return
        above = await self._graph.ancestors(self._tenant, sorted(files))
        alone = {
            file: dataset.id
            for file, containers in above.items()
            if not any(node.kind is NodeKind.VERSION for node in containers)
            and (dataset := next((node for node in containers if node.kind is NodeKind.DATASET), None)) is not None
        }
        for node in await self._graph.get(self._tenant, sorted(alone)):
            modified = node.properties.get("modified")
            if not isinstance(modified, int):
                continue
            age = Age(datetime.fromtimestamp(modified / 1000, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"))
            for run in files[node.id]:
                read = reads[run].setdefault(alone[node.id], _Read())
                read.files = age.older(read.files)

    async def _read_coarsely(self, source: str, of_run: dict[str, _Read], block: Block, run: Node | None) -> None:
        """Add the blocks of a dataset that were there when a run began, if it is not known what the run read of the dataset."""
        known = of_run.get(source)
        if known is not None and (known.blocks or known.files):
            return
        blocks = await self.blocks(source)
        began = run.properties.get("startedAt") if run is not None else None
        stated = run.properties.get(f"{_INPUT}{source}") if run is not None else None
        nodes = [
            Node(each.version, NodeKind.VERSION, "", {"writtenAt": each.written_at, "block": each.mode.value})
            for each in blocks
            if each.version != block.version
        ]
        facet = stated.get("version") if isinstance(stated, Mapping) else None
        snapshots = {each.version for each in blocks if facet and each.snapshot == facet.get("datasetVersion")}
        began = began if isinstance(began, str) else block.written_at
        of_run[source] = _Read(snapshots or set(versions_read(nodes, began=began)))

    def _compute(self) -> None:
        """Compute the ages of all loaded blocks, the earliest block first, because a run reads what was written before."""
        ordered = sorted((block.written_at, version, dataset, block) for version, (dataset, block) in self._nodes.items())
        for written_at, version, dataset, block in ordered:
            if version in self._ages or block.run not in self._reads:
                continue
            found: dict[str, Age] = {}
            for source, read in self._reads[block.run].items():
                ages = [
                    self._ages.get(each, {_ALL: Age(self._nodes[each][1].written_at, known=False)})
                    for each in read.blocks
                    if each in self._nodes
                ]
                if read.files is not None:
                    ages.append(self._of_source(source, read.files))
                if not ages:
                    ages.append(self._of_source(source, Age(written_at, known=False)))
                for origin, age in ((origin, age) for each in ages for origin, age in each.items()):
                    found[origin] = age.older(found.get(origin))
            found.setdefault(_ALL, Age(written_at))
            self._ages[version] = found | ({dataset: found[_ALL]} if dataset in self._origins else {})

    def _of_source(self, source: str, age: Age) -> dict[str, Age]:
        return {_ALL: age} | ({source: age} if source in self._origins else {})


def _inputs(run: Node | None) -> list[str]:
    stated = run.properties if run is not None else {}
    return [name.removeprefix(_INPUT) for name in stated if name.startswith(f"{_INPUT}{NodeKind.DATASET}:")]


def _dataset_of_version(version: str) -> str:
    return node_id(NodeKind.DATASET, *parse_id(version)[1][:2])
