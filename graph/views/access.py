"""Lists the jobs that read, wrote, created or dropped a column, with the times.

The source is the column lineage that jobs state. A read that only filters or joins counts. A read whose result goes to the driver
(`collect`) counts if the producer states it. A job that reads the dataset without stating columns is listed as a possible reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, NodeKind
from headwater.graph.model.instants import instant_of
from headwater.graph.stores.containment import children
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views.columns import dataset_of
from headwater.graph.views.levels import kind_of
from headwater.graph.views.times import run_of, time_of

_HOW = "how:"
_DECIDING = {"FILTER", "JOIN", "SORT", "GROUP_BY", "CONDITIONAL", "WINDOW"}


class AccessKind(StrEnum):
    """The effect of a job on a column."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Access:
    """A job's access to a column. `ways` are OpenLineage's words for how the column is read.

    `decides_only` is true if the column only decided about rows, and was never a value of the result. `first` and `last` bound the time;
    `certain` is false if neither is in the requested window, or if the job states no columns.
    """

    job: str
    kind: AccessKind
    ways: Sequence[str]
    decides_only: bool
    first: str | None
    last: str | None
    runs: Sequence[str]
    certain: bool


async def field_access(graph: GraphStore, tenant: str, column: str, *, since: str | None = None, until: str | None = None) -> list[Access]:
    """Return the accesses of a column in a window, earliest first.

    Raises:
        NotFoundError: the column is not in the graph.
        InvalidQueryError: the id does not belong to a column.
    """
    if not await graph.get(tenant, [column]):
        raise NotFoundError(f"Nothing is known of {column}.", hint="See the columns that its dataset contains.")
    if kind_of(column) is not NodeKind.COLUMN:
        raise InvalidQueryError(f"{column} is no column.", field="column", hint="An id of a column reads column:NAMESPACE:DATASET:COLUMN.")
    since = instant_of(since, "since", end=False) if since else None
    until = instant_of(until, "until", end=True) if until else None
    dataset = dataset_of(column)
    columns = [node.id for node in await children(graph, tenant, dataset, [NodeKind.COLUMN])]
    edges = await graph.neighbours(tenant, sorted({*columns, column}), direction=Direction.BOTH, kinds=[EdgeKind.ACCESSES])
    mine = [edge for edge in edges if column in (edge.src, edge.dst)]
    found = [_access(edge, AccessKind.READ if edge.src == column else AccessKind.WRITE) for edge in mine]
    found += _created_and_dropped(column, edges)
    stating = {edge.dst for edge in edges if edge.src in columns}
    readers = await graph.neighbours(tenant, [dataset], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.READS])
    found += [
        _access(edge, AccessKind.READ, certain=False) for edge in readers if kind_of(edge.dst) is NodeKind.JOB and edge.dst not in stating
    ]
    kept = [_in_window(access, since, until) for access in found]
    return sorted((access for access in kept if access), key=lambda access: (access.first or "", access.job, access.kind))


def _access(edge: Edge, kind: AccessKind, *, certain: bool = True) -> Access:
    ways = sorted(name.removeprefix(_HOW) for name in edge.properties if name.startswith(_HOW))
    job = edge.dst if kind is AccessKind.READ else edge.src
    runs = list(dict.fromkeys(f"run:{run_of(statement)}" for statement in (edge.first, edge.last) if run_of(statement)))
    deciding = bool(ways) and _DECIDING.issuperset(ways)
    return Access(job, kind, ways, deciding, time_of(edge.first) or None, time_of(edge.last) or None, runs, certain)


def _created_and_dropped(column: str, edges: Iterable[Edge]) -> list[Access]:
    """Return the access that created the column, and the access that dropped it.

    The first write of the column creates it. A later write of the dataset without the column, by another run, drops it.
    """
    writes = [edge for edge in edges if edge.dst.startswith("column:") and edge.first]
    mine = [edge for edge in writes if edge.dst == column]
    if not mine:
        return []
    first, creator = min((edge.first, edge.src) for edge in mine)
    last = max(edge.last for edge in mine)
    found = [_event(creator, AccessKind.CREATE, first)]
    later = [
        (statement, edge.src)
        for edge in writes
        for statement in (edge.first, edge.last)
        if statement > last and run_of(statement) != run_of(last)
    ]
    if later:
        found.append(_event(min(later)[1], AccessKind.DROP, min(later)[0]))
    return found


def _event(job: str, kind: AccessKind, statement: str) -> Access:
    runs = [f"run:{run_of(statement)}"] if run_of(statement) else []
    return Access(job, kind, [], False, time_of(statement), time_of(statement), runs, certain=True)


def _in_window(access: Access, since: str | None, until: str | None) -> Access | None:
    """Return the access if its time overlaps the window. It becomes uncertain if both of its ends are outside of the window."""
    if access.first is None or access.last is None:
        return replace(access, certain=False)
    if (until and access.first > until) or (since and access.last < since):
        return None
    inside = any((not since or at >= since) and (not until or at <= until) for at in (access.first, access.last))
    return access if inside else replace(access, certain=False)
