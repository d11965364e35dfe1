"""The session of a trace on Spark, for traces that are too large for one process.

The steps are those of every trace, but the tables between them are in Spark. This process selects the records to begin with, and reads the
values of the listed records. Spark joins tables of references with kept tables. Steps that need values (the row of a `max`) or that compute
records again from sources are refused with their names.
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

_FEW = 100_000  # rows; smaller tables are searched in this process, because a Spark job takes longer to start
_PART = 1_000_000  # rows per batch to Spark
_PLACED = "origin, file, row"


class WalkOnSpark(Session):
    """A session whose tables are in Spark. It shares the files and the reported problems of a local session.

    Tables of up to `few_rows` rows are searched in memory, as in any session.
    """

    def __init__(
        self, local: Session, connection: SparkConnection, *, few_rows: int = _FEW, say: Callable[[str], None] | None = None
    ) -> None:
        self.__dict__.update(local.__dict__)
        self._connection = connection
        self.database = Database(self._connection)  # type: ignore[arg-type]
        self._reads_here = connection.reads_here
        self._memory_limit = few_rows if self._reads_here else 0
        self._counts = {}
        self._table_names = []
        self._views: dict[Path, str] = {}
        self._refused: UnsupportedError | None = None
        self._tell = say
        self._met: set[str] = set()

    def take_table(self, local: Session, table: str) -> str:
        in_memory = local.get_columns(table)
        if in_memory is not None and local.count_rows(table) < max(self._memory_limit, 1):
            return self.keep_in_memory({name: in_memory[name] for name in _PLACED.split(", ")})
        name = self.make_name()
        query = f"SELECT {_PLACED} FROM {table}"
        batches = local.database.holding(query).sql(query).to_arrow_reader(_PART)
        self._counts[name] = self._connection.register_parts(name, (pa.Table.from_batches([part]) for part in batches))
        if not self._counts[name]:
            return self.make_table("SELECT NULL::BIGINT AS origin, NULL::BIGINT AS file, NULL::BIGINT AS row WHERE false")
        self._table_names.append(name)
        return name

    def make_table(self, select: str, parameters: list[object] | None = None) -> str:
        if parameters:
            raise self.refusal("Reading the values of records")
        name = self.make_name()
        self.database.holding(select)
        self._counts[name] = self._connection.make(name, select)
        self._table_names.append(name)
        return name

    def get_capture(self, identifier: str) -> Capture:
        capture = super().get_capture(identifier)
        if self._tell is not None and identifier not in self._met:
            self._met.add(identifier)
            run = capture.manifest.run
            self._tell(f"following records through {run.job} (run {run.run_id})")
        return capture

    def get_columns(self, table: str) -> Columns | None:
        in_memory = super().get_columns(table)
        return in_memory if self._memory_limit else None

    def query_rows(self, capture: Capture, boundary: Boundary) -> str:
        path = self.query_kept_table(capture, boundary.boundary) if self._reads_here else Path(capture.id, str(boundary.boundary))
        if path not in self._views:
            name = self.make_name()
            self._connection.read(name, self._uri(capture, boundary, path))
            self._views[path] = name
        return self._views[path]

    def drop_tables_except(self, kept_names: Collection[str | None]) -> None:
        for name in [name for name in self._table_names if name not in kept_names]:
            self._connection.drop(name)
            self._table_names.remove(name)

    def require_values(self, purpose: str) -> None:
        raise self.refusal(purpose)

    def refusal(self, purpose: str) -> NotOnSparkError:
        """Return an error for a step that cannot run on Spark. `check` raises it again, in case a caller handles it."""
        self._refused = NotOnSparkError(purpose)
        return self._refused

    def check(self) -> None:
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
def open_spark_session(
    connection: SparkConnection, local: Session, *, few_rows: int = _FEW, say: Callable[[str], None] | None = None
) -> Iterator[WalkOnSpark]:
    """Open a session on Spark for one trace, and drop its tables at the end. `say` receives a text for each capture."""
    session = WalkOnSpark(local, connection, few_rows=few_rows, say=say)
    try:
        yield session
        session.check()
    except UnavailableError:
        session.check_scanned()  # names a damaged table
        raise
    finally:
        session.drop_tables_except(())
