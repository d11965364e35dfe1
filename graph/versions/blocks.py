"""The blocks of a dataset: the data that each completed run wrote there, numbered in the order of commits.

A block is *base* if it replaces the dataset and *delta* if it adds to it or changes it. The numbers follow from the versions in the graph,
so a rebuilt graph has the same numbers. A run that never completed wrote no block. This module only reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.dataflow.versions import snapshot_of
from headwater.graph.model import Node, NodeKind, node_id, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.standard_facts import Size, size_of_version
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.stores.write_times import UNDONE_AT, WRITTEN_AT, with_ends

MOST_BLOCKS = 20_000  # blocks of one dataset
UNDONE = "undone"  # the tag of a version that a compaction wrote and that was undone
_PAGE = 1_000


class BlockMode(StrEnum):
    """The effect of a block on its dataset."""

    BASE = "base"
    DELTA = "delta"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Block:
    """The data that one run wrote to one dataset. `snapshot` is the table format's name of the version.

    `merges`: a compaction wrote the block, so the block has exactly the records of the version before it.
    """

    sequence: int
    version: str
    run: str
    written_at: str
    mode: BlockMode
    snapshot: str | None
    files: int | None
    rows: int | None
    bytes: int | None
    has_records: bool
    merges: bool = False


async def list_blocks(graph: GraphStore, tenant: str, dataset: str) -> list[Block]:
    """Return the blocks of a dataset in the order of their commits. The first has sequence 1.

    Raises:
        NotFoundError: there is no such dataset.
        InvalidQueryError: the id is not a dataset's, or the dataset has more than `MOST_BLOCKS` versions.
    """
    if parse_id(dataset)[0] != NodeKind.DATASET:
        raise InvalidQueryError(f"{dataset!r} is not a dataset.", field="dataset", hint="Versions belong to datasets.")
    if not await graph.get(tenant, [dataset]):
        raise NotFoundError(f"There is no dataset {dataset!r}.", hint="`search` finds datasets by a part of their names.")
    versions = await _versions(graph, tenant, dataset)
    written = sorted((version for version in versions if version.properties.get(WRITTEN_AT) and not _is_undone(version)), key=_commit_order)
    return [_block(number, version) for number, version in enumerate(written, 1)]


async def _versions(graph: GraphStore, tenant: str, dataset: str) -> Sequence[Node]:
    versions: list[Node] = []
    cursor: str | None = None
    while True:
        page = await graph.children(tenant, dataset, kinds=[NodeKind.VERSION], first=_PAGE, after=cursor)
        versions += await with_ends(graph, tenant, page.nodes)
        if len(versions) > MOST_BLOCKS:
            raise InvalidQueryError(
                f"{dataset!r} has more than {MOST_BLOCKS:,} versions.", field="dataset", hint="Ask for its runs between two instants."
            )
        cursor = page.cursor
        if cursor is None:
            return versions


def _is_undone(version: Node) -> bool:
    """Whether a compaction or the commit of a replay was undone."""
    return UNDONE_AT in version.properties or (version.properties.get("merges") is True and UNDONE in descriptions_of(version).tags)


def _commit_order(version: Node) -> tuple[str, str]:
    return str(version.properties[WRITTEN_AT]), version.id


def _block(number: int, version: Node) -> Block:
    about, size = version.properties, size_of_version(version) or Size(None, None, None)
    mode = about.get("block")
    return Block(
        sequence=number,
        version=version.id,
        run=node_id(NodeKind.RUN, parse_id(version.id)[1][-1]),
        written_at=str(about[WRITTEN_AT]),
        mode=BlockMode(mode) if mode in tuple(BlockMode) else BlockMode.UNKNOWN,
        snapshot=snapshot_of(version),
        files=size.files,
        rows=size.rows,
        bytes=size.bytes,
        has_records="capture" in about,
        merges=about.get("merges") is True,
    )
