"""`headwater.lineage(df)`: the lineage of a DataFrame in the running shell, as DataFrames, without a service.

A person who looks at a wrong row in a notebook can use it. The DataFrame is computed once, with record capture, into a temporary
folder. The answers are native DataFrames of the same session, which can be filtered and joined like any other
(Titian, "native transformations"). Nothing is sent or stored. While the DataFrame is computed, other queries of
the same session are not captured.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload
from uuid import uuid4

import numpy as np
import pyarrow as pa

from headwater.backend.cli.shell.lineage_warning import LineageWarning
from headwater.backend.home.default_settings import DefaultSettings
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.associations import Manifest, Source
from headwater.graph.files.formats import get_format
from headwater.graph.files.shapes import Shape
from headwater.graph.model import node_id
from headwater.graph.records import ANYWHERE, AssociationStore, block_at
from headwater.graph.records.decode import Longs, longs_of
from headwater.graph.trace.downstream import Downstream
from headwater.graph.trace.estimate import expected_rows
from headwater.graph.trace.on_spark.connection import NotOnSparkError, SparkConnection
from headwater.graph.trace.on_spark.walk import open_spark_session
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.upstream import Goal, Upstream
from headwater.paths import partition_text, pattern_of_path
from headwater.spark_listener.capture.placed import PlacedFrames
from headwater.spark_listener.capture.read_again import refuse
from headwater.spark_listener.capture.session import captured_write, mark_as_ours

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame

    from headwater.backend.cli.shell.rdds import LineageRDD

T = TypeVar("T")
TENANT = "shell"
FILE, ROW = "_file", "_row"
_OWN_FILE, _OWN_ROW = "_headwater_file_number", "_headwater_row"  # names that do not collide with the columns of a user's condition
_PLACE = ("origin", "file", "row")
_FEW_ROWS = 100_000  # a condition may select all of them, and a reply of py4j then has 2 MB
_FEW_WANTED = 1_000  # records that one task reads
_MOST_BITS = 1 << 23  # rows between the first and the last wanted record of a file, each with a byte of memory here
_TOGETHER = 8 << 20  # bytes of files that one task reads; a condition needs all rows
_WANTED_TOGETHER = 128 << 20  # the same for wanted rows, whose task skips most row groups; Spark's own largest part for a task
_WHOLE = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}  # a session that skips such files would make answers partial


class FrameLineage:
    """The lineage of one DataFrame, made by `lineage`. `close` or garbage collection removes its folder."""

    def __init__(self, frame: DataFrame, folder: Path, *, large: int) -> None:
        self._spark = frame.sparkSession
        self._large = large
        self._out = folder / "rows"
        manifest = Manifest.from_json(captured_write(_storable(frame), self._out, folder / "segments"))
        self._store = AssociationStore(folder / "associations", sources=ANYWHERE)
        self._end = weakref.finalize(self, _forget, self._store, folder)
        if manifest.status == "refused":
            reasons = "; ".join(f"{problem.operator}: {problem.reason}" for problem in manifest.problems)
            raise UnsupportedError(f"The records of this frame cannot be followed. {reasons}.")
        for segment in manifest.segments:
            self._store.stage_segment(TENANT, manifest.capture, segment.name, folder / "segments" / manifest.capture / segment.name)
        written = self._store.publish(TENANT, manifest)
        self._has_few_rows = sum(file.rows for file in written) <= _FEW_ROWS
        self._manifest = manifest
        self._frames = PlacedFrames(self._spark)
        self._names = frame.columns
        self._written_rows = self._spark.read.options(**_WHOLE).parquet(pattern_of_path(str(self._out)))
        self._source_frames: dict[int, DataFrame] = {}  # by `Source.source`
        self.rows: DataFrame = self._written_rows.toDF(*self._names)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the paths from which the DataFrame reads records."""
        return tuple(source.path for source in self._manifest.sources)

    def backward(self, where: str | None = None, *, source: str | None = None, witness: bool = False) -> DataFrame:
        """Return the records of a source behind the rows that fulfil `where` (Spark SQL; all rows by default).

        The result has the columns `_file` and `_row`. With `witness`, it has only records that suffice to compute the rows again. `source`
        is a path or the end of a path. It is required if the DataFrame has several sources. Inexact answers cause a `LineageWarning`.

        Raises:
            InvalidQueryError: there is no such source, or the source must be named.
            SourceChangedError: a file with the records changed.
        """
        chosen = self._source(source)
        with self._session() as session:
            begin = self._begin(session, self._rows_at(self._written(session)), where, are_few=self._has_few_rows)
            files = self._read(session, chosen)

            def followed(there: Session) -> dict[str, Longs]:
                walk = Upstream(there, Goal(), witness=witness)
                walk.run(there.take_table(session, begin), None)
                return _wanted(there, files, [*walk.reached, *walk.ends])

            return self._records_at(chosen, files, self._by_size(session, begin, followed, forward=False))

    def forward(self, where: str | None = None, *, source: str | None = None) -> DataFrame:
        """Return the rows of the DataFrame that depend on records of a source, with `_file` and `_row`.

        `where` selects the records.
        """
        chosen = self._source(source)
        with self._session() as session:
            files = self._read(session, chosen)
            begin = self._begin(session, self._records_at(chosen, files), where)
            written = self._written(session)

            def followed(there: Session) -> dict[str, Longs]:
                walk = Downstream(there)
                walk.run(there.take_table(session, begin))
                return _wanted(there, written, [*walk.reached, *walk.ends])

            return self._rows_at(written, self._by_size(session, begin, followed, forward=True))

    def close(self) -> None:
        """Remove all files. DataFrames from this lineage can no longer be computed."""
        self._end()

    @contextmanager
    def _session(self) -> Iterator[Session]:
        if not self._end.alive:
            raise UnsupportedError("This lineage is closed.", hint="Make another one: headwater.lineage(df).")
        with get_tracer(self._store).session(TENANT) as session:
            yield session
            for lack in session.incomplete:
                warnings.warn(f"{lack.what}: {lack.reason} ({lack.effect})", LineageWarning, stacklevel=4)

    def _by_size(self, session: Session, begin: str, followed: Callable[[Session], T], *, forward: bool) -> T:
        """Follow records with Spark jobs if their number is large, else in this process.

        This process also takes over if the jobs fail.
        """
        if expected_rows(session, begin, forward=forward, goal_datasets=None, row_limit=self._large) > self._large:
            known = dict(session.incomplete)
            try:
                with open_spark_session(SparkConnection(self._spark, shares_files=True), session) as there:
                    return followed(there)
            except NotOnSparkError:
                session.incomplete.clear()  # remove the notes of the failed jobs
                session.incomplete.update(known)
        return followed(session)

    def _source(self, name: str | None) -> Source:
        found = [source for source in self._manifest.sources if name is None or _is_called(source, name)]
        if len(found) != 1:
            there = ", ".join(self.sources) or "none"
            raise InvalidQueryError(f"{name or 'One source'} has to name one source.", field="source", hint=f"The frame reads {there}.")
        return found[0]

    def _written(self, session: Session) -> dict[str, KnownFile]:
        capture = session.get_capture(self._manifest.capture)
        files = [session.add_written_file(capture, kept) for kept in capture.files]
        return {file.block.path: file for file in files}

    def _read(self, session: Session, source: Source) -> dict[str, KnownFile]:
        dataset = node_id("dataset", source.dataset.namespace, source.dataset.name)
        shape = Shape.from_source(source)
        blocks = [(file, block_at(file.path, file.length, file.modified)) for file in source.files]
        return {file.path: session.add_file(block, dataset, shape, file.partition) for file, block in blocks}  # paths as Spark writes them

    def _begin(self, session: Session, placed: DataFrame, where: str | None, *, are_few: bool = False) -> str:
        """Return a table `origin, file, row` with the positions of the rows that fulfil a condition."""
        chosen = placed.where(where) if where else placed
        chosen = chosen.selectExpr(f"CAST({_OWN_FILE} AS BIGINT) AS file", f"{_OWN_ROW} AS row")
        if are_few:  # Arrow's stream to Python takes longer than the rows
            with mark_as_ours(self._spark.sparkContext):
                pairs = self._frames.pairs(chosen)
            file, row = np.frombuffer(pairs, ">i8").astype(np.int64).reshape(-1, 2).T.copy()
            return session.keep_in_memory({"origin": np.zeros(len(file), np.int64), "file": file, "row": row})
        with mark_as_ours(self._spark.sparkContext):
            places = chosen.toArrow()
        table = pa.table({"origin": pa.array(np.zeros(len(places), np.int64)), "file": places["file"], "row": places["row"]})
        if len(table) < session.memory_limit:
            return session.keep_in_memory({name: longs_of(table[name]) for name in _PLACE})
        name = session.make_name()
        session.database.register(name, table)
        return session.make_table(f"SELECT {', '.join(_PLACE)} FROM {name}")

    def _rows_at(self, files: Mapping[str, KnownFile], wanted: Mapping[str, Longs] | None = None) -> DataFrame:
        return self._placed(self._written_rows, self._names, files, wanted)

    def _records_at(self, source: Source, files: Mapping[str, KnownFile], wanted: Mapping[str, Longs] | None = None) -> DataFrame:
        """Return the records of a source with their positions. Only formats whose readers report positions work."""
        if not get_format(source.format).spark_gives_places:
            raise UnsupportedError(
                f"{source.path} is {source.format}; in the shell, records of Parquet alone are given as DataFrames.",
                hint="Under `headwater run`, `headwater trace` gives records of every format.",
            )
        if read_again := _states(files, files if wanted is None else wanted):
            refuse(self._frames.changed(read_again))
        read = self._source_frames.get(source.source)
        if read is None:
            unchanged = self._unchanged(files)
            read = self._frame_of(source, unchanged)
            if len(unchanged) == len(files):  # else Spark would keep what it found of other files
                self._source_frames[source.source] = read  # to look for the files takes as long as an answer
        return self._placed(read, read.columns, files, wanted)

    def _unchanged(self, files: Mapping[str, KnownFile]) -> list[str]:
        """Return the paths of the files that are as the run read them.

        Raises:
            SourceChangedError: all of them have changed.
        """
        changed = self._frames.changed(_states(files, files))
        if not changed:
            return list(files)
        unchanged = [path for path in files if not self._frames.changed(_states(files, [path]))]
        if not unchanged:
            refuse(changed)
        return unchanged

    def _frame_of(self, source: Source, paths: Sequence[str]) -> DataFrame:
        columns = ", ".join(f"{_quoted(column.name)} {column.type}" for column in source.columns)
        reader = self._spark.read.options(**_WHOLE).schema(columns)
        if source.partition_columns:
            reader = reader.option("basePath", _base(source))
        return reader.parquet(*map(pattern_of_path, paths))

    def _placed(
        self, read: DataFrame, names: Sequence[str], files: Mapping[str, KnownFile], wanted: Mapping[str, Longs] | None
    ) -> DataFrame:
        """Return records with their positions. The file is a number for `_begin`, and a path for `wanted` records."""
        states = _states(files, files if wanted is None else wanted)
        size = sum(length for length, _ in states.values())
        if wanted is None:
            labels = {path: str(file.number) for path, file in files.items()}
            is_together = size <= _TOGETHER
            file, row = _OWN_FILE, _OWN_ROW
        else:
            are_few = sum(map(len, wanted.values())) <= _FEW_WANTED
            labels = {path: path for path in wanted}
            is_together = are_few and size <= _WANTED_TOGETHER
            file, row = FILE, ROW
        rows = None if wanted is None else {path: _encode_rows(numbers) for path, numbers in wanted.items()}
        found = self._frames.of(read, labels, rows, states=states, file=file, row=row, together=is_together)
        return found if read.columns == list(names) else found.toDF(file, row, *names)


@overload
def lineage(frame: DataFrame, *, folder: str | Path | None = None, large: int = DefaultSettings.spark_trace_rows) -> FrameLineage: ...


@overload
def lineage(frame: RDD[Any]) -> LineageRDD: ...


def lineage(frame: Any, *, folder: str | Path | None = None, large: int = DefaultSettings.spark_trace_rows) -> FrameLineage | LineageRDD:
    """Return the lineage of a DataFrame or an RDD for `headwater.lineage` (headwater/lineages.py describes it and its errors)."""
    if not hasattr(frame, "sparkSession"):
        from headwater.backend.cli.shell.rdds import lineage_of

        return lineage_of(frame)
    master = str(frame.sparkSession.sparkContext.master)
    if (folder is None and not master.startswith("local")) or master.startswith("local-cluster"):
        raise UnsupportedError(f"The session runs on {master}.", hint="Give a folder that executors and driver share: folder=….")
    place = Path(tempfile.mkdtemp(prefix="headwater-lineage-")) if folder is None else Path(folder).absolute() / f"lineage-{uuid4().hex}"
    place.mkdir(parents=True, exist_ok=True)
    try:
        return FrameLineage(frame, place, large=large)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _wanted(session: Session, files: Mapping[str, KnownFile], tables: Sequence[str]) -> dict[str, Longs]:
    """Return the rows of files in tables `file, row`, in ascending order, by the path of the file.

    A file without rows is left out.
    """
    if not tables:
        return {}
    union = session.unite_columns(tables, ["file", "row"])
    found = session.get_columns(union)
    if found is None:
        fetched = session.database.execute(f"SELECT file, row FROM {union} ORDER BY file, row").fetchnumpy()
        found = {name: np.asarray(column, np.int64) for name, column in fetched.items()}
    wanted = {path: found["row"][slice(*np.searchsorted(found["file"], [file.number, file.number + 1]))] for path, file in files.items()}
    return {path: rows for path, rows in wanted.items() if len(rows)}


def _states(files: Mapping[str, KnownFile], paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the length and modification time of files when the run wrote or read them."""
    return {path: (files[path].block.length, files[path].block.modified) for path in paths}


def _encode_rows(numbers: Longs) -> bytes:
    """Return ascending numbers of rows in the shorter of the two forms of WantedRows.java: as integers, or as bits."""
    span = int(numbers[-1] - numbers[0]) + 1
    if span >= 64 * len(numbers) or span > _MOST_BITS:
        return b"\x00" + numbers.astype(">i8").tobytes()
    bits = np.zeros(span, np.bool_)
    bits[numbers - numbers[0]] = True
    return b"\x01" + numbers[:1].astype(">i8").tobytes() + np.packbits(bits).tobytes()


def _is_called(source: Source, name: str) -> bool:
    return f"/{source.path}".rstrip("/").endswith("/" + name.strip("/"))


def _base(source: Source) -> str:
    """Return the folder that contains the source's partition folders. If only a part was read, it is one of the read paths.

    Raises:
        UnsupportedError: a file is not in a partition folder.
    """
    if not source.files:
        return source.path
    names = [name.lower() for name in source.partition_columns]
    bases = set()
    for file in source.files:
        base, *folders = file.path.rsplit("/", len(names) + 1)[:-1]
        if [partition_text(folder.partition("=")[0]).lower() for folder in folders] != names:
            reason = f"{file.path} does not lie in folders that tell {', '.join(source.partition_columns)}"
            raise UnsupportedError(f"The records of {source.path} cannot be given as a DataFrame: {reason}.")
        bases.add(base)
    return min(bases)


def _storable(frame: DataFrame) -> DataFrame:
    """Return the DataFrame with unique column names, because a file cannot have two columns of one name."""
    names = {name.lower() for name in frame.columns}
    return frame if len(names) == len(frame.columns) else frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _forget(store: AssociationStore, folder: Path) -> None:
    store.close()
    shutil.rmtree(folder, ignore_errors=True)
