"""The state that stays warm between traces of one store: a database, indexes of text files, and parsed plans."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import duckdb

from headwater.errors import MissingExtraError
from headwater.graph.duck.memory_tables import SCRATCH
from headwater.graph.files.reader import Reader
from headwater.graph.files.table_cache import KnownTables
from headwater.graph.records import AssociationStore
from headwater.graph.records.key_lookup import KeptTables
from headwater.graph.storage import duck
from headwater.graph.trace.session import Capture, Session

_TRACERS: weakref.WeakKeyDictionary[AssociationStore, Tracer] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()
_MAX_PLANS = 512
_MEMORY = "2GB"  # beyond it DuckDB spills
_ROWS_IN_MEMORY = 4_000_000  # rows of a table that may be held in memory instead; of two columns 64 MB
_LEFT = 24 * 3600.0  # seconds after which a folder is nobody's: whoever spills to one touches it with each trace
_LITTLE = "32MB"  # where the answer is read in one pass, what waits for its turn may as well wait on disk


class Tracer:
    """Opens sessions over one store. Safe to use from several threads; a session belongs to one trace."""

    def __init__(self, store: AssociationStore, *, rows_in_memory: int = _ROWS_IN_MEMORY, **config: str | int) -> None:
        self._store = weakref.ref(store)
        self._rows_in_memory = rows_in_memory
        self._spill = _spill(store.root)
        self._spilled = False
        self._database = duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(self._spill), **config})
        self._database.execute("SET GLOBAL TimeZone = 'UTC'")
        # The name of a descriptor is another file's later. Before version 2, DuckDB remembers what it read of local files by name.
        if int(duckdb.__version__.partition(".")[0]) < 2:
            self._database.execute("SET GLOBAL enable_external_file_cache = false")
        if store.sources.remote:
            with suppress(MissingExtraError):  # whoever asks for a remote file is told
                duck.register(self._database)
        self._finalize = weakref.finalize(self, _closed, self._database)
        self._reader = Reader()
        self._kept_tables = KeptTables()
        self._known_tables = KnownTables()
        self._captures: dict[str, dict[str, Capture]] = {}
        self._sessions: set[Session] = set()

    def interrupt(self) -> None:
        """Interrupt the statements of all sessions, from another thread. They raise."""
        for session in list(self._sessions):
            session.database.interrupt()

    def close(self) -> None:
        """Close the database."""
        self._finalize()

    @contextmanager
    def session(self, tenant: str) -> Iterator[Session]:
        """A session, with temporary tables of its own."""
        store = self._store()
        assert store is not None  # noqa: S101 - the caller holds the store
        captures = self._captures.setdefault(tenant, {})
        if len(captures) > _MAX_PLANS:
            captures.clear()
        if self._spilled:  # DuckDB makes the folder once, and never again; idle for long, it may have been taken for left
            self._spill.mkdir(parents=True, exist_ok=True)
            os.utime(self._spill)
        try:
            with self._database.cursor() as cursor:
                cursor.execute("SET enable_progress_bar = false")  # it would stand in the answer of a command
                session = Session(
                    store, tenant, cursor, self._reader, self._kept_tables, captures, self._known_tables, most=self._rows_in_memory
                )
                self._sessions.add(session)
                try:
                    yield session
                    session.look.check()
                except duckdb.Error:
                    session.check_scanned()
                    raise
                finally:
                    self._sessions.discard(session)
                    session.database.close()
                    session.look.opened.close()
        finally:
            self._spilled = self._spilled or self._spill.exists()


def _closed(database: duckdb.DuckDBPyConnection) -> None:
    """Close a database, also at the end of the process: what it holds of Python must go before Python does."""
    duck.forget(database)
    database.close()


@contextmanager
def sparing_session(store: AssociationStore, tenant: str, *, memory: str = _LITTLE, **config: str | int) -> Iterator[Session]:
    """A session on a database of its own, which keeps little in memory and is gone afterwards: for a trace of any size, read once."""
    tracer = Tracer(store, rows_in_memory=0, memory_limit=memory, threads=1, **config)
    try:
        with tracer.session(tenant) as session:
            yield session
    finally:
        tracer.close()


def tracer_of(store: AssociationStore) -> Tracer:
    """The tracer of a store, made at its first trace."""
    with _LOCK:
        if store not in _TRACERS:
            _TRACERS[store] = Tracer(store)
        return _TRACERS[store]


def _spill(root: Path) -> Path:
    """A folder that one database spills to, and drops. Of two that share one, DuckDB before version 2 overwrites the rows."""
    folder = root / ".spill"
    for left in (*folder.glob("*"), *Path(tempfile.gettempdir()).glob(f"{SCRATCH}*")):
        with suppress(FileNotFoundError):  # another database was closed meanwhile
            status = left.stat()
            if status.st_mtime < time.time() - _LEFT and status.st_uid == os.getuid():  # of a process that was killed
                shutil.rmtree(left, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / uuid4().hex
