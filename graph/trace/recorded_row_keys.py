"""The keys of rows that are known by other than one whole number, as the runs recorded them that read a table.

For who reads such rows again, and for the walk, which says where two keys have one number. A recorded key that does not give the number
which it stands beside is taken for none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from headwater.graph.files.reader import kept_rows
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import longs_of
from headwater.graph.storage.row_keys import KeyColumn, position_of, without_padding

if TYPE_CHECKING:
    from pathlib import Path

    from headwater.graph.trace.session import Capture, Session

_CAPTURES = 200  # that are asked for a key which those of the trace do not tell, the latest first
_FEW = 2_000  # numbers that are looked up one by one
_MOST = 1_000_000  # rows of a table of keys that are read at once


class KeyBook:
    """The recorded keys of one table. `met` are the captures of the trace that read it."""

    def __init__(self, session: Session, block: FileBlock, columns: tuple[KeyColumn, ...]) -> None:
        self.met: dict[str, None] = {}
        self.columns = columns
        self._session = session
        self._block = block

    def of(self, positions: Collection[int]) -> dict[int, bytes | None]:
        """The keys of numbers, of those that are known; None: two keys have the number."""
        found = self.of_met(positions)
        if missing := set(positions).difference(found):
            session = self._session
            everyone = session.store.catalog.readers(session.tenant, [self._block]).get(self._block, [])
            others = [name for name in reversed(everyone) if name not in self.met]
            for name in others[:_CAPTURES]:
                self._add(found, name, missing)
                if not (missing := missing.difference(found)):
                    break
        return found

    def has_shared(self, positions: Collection[int] | None) -> bool:
        """Whether two keys, as the captures of the trace recorded them, have one of these numbers, or any."""
        if positions is not None and len(positions) <= _FEW:
            return None in self.of_met(positions).values()
        session = self._session
        for name in self.met:
            for path, words in self._tables(session.capture(name)):
                differs = " OR ".join(f"min(v{word}) <> max(v{word})" for word in range(words))
                query = f"SELECT 1 FROM {kept_rows(path)} GROUP BY key, part HAVING {differs} LIMIT 1"
                if session.here.execute(query).fetchall():
                    return True
        return False

    def of_met(self, positions: Collection[int]) -> dict[int, bytes | None]:
        """The same as `of`, by the captures of the trace alone."""
        found: dict[int, bytes | None] = {}
        for name in self.met:
            self._add(found, name, positions)
        return found

    def _add(self, found: dict[int, bytes | None], name: str, positions: Collection[int]) -> None:
        session = self._session
        if session.store.pruned(session.tenant, [name]):
            return
        for path, words in self._tables(session.capture(name)):
            for position, key in self._read(path, words, positions).items():
                found[position] = key if found.get(position, key) == key else None

    def _tables(self, capture: Capture) -> Iterator[tuple[Path, int]]:
        """The tables of keys that a capture has of it, and how many words a part of a key has there."""
        for boundary in capture.manifest.boundaries:
            number = capture.plan.operators[boundary.operator].source if boundary.kind == "keys" else None
            if number is not None and capture.files_of(capture.source(number)).of(self._block) is not None:
                yield self._session.kept(capture, boundary.boundary), sum(column.role == "value" for column in boundary.columns)

    def _read(self, path: Path, words: int, positions: Collection[int]) -> dict[int, bytes | None]:
        names = ["part", *(f"v{word}" for word in range(words))]
        wanted = np.array(sorted(positions), np.int64)
        known = self._session.kept_tables.find(path, wanted, names, most=_MOST)
        if known is None:
            import pyarrow.compute as pc  # it makes its functions as it loads, which takes a tenth of a short trace

            table = pq.read_table(path, columns=["key", *names], filters=pc.field("key").isin(wanted.tolist()))
            known = longs_of(table.column("key")), {name: longs_of(table.column(name)) for name in names}
        keys, columns = known
        parts: dict[int, dict[int, bytes | None]] = {}
        rows = np.stack([columns[name] for name in names[1:]], axis=1).astype(">i8") if len(keys) else ()
        for key, part, row in zip(keys.tolist(), columns["part"].tolist(), rows, strict=True):
            of_key, content = parts.setdefault(key, {}), row.tobytes()
            of_key[part] = content if of_key.get(part, content) == content else None
        found: dict[int, bytes | None] = {}
        for position, of_key in parts.items():
            contents = [of_key[part] for part in sorted(of_key)]
            whole = [content for content in contents if content is not None]
            if len(whole) < len(contents):
                found[position] = None
            elif (key := without_padding(self.columns, b"".join(whole))) is not None and position_of(key) == position:
                found[position] = key
        return found
