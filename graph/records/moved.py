"""Files that lie elsewhere than where a capture wrote them: a program that no capture knows renamed, moved or copied them.

For traces and the graph, by way of the catalog. A rename keeps the name, the length and the modification time of a file, or at least two of
the three. The catalog finds files by these, from an index. It never looks at the files themselves.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Any

from headwater.graph.records.batches import batched
from headwater.graph.records.names import FINE_SCHEMES, FileBlock, keeps_milliseconds

_BATCH = 200  # blocks a statement: four parameters each, far below SQLite's limit
# Spark, Delta and Iceberg put a UUID into the name of each file.
_UNIQUE = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")

Rows = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]


class Evidence(StrEnum):
    """How surely a file is one that a capture wrote elsewhere."""

    CERTAIN = "certain"  # one written file alone has its name, length and time
    LIKELY = "likely"  # one written file has two of the three
    UNKNOWN = "unknown"  # several files have them, or a change of the file would look the same


@dataclass(frozen=True, slots=True)
class Move:
    """The written files that a file may be, one unless the evidence is `UNKNOWN`; `shared` names the properties that are equal."""

    evidence: Evidence
    written: Sequence[FileBlock]
    shared: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The capture `writer` of a job (namespace and name) wrote files of a dataset which the capture `reader` read as files of another one.

    `output` and `read` are the numbers of both datasets, `dataset` is the namespace and name of the second. `at`: when both had ended.
    """

    job: tuple[str, str]
    writer: str
    output: int
    reader: str
    read: int
    dataset: tuple[str, str]
    at: str


def identify(block: FileBlock, written: Collection[FileBlock]) -> Move | None:
    """Choose among written files of the same length those that a file is, or may be. None if there are none."""
    same_time = [other for other in written if other.modified == block.modified]
    same = [other for other in same_time if leaf_of(other) == leaf_of(block)]
    if len(same) > 1:  # one name in several partitions
        same = [other for other in same if _partition_of(other) == _partition_of(block)] or same
    if same:
        sure = len(same) == 1 and (keeps_milliseconds(block.path) or _is_unique(block))
        return Move(Evidence.CERTAIN if sure else Evidence.UNKNOWN, same, "name, length and time")
    renamed = same_time if keeps_milliseconds(block.path) else []
    if renamed:
        return Move(Evidence.LIKELY if len(renamed) == 1 else Evidence.UNKNOWN, renamed, "length and time")
    copied = [other for other in written if leaf_of(other) == leaf_of(block) and other.modified < block.modified]
    if not copied:
        return None
    # A store of objects has no rename: each copy gets a time of its own.
    sure = len(copied) == 1 and not keeps_milliseconds(block.path) and _is_unique(block)
    return Move(Evidence.LIKELY if sure else Evidence.UNKNOWN, copied, "name and length")


def name_key(tenant: str, block: FileBlock) -> int:
    """Return the key of a file in the indexes: a hash of tenant, name and length. Odd for a unique name, 0 for no file."""
    if block.length <= 0 or block.modified <= 0:
        return 0  # keys of tables and positions of streams
    text = f"{tenant}\0{block.length}\0{leaf_of(block)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 2 << 1 | _is_unique(block)


def leaf_of(block: FileBlock) -> str:
    """The last part of a file's path."""
    return block.path.rpartition("/")[2]


class KnownMoves:
    """Questions about moved files; `rows` answers a statement of the catalog."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def origins(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, Move]:
        """Return, for the blocks that no capture wrote, the written files elsewhere that each may be."""
        moves = {block: identify(block, written) for block, written in self._alike(tenant, blocks).items()}
        return {block: move for block, move in moves.items() if move is not None}

    def destinations(self, tenant: str, blocks: Collection[FileBlock]) -> dict[FileBlock, Move]:
        """Return the files that captures read and none wrote, if they may be one of these written blocks."""
        read: dict[FileBlock, None] = {}
        for part in batched([block for block in dict.fromkeys(blocks) if name_key(tenant, block)], _BATCH):
            values = [value for block in part for value in _parameters(tenant, block)]
            rows = self._rows(f"{_given(part)} {_READ_ELSEWHERE}", [*values, *[tenant] * 3])
            read |= dict.fromkeys(FileBlock(*row) for row in rows)
        wanted = set(blocks)
        return {block: move for block, move in self.origins(tenant, read).items() if wanted.intersection(move.written)}

    def flows(self, tenant: str, capture: str, *, possible: bool = False) -> list[Flow]:
        """Return the flows by moved files between a capture and others. Both captures of a flow return it.

        `possible`: also those by files that are not known to be one. Which these are does not depend on what else is known.
        """
        read = self._candidates(_READ_BY, [tenant, capture], tenant)
        moved = self._rows(f"{_WROTE} {_READ_ELSEWHERE}", [tenant, capture, *[tenant] * 3])
        wrote = self._alike(tenant, (FileBlock(*row) for row in moved))
        found: dict[Flow, None] = {}
        for candidates, ends in ((read, {"readers": capture}), (wrote, {"writers": capture})):
            for block, written in candidates.items():
                for origin in _possible(block, written) if possible else _sure(block, written):
                    found |= self._between(tenant, origin, block, **ends)
        return list(found)

    def _between(self, tenant: str, origin: FileBlock, block: FileBlock, *, writers: str = "", readers: str = "") -> dict[Flow, None]:
        """Return the flows by one moved file. `writers` and `readers` are one capture to which they are limited, or empty."""
        wrote = self._writers(tenant, origin, writers)
        return {
            Flow(job, writer, output, reader, read, dataset, max(at, read_at)): None
            for reader, read, dataset, read_at in (self._readers(tenant, block, readers) if wrote else ())
            for job, writer, output, at in wrote
        }

    def _alike(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, list[FileBlock]]:
        """Return the written files elsewhere that are like each block in two properties, for the blocks that no capture wrote."""
        found: dict[FileBlock, list[FileBlock]] = {}
        for part in batched([block for block in dict.fromkeys(blocks) if name_key(tenant, block)], _BATCH):
            found |= self._candidates(_given(part), [value for block in part for value in _parameters(tenant, block)], tenant)
        return found

    def _candidates(self, asked: str, values: Sequence[object], tenant: str) -> dict[FileBlock, list[FileBlock]]:
        """The same for the blocks of a table `asked`."""
        found: dict[FileBlock, list[FileBlock]] = {}
        for row in self._rows(f"{asked} {_WRITTEN_ELSEWHERE}", [*values, *[tenant] * 4]):
            found.setdefault(FileBlock(*row[:3]), []).append(FileBlock(*row[3:]))
        return found

    def _writers(self, tenant: str, block: FileBlock, capture: str) -> list[tuple[tuple[str, str], str, int, str]]:
        """Return job, id, dataset and end of the captures that wrote a block. `capture` limits them to one, unless it is empty."""
        rows = self._rows(
            "SELECT DISTINCT j.namespace, j.name, c.capture, c.output, c.at FROM path p CROSS JOIN written w ON w.path = p.number "
            "AND w.length = ? AND w.modified = ? CROSS JOIN capture c ON c.number = w.capture AND c.output <> 0 AND ? IN ('', c.capture) "
            "CROSS JOIN job j ON j.number = c.job WHERE p.tenant = ? AND p.uri = ?", [*block[1:], capture, tenant, block.path],
        )  # fmt: skip
        return [((namespace, name), writer, output, at) for namespace, name, writer, output, at in rows]

    def _readers(self, tenant: str, block: FileBlock, capture: str) -> list[tuple[str, int, tuple[str, str], str]]:
        """Return id, dataset and end of the captures that read a block. The dataset is the one in whose folder the block lies."""
        rows = self._rows(
            "SELECT DISTINCT c.capture, d.number, d.namespace, d.name, d.path, c.at FROM path p CROSS JOIN consumed r ON r.path = p.number "
            "AND r.length = ? AND r.modified = ? CROSS JOIN capture c ON c.number = r.capture AND ? IN ('', c.capture) "
            "CROSS JOIN use u ON u.capture = c.number AND u.role = 'source' CROSS JOIN dataset d ON d.number = u.dataset "
            "WHERE p.tenant = ? AND p.uri = ?", [*block[1:], capture, tenant, block.path],
        )  # fmt: skip
        return [
            (reader, number, (namespace, name), at)
            for reader, number, namespace, name, path, at in rows
            if block.path == path or block.path.startswith(f"{path.rstrip('/')}/")
        ]


def enter_read(database: sqlite3.Connection, tenant: str, blocks: Iterable[FileBlock]) -> None:
    """Enter blocks that a capture read, for the questions about those that none wrote. Their paths are entered already."""
    database.executemany(
        "INSERT OR IGNORE INTO sourced SELECT p.number, ?, ?, ? FROM path p WHERE p.tenant = ? AND p.uri = ?",
        [(*block[1:], name, tenant, block.path) for block in blocks if (name := name_key(tenant, block))],
    )


def enter_flows(database: sqlite3.Connection, flows: Iterable[Flow]) -> None:
    """Enter which datasets have files that were written as those of others, so that a trace between the two looks there."""
    pairs = sorted({(flow.output, flow.read) for flow in flows if flow.output != flow.read})
    database.executemany("INSERT OR IGNORE INTO handed VALUES (?, ?)", pairs)


def _possible(block: FileBlock, written: Sequence[FileBlock]) -> Sequence[FileBlock]:
    return written if _is_unique(block) else [other for other in written if other.modified == block.modified]


def _sure(block: FileBlock, written: Sequence[FileBlock]) -> Sequence[FileBlock]:
    move = identify(block, written)
    return move.written if move is not None and move.evidence is not Evidence.UNKNOWN else ()


_COLUMNS = "asked (uri, length, modified, name)"
_SCHEMES = " OR ".join(f"a.uri LIKE '{scheme}%'" for scheme in FINE_SCHEMES)
_FINE = f"({_SCHEMES})"  # stores in which a rename keeps the time
_COPIED = f"(a.name & 1 OR NOT {_FINE})"  # files that may be the same with another time
_UNWRITTEN = (
    "NOT EXISTS (SELECT 1 FROM path o CROSS JOIN written x ON x.path = o.number AND x.length = {0}.length AND x.modified = {0}.modified "
    "WHERE o.tenant = ? AND o.uri = {0}.uri)"
)
# CROSS JOIN keeps SQLite from beginning elsewhere. Each part begins with an index of `written` or `sourced`.
_WRITTEN_ELSEWHERE = (
    "SELECT a.uri, a.length, a.modified, p.uri, w.length, w.modified FROM asked a CROSS JOIN written w ON w.name = a.name AND w.name > 0 "
    f"AND w.modified <= a.modified AND w.modified >= iif({_COPIED}, 0, a.modified) "
    f"CROSS JOIN path p ON p.number = w.path AND p.tenant = ? AND p.uri <> a.uri WHERE {_UNWRITTEN.format('a')} "
    "UNION SELECT a.uri, a.length, a.modified, p.uri, w.length, w.modified FROM asked a CROSS JOIN written w ON w.modified = a.modified "
    "AND w.length = a.length AND w.name > 0 CROSS JOIN path p ON p.number = w.path AND p.tenant = ? AND p.uri <> a.uri "
    f"WHERE {_FINE} AND {_UNWRITTEN.format('a')}"
)
_READ_ELSEWHERE = (
    "SELECT uri, length, modified FROM ("
    "SELECT p.uri, s.length, s.modified FROM asked a CROSS JOIN sourced s ON s.name = a.name AND s.modified >= a.modified "
    f"CROSS JOIN path p ON p.number = s.path AND p.tenant = ? AND p.uri <> a.uri WHERE s.modified = a.modified OR {_COPIED} "
    "UNION SELECT p.uri, s.length, s.modified FROM asked a CROSS JOIN sourced s ON s.modified = a.modified AND s.length = a.length "
    f"CROSS JOIN path p ON p.number = s.path AND p.tenant = ? AND p.uri <> a.uri WHERE {_FINE}) f WHERE {_UNWRITTEN.format('f')}"
)
_READ_BY = (
    f"WITH {_COLUMNS} AS (SELECT p.uri, s.length, s.modified, s.name FROM capture c CROSS JOIN consumed r ON r.capture = c.number "
    "CROSS JOIN sourced s ON s.path = r.path AND s.length = r.length AND s.modified = r.modified "
    "CROSS JOIN path p ON p.number = r.path WHERE c.tenant = ? AND c.capture = ?)"
)
_WROTE = (
    f"WITH {_COLUMNS} AS (SELECT p.uri, w.length, w.modified, w.name FROM capture c CROSS JOIN written w ON w.capture = c.number "
    "AND w.name > 0 CROSS JOIN path p ON p.number = w.path WHERE c.tenant = ? AND c.capture = ?)"
)


def _given(part: Sequence[FileBlock]) -> str:
    return f"WITH {_COLUMNS} AS (VALUES {', '.join(['(?, ?, ?, ?)'] * len(part))})"


def _parameters(tenant: str, block: FileBlock) -> tuple[object, ...]:
    return (*block, name_key(tenant, block))


def _is_unique(block: FileBlock) -> bool:
    return _UNIQUE.search(leaf_of(block)) is not None


def _partition_of(block: FileBlock) -> list[str]:
    """The folders of a file that name its partition (`k=v`), from the file on."""
    return list(takewhile(lambda folder: "=" in folder, block.path.split("/")[-2::-1]))
