"""The names of the columns whose values a column of an answer may hold, by what the files themselves say.

For whoever hides columns by name. A manifest is its producer's word: it may state another separator, other names, another format.
A reader may rename columns, too: DuckDB calls the second of `salary` and `Salary` `Salary_1`. So a name is certain only if the file has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from headwater.graph.records.bounded_cache import Bounded

_NUMBERED = re.compile(r"(?:[_:][0-9]+)+")  # what DuckDB puts behind a name that is taken
_MOST = 2_000


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of the columns of a file.

    `is_certain` is false if a column may hold a whole record, or values of a column of another name. `others` are pairs: the name of a
    column, and a further name of its values, as of a nested field. `doubled` are names that several columns have, apart from case.
    `may_be_renamed`: a table may have other names for the columns than `known`, those in the file.
    """

    is_certain: bool
    others: frozenset[tuple[str, str]] = frozenset()
    doubled: frozenset[str] = frozenset()
    may_be_renamed: bool = False
    known: frozenset[str] = frozenset()

    def names_of(self, column: str) -> set[str]:
        """All names under which a rule may know the values of a column of an answer."""
        stems = self._stems(column)
        others = {other for name, other in self.others if name.casefold() in {column.casefold(), *stems}}
        return {column, *stems, *others, *(stem for other in others for stem in self._stems(other))}

    def _stems(self, column: str) -> set[str]:
        """The names of which DuckDB may have made this one by a number."""
        folded = column.casefold()
        return {name for name in self.doubled if folded.startswith(name) and _NUMBERED.fullmatch(folded, len(name))}


UNCERTAIN = ColumnNames(is_certain=False)


class NamesCache:
    """Names of the columns of files as they are now. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: Bounded[Hashable, ColumnNames] = Bounded(_MOST)

    def get(self, key: Hashable, make: Callable[[], ColumnNames]) -> ColumnNames:
        """The names that are known by a key, or are made now."""
        found = self._known.get(key)
        if found is None:
            found = make()
            self._known.put(key, found, 1)
        return found


def find_doubled(names: Iterable[str]) -> frozenset[str]:
    """Names, case folded, that are there twice."""
    return frozenset(name for name, count in Counter(name.casefold() for name in names).items() if count > 1)
