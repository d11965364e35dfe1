"""The graph of a SQLite file in the form that `numbered_cones` needs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from headwater.graph.model import EdgeKind
from headwater.graph.stores.numbered_cones import ROW, Numbers
from headwater.graph.stores.protocol import Direction
from headwater.graph.stores.sqlite.vocabulary import KIND, codes
from headwater.graph.stores.sqlite.walk import array, edges_at, first_by_id, greatest_key


@dataclass(frozen=True)
class FileGround:
    """A `Ground` whose node numbers are the keys of the file."""

    connection: sqlite3.Connection

    @cached_property
    def size(self) -> int:
        return greatest_key(self.connection) + 1

    def edges_at(self, way: Direction, nodes: Numbers, kinds: Sequence[EdgeKind], *, whole: bool) -> Numbers:
        return edges_at(self.connection, way, nodes, codes(kinds), whole=whole)

    def first_by_id(self, nodes: Numbers, count: int) -> Numbers:
        return first_by_id(self.connection, nodes, count)

    def ids(self, nodes: Numbers) -> list[str]:
        return self._texts("id", nodes)

    def names(self, nodes: Numbers) -> list[str]:
        return self._texts("name", nodes)

    def known(self, nodes: Numbers) -> None:  # noqa: ARG002 - the store itself is to be asked
        return None

    def facts(self, edges: Numbers) -> list[tuple[EdgeKind, str, str]]:
        rows = self.connection.execute(
            "SELECT e.key, e.kind, coalesce(e.first, ''), coalesce(e.last, '') "
            "FROM json_each(?) AS kept CROSS JOIN edge AS e ON e.key = kept.value",
            (array(np.sort(edges[:, ROW])),),
        )
        facts = {key: (KIND[kind], first, last) for key, kind, first, last in rows}
        return [facts[row] for row in edges[:, ROW].tolist()]

    def _texts(self, column: Literal["id", "name"], nodes: Numbers) -> list[str]:
        """Return a text column of the nodes. Rows are read in the order of the file."""
        order = np.argsort(nodes)
        (found,) = self.connection.execute(
            f"SELECT json_group_array(n.{column}) FROM json_each(?) AS kept CROSS JOIN node AS n ON n.key = kept.value",
            (array(nodes[order]),),
        ).fetchone()
        place = np.empty(len(nodes), dtype=np.int64)
        place[order] = np.arange(len(nodes))
        listed = json.loads(found)
        return [listed[row] for row in place.tolist()]
