"""Finds the written files that other programs renamed, moved or copied to another place.

Traces and the graph use it through the catalog. A rename keeps the name, the length and the modification time of a file, or at least two of
them. The catalog finds files by these, from an index. The files themselves are never read.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product, takewhile
from typing import Any

from headwater.graph.records.batches import batched
from headwater.graph.records.safe_names import FINE_SCHEMES, FileBlock, keeps_milliseconds

_BATCH = 200  # blocks per statement: four parameters each, far below SQLite's limit
# Spark, Delta and Iceberg put a UUID into the name of each file.
_UNIQUE = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")

Rows = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]


class Evidence(StrEnum):
    """How certain it is that a file is a moved or copied file of a capture."""

    CERTAIN = "certain"  # exactly one written file has the same name, length and time
    LIKELY = "likely"  # exactly one written file has the same unique name and length
    UNKNOWN = "unknown"  # several files match, or a changed file would look the same


@dataclass(frozen=True, slots=True)
class Move:
    """The written files that a moved file may be: one, or several if the evidence is `UNKNOWN`. `shared` names the equal properties."""

    evidence: Evidence
    written: Sequence[FileBlock]
    shared: str


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow by moved files: the capture `writer` wrote a dataset, and the capture `reader` read its files as files of another dataset.

    `output` and `read` are the numbers of both datasets; `dataset` is the namespace and name of the second. `at` is the time when both
    captures had ended.
    """

    job: tuple[str, str]
    writer: str
    output: int
    reader: str
    read: int
    dataset: tuple[str, str]
    at: str


def identify(block: FileBlock, written: Collection[FileBlock]) -> Move | None:
    """Return the written files that a file is, or may be, among files of the same length. None if there are none."""
    same_time = [candidate for candidate in written if candidate.modified == block.modified]
    same_files = [candidate for candidate in same_time if leaf_of(candidate) == leaf_of(block)]
    if len(same_files) > 1:  # one name in several partitions
        same_files = [candidate for candidate in same_files if _partition_of(candidate) == _partition_of(block)] or same_files
    if same_files:
        is_certain = len(same_files) == 1 and (keeps_milliseconds(block.path) or _is_unique(block))
        return Move(Evidence.CERTAIN if is_certain else Evidence.UNKNOWN, same_files, "name, length and time")
    renamed = same_time if keeps_milliseconds(block.path) else []
    if renamed:  # small files of equal length are often written in the same millisecond
        return Move(Evidence.UNKNOWN, renamed, "length and time")
    copies = [candidate for candidate in written if leaf_of(candidate) == leaf_of(block) and candidate.modified < block.modified]
    if not copies:
        return None
    # Object stores have no rename, and each copy has a new time.
    is_certain = len(copies) == 1 and not keeps_milliseconds(block.path) and _is_unique(block)
    return Move(Evidence.LIKELY if is_certain else Evidence.UNKNOWN, copies, "name and length")


def name_key(tenant: str, block: FileBlock) -> int:
    """Return the index key of a file: a hash of tenant, name and length. Odd for a unique name, 0 if there is no file."""
    if block.length <= 0 or block.modified <= 0:
        return 0  # keys of tables and positions of streams
    text = f"{tenant}\0{block.length}\0{leaf_of(block)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 2 << 1 | _is_unique(block)


def leaf_of(block: FileBlock) -> str:
    return block.path.rpartition("/")[2]


class KnownMoves:
    """Queries for moved files. `rows` runs an SQL statement on the catalog."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def origins(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, Move]:
        """Return the written files that each block may be a moved or copied file of. Blocks that a capture wrote are left out."""
        moves = {block: identify(block, candidates) for block, candidates in self._find_alike(tenant, blocks).items()}
        return {block: move for block, move in moves.items() if move is not None}

    def destinations(self, tenant: str, blocks: Collection[FileBlock]) -> dict[FileBlock, Move]:
        """Return the blocks that captures read and no capture wrote, and that may be moved or copied files of `blocks`."""
        read_blocks: dict[FileBlock, None] = {}
        for part in batched([block for block in dict.fromkeys(blocks) if name_key(tenant, block)], _BATCH):
            values = [value for block in part for value in _parameters(tenant, block)]
            rows = self._rows(f"{_given(part)} {_READ_ELSEWHERE}", [*values, *[tenant] * 3])
            read_blocks |= dict.fromkeys(FileBlock(*row) for row in rows)
        wanted_blocks = set(blocks)
        return {block: move for block, move in self.origins(tenant, read_blocks).items() if wanted_blocks.intersection(move.written)}

    def flows(self, tenant: str, capture: str) -> list[Flow]:
        moved_blocks = self._rows(f"{_WROTE} {_READ_ELSEWHERE}", [tenant, capture, *[tenant] * 3])
        read_moves = _select_certain(self._find_candidates(_READ_BY, [tenant, capture], tenant))
        written_moves = _select_certain(self._find_alike(tenant, (FileBlock(*row) for row in moved_blocks)))
        return list(self._find_flows(tenant, read_moves, readers=capture) | self._find_flows(tenant, written_moves, writers=capture))

    def _find_flows(self, tenant: str, origins: Mapping[FileBlock, FileBlock], *, writers: str = "", readers: str = "") -> dict[Flow, None]:
        wrote = self._find_ends(_WRITERS, tenant, origins.values(), writers)
        read_by = self._find_ends(_READERS, tenant, [block for block, origin in origins.items() if origin in wrote], readers)
        found: dict[Flow, None] = {}
        for block, readings in read_by.items():
            for (reader, read, *dataset, read_at), (writer, output, *job, at) in product(readings, wrote[origins[block]]):
                found[Flow((job[0], job[1]), writer, output, reader, read, (dataset[0], dataset[1]), max(at, read_at))] = None
        return found

    def _find_ends(self, asked: str, tenant: str, blocks: Iterable[FileBlock], capture: str) -> dict[FileBlock, list[tuple[Any, ...]]]:
        ends_by_block: dict[FileBlock, list[tuple[Any, ...]]] = {}
        for part in batched(dict.fromkeys(blocks), _BATCH):
            values = [value for block in part for value in _parameters(tenant, block)]
            for row in self._rows(f"{_given(part)} {asked}", [*values, tenant, capture]):
                ends_by_block.setdefault(FileBlock(*row[:3]), []).append(row[3:])
        return ends_by_block

    def _find_alike(self, tenant: str, blocks: Iterable[FileBlock]) -> dict[FileBlock, list[FileBlock]]:
        blocks_alike: dict[FileBlock, list[FileBlock]] = {}
        for part in batched([block for block in dict.fromkeys(blocks) if name_key(tenant, block)], _BATCH):
            blocks_alike |= self._find_candidates(_given(part), [value for block in part for value in _parameters(tenant, block)], tenant)
        return blocks_alike

    def _find_candidates(self, asked: str, values: Sequence[object], tenant: str) -> dict[FileBlock, list[FileBlock]]:
        candidates: dict[FileBlock, list[FileBlock]] = {}
        for row in self._rows(f"{asked} {_WRITTEN_ELSEWHERE}", [*values, *[tenant] * 6]):
            candidates.setdefault(FileBlock(*row[:3]), []).append(FileBlock(*row[3:]))
        return candidates


def enter_read(database: sqlite3.Connection, tenant: str, read: Iterable[tuple[FileBlock, int]]) -> None:
    """Enter blocks that a capture read, each with the number of the dataset. Their paths must be entered first."""
    database.executemany(
        "INSERT OR IGNORE INTO sourced SELECT p.number, ?, ?, ?, ? FROM path p WHERE p.tenant = ? AND p.uri = ?",
        [(*block[1:], dataset, name_key(tenant, block), tenant, block.path) for block, dataset in read],
    )


def enter_handed(database: sqlite3.Connection, capture: int | None, output: int) -> None:
    """Enter pairs of datasets if files of one were written as part of the other. A trace between two datasets searches these pairs.

    All files of the capture must be entered first. A pair depends on two files alone, so the order of captures does not matter.
    """
    for alike in _ALIKE_READ:
        database.execute(
            f"INSERT OR IGNORE INTO handed SELECT DISTINCT c.output, s.dataset FROM consumed r CROSS JOIN sourced s ON s.path = r.path "
            f"AND s.length = r.length AND s.modified = r.modified {alike} "
            "CROSS JOIN capture c ON c.number = w.capture AND c.output NOT IN (0, s.dataset) WHERE r.capture = ?", [capture],
        )  # fmt: skip
    for alike in _ALIKE_WRITTEN if output else ():
        database.execute(
            f"INSERT OR IGNORE INTO handed SELECT DISTINCT ?, s.dataset FROM written w {alike} WHERE w.capture = ? AND s.dataset <> ?",
            [output, capture, output],
        )


def _select_certain(candidates: Mapping[FileBlock, Sequence[FileBlock]]) -> dict[FileBlock, FileBlock]:
    """Return the written file of each moved file, without moves of unknown origin."""
    moves = {block: identify(block, candidate_blocks) for block, candidate_blocks in candidates.items()}
    return {block: move.written[0] for block, move in moves.items() if move is not None and move.evidence is not Evidence.UNKNOWN}


_COLUMNS = "asked (uri, length, modified, name)"
_SCHEMES = " OR ".join(f"{{0}}.uri LIKE '{scheme}%'" for scheme in FINE_SCHEMES)
_FINE = f"({_SCHEMES.format('a')})"  # stores in which a rename keeps the time
_COPIED = f"(a.name & 1 OR NOT {_FINE})"  # files that may be equal although their times differ
_UNWRITTEN = (
    "NOT EXISTS (SELECT 1 FROM path o CROSS JOIN written x ON x.path = o.number AND x.length = {0}.length AND x.modified = {0}.modified "
    "WHERE o.tenant = ? AND o.uri = {0}.uri)"
)
# A capture that read the file did not write it.
_READ_BEFORE = (
    "NOT EXISTS (SELECT 1 FROM path o CROSS JOIN consumed r ON r.path = o.number AND r.length = a.length AND r.modified = a.modified "
    "AND r.capture = w.capture WHERE o.tenant = ? AND o.uri = a.uri)"
)
# CROSS JOIN keeps SQLite from beginning elsewhere. Each part begins with an index of `written` or `sourced`.
_WRITTEN_ELSEWHERE = (
    "SELECT a.uri, a.length, a.modified, p.uri, w.length, w.modified FROM asked a CROSS JOIN written w ON w.name = a.name AND w.name > 0 "
    f"AND w.modified <= a.modified AND w.modified >= iif({_COPIED}, 0, a.modified) "
    f"CROSS JOIN path p ON p.number = w.path AND p.tenant = ? AND p.uri <> a.uri WHERE {_UNWRITTEN.format('a')} AND {_READ_BEFORE} "
    "UNION SELECT a.uri, a.length, a.modified, p.uri, w.length, w.modified FROM asked a CROSS JOIN written w ON w.modified = a.modified "
    "AND w.length = a.length AND w.name > 0 CROSS JOIN path p ON p.number = w.path AND p.tenant = ? AND p.uri <> a.uri "
    f"WHERE {_FINE} AND {_UNWRITTEN.format('a')} AND {_READ_BEFORE}"
)
_READ_ELSEWHERE = (
    "SELECT uri, length, modified FROM ("
    "SELECT p.uri, s.length, s.modified FROM asked a CROSS JOIN sourced s ON s.name = a.name AND s.name > 0 AND s.modified >= a.modified "
    f"CROSS JOIN path p ON p.number = s.path AND p.tenant = ? AND p.uri <> a.uri WHERE s.modified = a.modified OR {_COPIED} "
    "UNION SELECT p.uri, s.length, s.modified FROM asked a CROSS JOIN sourced s ON s.modified = a.modified AND s.length = a.length "
    f"AND s.name > 0 CROSS JOIN path p ON p.number = s.path AND p.tenant = ? AND p.uri <> a.uri WHERE {_FINE}) f "
    f"WHERE {_UNWRITTEN.format('f')}"
)
_READ_BY = (
    f"WITH {_COLUMNS} AS (SELECT p.uri, s.length, s.modified, s.name FROM capture c CROSS JOIN consumed r ON r.capture = c.number "
    "CROSS JOIN sourced s ON s.path = r.path AND s.length = r.length AND s.modified = r.modified AND s.name > 0 "
    "CROSS JOIN path p ON p.number = r.path WHERE c.tenant = ? AND c.capture = ?)"
)
_WROTE = (
    f"WITH {_COLUMNS} AS (SELECT p.uri, w.length, w.modified, w.name FROM capture c CROSS JOIN written w ON w.capture = c.number "
    "AND w.name > 0 CROSS JOIN path p ON p.number = w.path WHERE c.tenant = ? AND c.capture = ?)"
)
_ASKED_BLOCK = (
    "FROM asked a CROSS JOIN path p ON p.tenant = ? AND p.uri = a.uri CROSS JOIN {0} t ON t.path = p.number AND t.length = a.length "
    "AND t.modified = a.modified CROSS JOIN capture c ON c.number = t.capture AND ? IN ('', c.capture)"
)
_WRITERS = (
    f"SELECT DISTINCT a.uri, a.length, a.modified, c.capture, c.output, j.namespace, j.name, c.at {_ASKED_BLOCK.format('written')} "
    "AND c.output <> 0 CROSS JOIN job j ON j.number = c.job"
)
_READERS = (
    f"SELECT DISTINCT a.uri, a.length, a.modified, c.capture, d.number, d.namespace, d.name, c.at {_ASKED_BLOCK.format('consumed')} "
    "CROSS JOIN sourced s ON s.path = t.path AND s.length = t.length AND s.modified = t.modified "
    "CROSS JOIN use u ON u.capture = c.number AND u.role = 'source' AND u.dataset = s.dataset CROSS JOIN dataset d ON d.number = s.dataset"
)
# Pairs of a written file `w` and a read file `s` that may be the same: equal files, equal names, equal times.
_SAME_TIME = f"p.tenant = q.tenant AND ({_SCHEMES.format('p')})"  # `p` is the path that was read
_SAME_WRITTEN = "CROSS JOIN written w ON w.path = s.path AND w.length = s.length AND w.modified = s.modified"
_NAMED_WRITTEN = (
    "CROSS JOIN written w ON w.name = s.name AND w.name > 0 AND w.path <> s.path "
    "AND w.modified >= iif(s.name & 1, 0, s.modified) AND w.modified <= s.modified"
)
_TIMED_WRITTEN = (
    "CROSS JOIN path p ON p.number = s.path CROSS JOIN written w ON w.modified = s.modified AND w.length = s.length AND w.name > 0 "
    f"AND w.path <> s.path CROSS JOIN path q ON q.number = w.path AND {_SAME_TIME}"
)
_ALIKE_READ = (_SAME_WRITTEN, _NAMED_WRITTEN, _TIMED_WRITTEN)
_SAME_READ = "CROSS JOIN sourced s ON s.path = w.path AND s.length = w.length AND s.modified = w.modified"
_NAMED_READ = (
    "CROSS JOIN sourced s ON s.name = w.name AND s.name > 0 AND s.path <> w.path "
    f"AND s.modified >= w.modified AND s.modified <= iif(w.name & 1, {2**63 - 1}, w.modified)"
)
_TIMED_READ = (
    "CROSS JOIN path q ON q.number = w.path CROSS JOIN sourced s ON s.modified = w.modified AND s.length = w.length AND s.name > 0 "
    f"AND s.path <> w.path CROSS JOIN path p ON p.number = s.path AND {_SAME_TIME}"
)
_ALIKE_WRITTEN = (_SAME_READ, _NAMED_READ, _TIMED_READ)


def _given(part: Sequence[FileBlock]) -> str:
    return f"WITH {_COLUMNS} AS (VALUES {', '.join(['(?, ?, ?, ?)'] * len(part))})"


def _parameters(tenant: str, block: FileBlock) -> tuple[object, ...]:
    return (*block, name_key(tenant, block))


def _is_unique(block: FileBlock) -> bool:
    return _UNIQUE.search(leaf_of(block)) is not None


def _partition_of(block: FileBlock) -> list[str]:
    """Return the partition folders (`k=v`) in a file's path, the innermost first."""
    return list(takewhile(lambda folder: "=" in folder, block.path.split("/")[-2::-1]))
