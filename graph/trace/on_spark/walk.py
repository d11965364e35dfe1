"""The walk of a trace on Spark: the steps are those of every trace, the tables of records between them are Spark's.

For traces that are too large for one process. The records to begin with are chosen, and the values of those listed are read, in this
process as always; from capture to capture, and within each, Spark joins tables of references with the kept tables. What needs values on the
way (which row a `max` took) or reads sources again (what was left to be found again) is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from headwater.errors import UnavailableError, UnsupportedError
from headwater.graph.associations import Boundary
from headwater.graph.duck.memory_tables import Columns, Database
from headwater.graph.trace.on_spark.connection import NotOnSparkError, SparkConnection
from headwater.graph.trace.session import Capture, Session

_FEW = 100_000  # rows of a table that are searched here: a job of Spark takes longer to begin
_PART = 1_000_000  # rows that are handed to Spark at once
_PLACED = "origin, file, row"


class WalkOnSpark(Session):
    """The session of a walk on Spark, which shares what it knows and says with the session that it comes from.

    Tables of up to `few` rows are searched in memory, as in any session.
    """

    def __init__(self, local: Session, connection: SparkConnection, *, few: int = _FEW, say: Callable[[str], None] | None = None) -> None:
        self.__dict__.update(local.__dict__)
        self._connection = connection
        self.database = Database(self._connection)  # type: ignore[arg-type]
        self._reads_here = connection.reads_here
        self._most = few if self._reads_here else 0
        self._counts = {}
        self._made = []
        self._views: dict[Path, str] = {}
        self._refused: UnsupportedError | None = None
        self._tell = say
        self._met: set[str] = set()

    def take(self, local: Session, table: str) -> str:
        """A table of places of the session that this comes from."""
        known = local.columns(table)
        if known is not None and local.count(table) < max(self._most, 1):
            return self.hold({name: known[name] for name in _PLACED.split(", ")})
        name = self.name()
        query = f"SELECT {_PLACED} FROM {table}"
        found = local.database.holding(query).sql(query).to_arrow_reader(_PART)
        self._counts[name] = self._connection.register_parts(name, (pa.Table.from_batches([part]) for part in found))
        if not self._counts[name]:
            return self.table("SELECT NULL::BIGINT AS origin, NULL::BIGINT AS file, NULL::BIGINT AS row WHERE false")
        self._made.append(name)
        return name

    def table(self, select: str, parameters: list[object] | None = None) -> str:
        if parameters:
            raise self.refusal("Reading the values of records")
        name = self.name()
        self.database.holding(select)
        self._counts[name] = self._connection.make(name, select)
        self._made.append(name)
        return name

    def capture(self, identifier: str) -> Capture:
        capture = super().capture(identifier)
        if self._tell is not None and identifier not in self._met:
            self._met.add(identifier)
            run = capture.manifest.run
            self._tell(f"following records through {run.job} (run {run.run_id})")
        return capture

    def columns(self, table: str) -> Columns | None:
        known = super().columns(table)
        return known if self._most else None

    def rows(self, capture: Capture, boundary: Boundary) -> str:
        path = self.kept(capture, boundary.boundary) if self._reads_here else Path(capture.id, str(boundary.boundary))
        if path not in self._views:
            name = self.name()
            self._connection.read(name, self._uri(capture, boundary, path))
            self._views[path] = name
        return self._views[path]

    def forget(self, kept: Collection[str | None]) -> None:
        for name in [name for name in self._made if name not in kept]:
            self._connection.drop(name)
            self._made.remove(name)

    def needs_values(self, what: str) -> None:
        raise self.refusal(what)

    def refusal(self, what: str) -> NotOnSparkError:
        """The error by which something is refused: whoever takes it for a reason to know less does not have the last word."""
        self._refused = NotOnSparkError(what)
        return self._refused

    def check(self) -> None:
        """See that nothing was refused on the way. Raises what was."""
        if self._refused is not None:
            raise self._refused

    def _uri(self, capture: Capture, boundary: Boundary, path: Path) -> str:
        if self._reads_here:
            self.kept_tables.check(path)
            self._scanned.add(path)
            return f"file:{path.absolute()}"
        uri = self.store.shared_uri(self.tenant, capture.id, boundary.boundary)
        if uri is None:
            raise UnsupportedError(
                "The kept tables lie on this machine, and Spark's executors may be elsewhere.",
                hint="Share them (HEADWATER_ASSOCIATIONS=s3://…), or let Spark run here (--on-spark 'local[*]').",
            )
        return uri


@contextmanager
def walking(
    connection: SparkConnection, local: Session, *, few: int = _FEW, say: Callable[[str], None] | None = None
) -> Iterator[WalkOnSpark]:
    """A session on Spark for the walk of a trace; its tables are forgotten with it. `say` is told of each capture that it comes to."""
    session = WalkOnSpark(local, connection, few=few, say=say)
    try:
        yield session
        session.check()
    except UnavailableError:
        session.check_scanned()  # a damaged table is told by its name
        raise
    finally:
        session.forget(())
