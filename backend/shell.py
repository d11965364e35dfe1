"""`headwater.lineage(df)`: the lineage of a DataFrame in the running shell, as DataFrames, without a service.

For whoever looks at a wrong row in a notebook. The frame is computed once, with record capture, into a temporary folder; what comes out
of a question are native DataFrames of the same session, to be filtered and joined like any other (Titian, "native transformations").
Nothing of this is sent anywhere or kept. While the frame is computed, other queries of the same session are not captured.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.associations import Manifest, Source
from headwater.graph.model import node_id
from headwater.graph.records import AssociationStore, FileBlock, uri_of
from headwater.graph.trace.downstream import Downstream
from headwater.graph.trace.files.shapes import Shape
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import tracer_of
from headwater.graph.trace.upstream import Goal, Upstream
from headwater.spark_listener.capture.session import captured_write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TENANT = "shell"
FILE, ROW = "_file", "_row"
_PATH = "_headwater_path"


class LineageWarning(UserWarning):
    """An answer holds more than the lineage, or lacks something; the message says what."""


class FrameLineage:
    """The lineage of one DataFrame. Made by `lineage`; its folder goes with it, or with `close`."""

    def __init__(self, frame: DataFrame, folder: Path) -> None:
        self._spark = frame.sparkSession
        self._out = folder / "rows"
        manifest = Manifest.from_json(captured_write(frame, self._out, folder / "segments"))
        self._store = AssociationStore(folder / "associations")
        self._end = weakref.finalize(self, _forget, self._store, folder)
        if manifest.status == "refused":
            reasons = "; ".join(f"{problem.operator}: {problem.reason}" for problem in manifest.problems)
            raise UnsupportedError(f"The records of this frame cannot be followed. {reasons}.")
        for segment in manifest.segments:
            self._store.stage_segment(TENANT, manifest.capture, segment.name, folder / "segments" / manifest.capture / segment.name)
        self._store.publish(TENANT, manifest)
        self._manifest = manifest
        self.rows: DataFrame = self._spark.read.parquet(str(self._out))

    @property
    def sources(self) -> tuple[str, ...]:
        """The paths that the frame reads records from."""
        return tuple(source.path for source in self._manifest.sources)

    def backward(self, where: str | None = None, *, source: str | None = None, witness: bool = False) -> DataFrame:
        """The records of a source behind the rows that fulfil `where` (Spark SQL; none: all rows), with `_file` and `_row`.

        With `witness`, only records that suffice to compute the rows again. `source` is a path or the end of one, needed where the
        frame reads several. Warns (`LineageWarning`) where the answer is not exact.

        Raises:
            InvalidQueryError: there is no such source, or it is needed and missing.
        """
        chosen = self._source(source)
        with self._session() as session:
            begin = self._begin(session, self.rows, where, self._written(session))
            walk = Upstream(session, Goal(), witness=witness)
            walk.run(begin, None)
            return self._records(session, chosen, [*walk.reached, *walk.ends])

    def forward(self, where: str | None = None, *, source: str | None = None) -> DataFrame:
        """The rows of the frame that records of a source had a part in, with `_file` and `_row`. `where` chooses the records."""
        chosen = self._source(source)
        with self._session() as session:
            files = self._read(session, chosen)
            begin = self._begin(session, self._frame_of(chosen), where, files)
            walk = Downstream(session, to=None, follows=lambda _: True)
            walk.run(begin)
            return self._joined(session, self.rows, [*walk.reached, *walk.ends], self._written(session))

    def close(self) -> None:
        """Forget everything; DataFrames made of it cannot be computed any more."""
        self._end()

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with tracer_of(self._store).session(TENANT) as session:
            yield session
            for lack in session.incomplete:
                warnings.warn(f"{lack.what}: {lack.reason} ({lack.effect})", LineageWarning, stacklevel=4)

    def _source(self, name: str | None) -> Source:
        found = [source for source in self._manifest.sources if name is None or source.path.rstrip("/").endswith(name.rstrip("/"))]
        if len(found) != 1:
            there = ", ".join(self.sources) or "none"
            raise InvalidQueryError(f"{name or 'One source'} has to name one source.", field="source", hint=f"The frame reads {there}.")
        return found[0]

    def _written(self, session: Session) -> dict[str, KnownFile]:
        capture = session.capture(self._manifest.capture)
        files = [session.written(capture, place) for place in range(len(capture.files))]
        return {file.block.path: file for file in files}

    def _read(self, session: Session, source: Source) -> dict[str, KnownFile]:
        dataset = node_id("dataset", source.dataset.namespace, source.dataset.name)
        blocks = [(FileBlock(uri_of(file.path), file.length, file.modified), file.partition) for file in source.files]
        return {block.path: session.known(block, dataset, Shape.of_source(source), partition) for block, partition in blocks}

    def _begin(self, session: Session, frame: DataFrame, where: str | None, files: dict[str, KnownFile]) -> str:
        """The places of the rows of a frame of files: a table `origin, file, row`."""
        chosen = frame.where(where) if where else frame
        places = _placed(chosen).select(FILE, ROW).toArrow().to_pydict()
        numbers = [files[path].number for path in places[FILE]]
        table = pa.table({"origin": [0] * len(numbers), "file": numbers, "row": places[ROW]}, pa.schema(_PLACE))
        name = session.name()
        session.database.register(name, table)
        return session.table(f"SELECT DISTINCT * FROM {name}")

    def _records(self, session: Session, source: Source, tables: Sequence[str]) -> DataFrame:
        files = self._read(session, source)
        return self._joined(session, self._frame_of(source), tables, files)

    def _frame_of(self, source: Source) -> DataFrame:
        """The files of a source as they were listed; only formats whose reader tells a row's place."""
        if source.format != "parquet":
            raise UnsupportedError(
                f"{source.path} is {source.format}; in the shell, records of Parquet alone are given as DataFrames.",
                hint="Under `headwater run`, `headwater trace` gives records of every format.",
            )
        columns = ", ".join(f"`{column.name}` {column.type}" for column in source.columns)
        reader = self._spark.read.schema(columns).option("basePath", source.path)
        return reader.parquet(*[file.path for file in source.files])

    def _joined(self, session: Session, frame: DataFrame, tables: Sequence[str], files: dict[str, KnownFile]) -> DataFrame:
        """The rows of a frame at the places in tables."""
        from pyspark.sql.functions import broadcast  # the light install may be here without PySpark's own dependencies loaded

        paths = {file.number: path for path, file in files.items()}
        union = " UNION ".join(f"SELECT file, row FROM {table}" for table in tables) or "SELECT 0 AS file, 0 AS row WHERE false"
        found = session.database.execute(f"SELECT DISTINCT file, row FROM ({union})").fetchnumpy()
        mine = [(paths[file], row) for file, row in zip(found["file"].tolist(), found["row"].tolist(), strict=True) if file in paths]
        places = pa.table(
            {FILE: [path for path, _ in mine], ROW: [row for _, row in mine]}, pa.schema([(FILE, pa.string()), (ROW, pa.int64())])
        )
        there = self._spark.createDataFrame(places)
        # By number first, as decoding a path takes 5 µs: of millions of rows all but those that may be meant are gone by then.
        near = _numbered(frame).join(broadcast(there.select(ROW)), ROW, "left_semi")
        return _named(near, frame.columns).join(broadcast(there), [FILE, ROW], "left_semi")


_PLACE = [("origin", pa.int64()), ("file", pa.int64()), ("row", pa.int64())]


def lineage(frame: DataFrame, *, folder: str | Path | None = None) -> FrameLineage:
    """Compute a DataFrame with record capture, to ask where its rows came from.

    `folder` is where that is kept meanwhile (a new folder in it); on a cluster one that executors and driver share.

    Raises:
        UnsupportedError: an operator of the frame cannot be followed (the message names it), or a cluster's folder is missing.
        CaptureUnavailableError: capture does not work in this session.
    """
    master = str(frame.sparkSession.sparkContext.master)
    if (folder is None and not master.startswith("local")) or master.startswith("local-cluster"):
        raise UnsupportedError(f"The session runs on {master}.", hint="Give a folder that executors and driver share: folder=….")
    place = Path(tempfile.mkdtemp(prefix="headwater-lineage-")) if folder is None else Path(folder).absolute() / f"lineage-{uuid4().hex}"
    place.mkdir(parents=True, exist_ok=True)
    try:
        return FrameLineage(frame, place)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _placed(frame: DataFrame) -> DataFrame:
    """With the place of each row, in the form in which captures name files."""
    return _named(_numbered(frame), frame.columns)


def _numbered(frame: DataFrame) -> DataFrame:
    """With each row's number in its file, and the path of that as Spark tells it."""
    from pyspark.sql.functions import col

    return frame.select("*", col("_metadata.file_path").alias(_PATH), col("_metadata.row_index").alias(ROW))


def _named(numbered: DataFrame, columns: Sequence[str]) -> DataFrame:
    """With the path as captures have it, which Spark tells percent-encoded."""
    from pyspark.sql.functions import col, lit, regexp_replace, replace, url_decode

    path = regexp_replace(url_decode(replace(col(_PATH), lit("+"), lit("%2B"))), "^file:/+", "file:/")
    kept = (col("`" + name.replace("`", "``") + "`") for name in columns)
    return numbered.select(*kept, path.alias(FILE), ROW)


def _forget(store: AssociationStore, folder: Path) -> None:
    store.close()
    shutil.rmtree(folder, ignore_errors=True)
