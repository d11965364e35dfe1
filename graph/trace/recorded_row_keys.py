"""The recorded keys of table rows whose key is not one integer.

The keys serve to read such rows again, and to find two keys with the same number. A key that does not hash to the number recorded with it
is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from headwater.graph.files.read_files import query_kept_rows
from headwater.graph.records import FileBlock
from headwater.graph.records.decode import longs_of
from headwater.graph.storage.row_keys import KeyColumn, position_of, without_padding

if TYPE_CHECKING:
    from pathlib import Path

    from headwater.graph.trace.session import Capture, Session

_CAPTURES = 200  # captures that are searched for a key which the captures of the trace do not have, the latest first
_FEW = 2_000  # numbers that are looked up one by one
_MOST = 1_000_000  # rows of a key table that are read together


class KeyBook:
    """The recorded keys of one table. `captures` are the captures of the trace that read the table."""

    def __init__(self, session: Session, block: FileBlock, columns: tuple[KeyColumn, ...]) -> None:
        self.captures: dict[str, None] = {}
        self.columns = columns
        self._session = session
        self._block = block

    def find_keys(self, positions: Collection[int]) -> dict[int, bytes | None]:
        """Return the recorded keys with these numbers. None stands for a number that two keys share."""
        keys = self.find_trace_keys(positions)
        if missing_numbers := set(positions).difference(keys):
            session = self._session
            everyone = session.store.catalog.readers(session.tenant, [self._block]).get(self._block, [])
            other_captures = [name for name in reversed(everyone) if name not in self.captures]
            for name in other_captures[:_CAPTURES]:
                self._add_keys(keys, name, missing_numbers)
                if not (missing_numbers := missing_numbers.difference(keys)):
                    break
        return keys

    def has_shared_numbers(self, positions: Collection[int] | None) -> bool:
        """Return whether two recorded keys share one of the numbers in `positions` (None: any number)."""
        if positions is not None and len(positions) <= _FEW:
            return None in self.find_trace_keys(positions).values()
        session = self._session
        for name in self.captures:
            for path, words in self._list_key_tables(session.get_capture(name)):
                differs = " OR ".join(f"min(v{word}) <> max(v{word})" for word in range(words))
                query = f"SELECT 1 FROM {query_kept_rows(path)} GROUP BY key, part HAVING {differs} LIMIT 1"
                if session.local_database.execute(query).fetchall():
                    return True
        return False

    def find_trace_keys(self, positions: Collection[int]) -> dict[int, bytes | None]:
        """Return the keys with these numbers, from the captures of the trace alone."""
        keys: dict[int, bytes | None] = {}
        for name in self.captures:
            self._add_keys(keys, name, positions)
        return keys

    def _add_keys(self, keys: dict[int, bytes | None], name: str, positions: Collection[int]) -> None:
        session = self._session
        if session.store.pruned(session.tenant, [name]):
            return
        for path, words in self._list_key_tables(session.get_capture(name)):
            for position, key in self._read_keys(path, words, positions).items():
                keys[position] = key if keys.get(position, key) == key else None

    def _list_key_tables(self, capture: Capture) -> Iterator[tuple[Path, int]]:
        for boundary in capture.manifest.boundaries:
            number = capture.plan.operators[boundary.operator].source if boundary.kind == "keys" else None
            if number is not None and capture.files_of(capture.source(number)).of(self._block) is not None:
                yield self._session.query_kept_table(capture, boundary.boundary), sum(column.role == "value" for column in boundary.columns)

    def _read_keys(self, path: Path, words: int, positions: Collection[int]) -> dict[int, bytes | None]:
        names = ["part", *(f"v{word}" for word in range(words))]
        wanted_numbers = np.array(sorted(positions), np.int64)
        key_rows = self._session.kept_tables.find(path, wanted_numbers, names, most=_MOST)
        if key_rows is None:
            import pyarrow.compute as pc  # this import takes a tenth of a short trace

            table = pq.read_table(path, columns=["key", *names], filters=pc.field("key").isin(wanted_numbers.tolist()))
            key_rows = longs_of(table.column("key")), {name: longs_of(table.column(name)) for name in names}
        keys, columns = key_rows
        parts: dict[int, dict[int, bytes | None]] = {}
        rows = np.stack([columns[name] for name in names[1:]], axis=1).astype(">i8") if len(keys) else ()
        for key, part, row in zip(keys.tolist(), columns["part"].tolist(), rows, strict=True):
            of_key, content = parts.setdefault(key, {}), row.tobytes()
            of_key[part] = content if of_key.get(part, content) == content else None
        found_keys: dict[int, bytes | None] = {}
        for position, of_key in parts.items():
            contents = [of_key[part] for part in sorted(of_key)]
            key_parts = [content for content in contents if content is not None]
            if len(key_parts) < len(contents):
                found_keys[position] = None
            elif (key := without_padding(self.columns, b"".join(key_parts))) is not None and position_of(key) == position:
                found_keys[position] = key
        return found_keys
