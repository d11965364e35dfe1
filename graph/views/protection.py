"""Finds the tags of all columns whose values a column may hold, to mask columns. Lineage is followed; upper and lower case are equal.

Producers write one column as `city` and `CITY`, and a field within it as `city.name`. A column contains its fields. So at each step, all
columns of a dataset count that have the same name, or of which one contains the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from headwater.errors import InvalidQueryError
from headwater.graph.model import EdgeKind, Node, NodeKind, bare_name
from headwater.graph.stores.derivations import OPEN, derivations
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views.columns import dataset_of
from headwater.graph.views.fields import Way, way_of
from headwater.graph.views.masking import field_tags
from headwater.graph.views.request import MAX_REACHED

_PAGE = 5_000
_COLUMNS = 100_000  # columns of one dataset


def names_above(name: str) -> list[str]:
    """Return a case-folded name, and the names of all columns that contain it as a field, outermost first.

    >>> names_above("Home.City")
    ['home', 'home.city']
    """
    return list(accumulate(name.casefold().split("."), "{}.{}".format))


def is_same_or_within(names: Collection[str], other: str) -> bool:
    """Return whether a column has one of some names (case folded), is a field of such a column, or has such a field."""
    return any(name in names for name in names_above(other)) or any(name.startswith(f"{other.casefold()}.") for name in names)


class TagReach:
    """Finds out whether tags reach columns. Serves one question: each column of a graph is read once."""

    def __init__(self, graph: GraphStore, tenant: str) -> None:
        self._graph = graph
        self._tenant = tenant
        self._datasets: dict[str, _Columns] = {}
        self._sources: dict[str, list[str]] = {}

    async def read(self, columns: Collection[str]) -> None:
        """Read everything from which some columns derive, so that later calls of `bears` need no query."""
        reached, waiting = set(columns), [*columns]
        while waiting and len(reached) <= MAX_REACHED:
            try:
                waiting = await self._step(await self._related(waiting), reached)
            except InvalidQueryError:
                return  # `bears` raises the same error for the column
            reached.update(waiting)

    async def bears(self, column: str, tag: str) -> bool:
        """Return whether a column has a tag, or whether values of a column with the tag ever reached it unhidden. Case is ignored.

        Raises:
            InvalidQueryError: the column derives from too many columns.
        """
        asked = tag.casefold()
        reached, waiting = {column}, [column]
        while waiting:
            related = await self._related(waiting)
            if any(asked in self._datasets[dataset_of(each)].tags.get(each, ()) for each in related):
                return True
            waiting = await self._step(related, reached)
            reached.update(waiting)
            if len(reached) > MAX_REACHED:
                raise InvalidQueryError(f"{column} derives from more than {MAX_REACHED:,} columns.", field="column")
        return False

    async def _step(self, columns: Sequence[str], reached: Collection[str]) -> list[str]:
        """Return the columns whose values flow directly into some columns, without those in `reached`."""
        await self._read_sources(columns)
        return list(dict.fromkeys(source for column in columns for source in self._sources[column] if source not in reached))

    async def _related(self, columns: Sequence[str]) -> list[str]:
        missing = list(dict.fromkeys(dataset for column in columns if (dataset := dataset_of(column)) not in self._datasets))
        described = {node.id: node for node in await self._graph.get(self._tenant, missing)} if missing else {}
        for dataset in missing:
            self._datasets[dataset] = _Columns(await self._listed(dataset), described.get(dataset))
        return list(dict.fromkeys(each for column in columns for each in self._datasets[dataset_of(column)].related(column)))

    async def _listed(self, dataset: str) -> list[Node]:
        prefix, nodes = f"{NodeKind.COLUMN}:{dataset.partition(':')[2]}:", list[Node]()
        while page := await self._graph.listed_after(self._tenant, prefix, nodes[-1].id if nodes else None, first=_PAGE):
            nodes += page
            if len(nodes) > _COLUMNS:
                raise InvalidQueryError(f"{dataset} has more than {_COLUMNS:,} columns.", field="dataset")
            if len(page) < _PAGE:
                break
        return nodes

    async def _read_sources(self, columns: Iterable[str]) -> None:
        unknown = [column for column in columns if column not in self._sources]
        self._sources |= {column: [] for column in unknown}
        for edge in await derivations(self._graph, self._tenant, unknown, direction=Direction.UPSTREAM) if unknown else ():
            is_open = any(name.startswith(OPEN) for name in edge.properties)
            if edge.kind is EdgeKind.DERIVES and edge.src.startswith(f"{NodeKind.COLUMN}:") and (is_open or way_of(edge) is Way.DIRECT):
                self._sources[edge.dst].append(edge.src)


class _Columns:
    """The columns of a dataset by name, and their tags, case folded."""

    def __init__(self, nodes: Sequence[Node], dataset: Node | None) -> None:
        self.tags = {node.id: {tag.casefold() for tag in field_tags(node, dataset)} for node in nodes}
        self._named: dict[str, list[str]] = {}
        self._within: dict[str, list[str]] = {}
        for node in nodes:
            *above, name = names_above(bare_name(node.id))
            self._named.setdefault(name, []).append(node.id)
            for each in above:
                self._within.setdefault(each, []).append(node.id)

    def related(self, column: str) -> list[str]:
        """Return the columns with the same name as a column, the columns that contain it, and its fields."""
        names = names_above(bare_name(column))
        return [column, *(each for name in names for each in self._named.get(name, ())), *self._within.get(names[-1], ())]
