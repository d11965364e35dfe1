"""Checks that the latest runs of the planned programs read the files of the chosen records, and finds outputs that other runs made too.

A replay repeats the latest run of each job. If several runs of a job made an output, for example one run that overwrote it and others that
appended to it, the latest run may have read other files. A replay of the latest run then says nothing of the chosen records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.backend.rerun.replay.kinds.kind import Sources, Work
from headwater.backend.rerun.replay.starting_point import files_read, is_below, parse_file
from headwater.errors import HeadwaterError, UnsupportedError
from headwater.graph.model import EdgeKind, NodeKind, node_id
from headwater.graph.records import FileBlock, uri_of
from headwater.graph.stores import Direction
from headwater.graph.versions import Block, BlockMode, list_blocks


async def check_read_by_latest_runs(work: Work, states: Mapping[str, tuple[int, int]], sources: Sources) -> None:
    """Check that the latest runs read the files of the chosen records. A file whose readers are not known is accepted.

    `states` are the length and modification time of the files.

    Raises:
        UnsupportedError: only an earlier run of a job read a file.
    """
    planned = set(work.start.applications)
    flows = [flow for flow in work.upstream.flows if flow.application in planned]
    read = await files_read(sources, sorted({flow.run for flow in flows if flow.run}))
    met = {block for blocks in read.values() for block in blocks}
    for file, (length, modified) in states.items():
        block = FileBlock(uri_of(file), length, modified)
        readers = [flow for flow in flows if any(_contains(dataset, block) for dataset in flow.reads)]
        if block in met or not readers or not all(read.get(flow.run) for flow in readers):
            continue
        earlier = await _applications_that_read(file, block, sources)
        if earlier and not earlier & planned:
            job = work.upstream.names.get(readers[0].application, readers[0].application)
            raise UnsupportedError(
                f"Several runs of the job {job} made its output. A replay repeats only the latest, which did not read {block.path}.",
                hint="Run the program once on all of its inputs, and replay that run.",
            )


async def find_joint_outputs(work: Work, outputs: Sequence[str], sources: Sources) -> dict[str, list[str]]:
    """Return the outputs with data of runs that the replay does not repeat, because a program appended to the data of another run.

    Each output has the files that the repeated runs wrote there, as far as they are known. A commit would remove the data of the other
    runs, and a comparison is limited to these files. Tables are not among the outputs, because a replay continues from their version
    before the run.
    """
    planned = set(work.start.applications)
    found: dict[str, list[str]] = {}
    for output in outputs:
        blocks: list[Block] = []
        for block in reversed(await list_blocks(sources.graph, sources.tenant, output)):
            blocks.append(block)
            if block.mode is not BlockMode.DELTA:
                break
        nodes = {node.id: node for node in await sources.graph.get(sources.tenant, [each for b in blocks for each in (b.run, b.version)])}
        own: list[str] = []
        is_joint = False
        for block in blocks:
            run, version = nodes.get(block.run), nodes.get(block.version)
            application = str(run.properties.get("parentRun") or block.run) if run else block.run
            is_replay = version is not None and version.properties.get("replaces") is not None
            if application in planned:
                own.append(block.run)
            is_joint |= block.snapshot is None and application not in planned and not is_replay
        if is_joint:
            found[output] = sorted(block.path for block in await _files_written(sources, own) if is_below(block, output))
    return found


def notes_on_joint_outputs(joint: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"{dataset} also has data of runs that the replay does not repeat. Only the files of the repeated runs are compared."
        for dataset, files in joint.items()
        if files
    ]


def _contains(dataset: str, block: FileBlock) -> bool:
    try:
        return is_below(block, dataset)
    except HeadwaterError:  # a table of a database
        return False


async def _files_written(sources: Sources, runs: Sequence[str]) -> list[FileBlock]:
    edges = await sources.graph.neighbours(sources.tenant, runs, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.WRITES]) if runs else []
    return [block for edge in edges if (block := parse_file(edge.dst)) is not None]


async def _applications_that_read(file: str, block: FileBlock, sources: Sources) -> set[str]:
    """Return the application runs that read a file in its present state. A run may have several jobs, and a job several queries."""
    names = sorted({node_id(NodeKind.PARTITION, path, str(block.length), str(block.modified)) for path in (file, block.path)})
    edges = await sources.graph.neighbours(sources.tenant, names, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS])
    runs = await sources.graph.get(sources.tenant, sorted({edge.dst for edge in edges}))
    return {str(run.properties.get("parentRun") or run.id) for run in runs}
