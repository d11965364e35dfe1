"""The names of the columns from which a value of an answer may come, as the files state them.

The service uses them to hide columns by name. A manifest comes from its producer and may be wrong about the separator, the names or the
format. A reader may rename columns too: DuckDB calls the second of `salary` and `Salary` `Salary_1`. So a name is certain only if the file
itself has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from headwater.graph.records.bounded_cache import Bounded

_NUMBERED = re.compile(r"(?:[_:][0-9]+)+")  # DuckDB's suffix for a repeated name
_MOST = 2_000


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of the columns of a file.

    - `is_certain`: false if a column may contain a whole record, or values of a column of another name.
    - `other_names`: pairs of a column's name and a further name of its values, for example of a nested field.
    - `ambiguous_names`: names that several columns have, except for case.
    - `may_be_renamed`: a table may have other names for the columns than `file_names`, the names in the file.
    """

    is_certain: bool
    other_names: frozenset[tuple[str, str]] = frozenset()
    ambiguous_names: frozenset[str] = frozenset()
    may_be_renamed: bool = False
    file_names: frozenset[str] = frozenset()

    def find_names(self, column: str) -> set[str]:
        """Return all names under which a rule may hide the values of a column in an answer."""
        stems = self._strip_numbers(column)
        further_names = {further_name for name, further_name in self.other_names if name.casefold() in {column.casefold(), *stems}}
        return {column, *stems, *further_names, *(stem for further_name in further_names for stem in self._strip_numbers(further_name))}

    def _strip_numbers(self, column: str) -> set[str]:
        """Return the names from which DuckDB may have made a column name by adding a number."""
        folded_name = column.casefold()
        return {name for name in self.ambiguous_names if folded_name.startswith(name) and _NUMBERED.fullmatch(folded_name, len(name))}


UNCERTAIN = ColumnNames(is_certain=False)


class NamesCache:
    """A cache of the column names of unchanged files. Safe to use from several threads."""

    def __init__(self) -> None:
        self._names: Bounded[Hashable, ColumnNames] = Bounded(_MOST)

    def get(self, key: Hashable, make: Callable[[], ColumnNames]) -> ColumnNames:
        """Return the cached names of a file. Call `make` if there are none."""
        names = self._names.get(key)
        if names is None:
            names = make()
            self._names.put(key, names, 1)
        return names


def find_ambiguous(names: Iterable[str]) -> frozenset[str]:
    """Return the case-folded names that occur more than once."""
    return frozenset(name for name, count in Counter(name.casefold() for name in names).items() if count > 1)
