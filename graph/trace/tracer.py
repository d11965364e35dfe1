"""The state that stays in memory between traces of one store: a database, indexes of text files, and parsed plans."""

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
from headwater.graph.files.table_cache import TableCache
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.records.key_lookup import KeptTables
from headwater.graph.storage import duck
from headwater.graph.trace.session import Capture, Session

_TRACERS: weakref.WeakKeyDictionary[AssociationStore, Tracer] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()
_MAX_PLANS = 512
_MEMORY = "2GB"  # DuckDB spills above this size
_ROWS_IN_MEMORY = 4_000_000  # rows of a table that may be kept in memory instead; 64 MB for two columns
_LEFT = 24 * 3600.0  # seconds after which a folder counts as abandoned: each trace touches the folder it spills to
_LITTLE = "32MB"  # the answer is read in one pass, so waiting rows may be on disk


class Tracer:
    """Opens sessions over one store. Safe to use from several threads; each session serves one trace."""

    def __init__(self, store: AssociationStore, *, rows_in_memory: int = _ROWS_IN_MEMORY, **config: str | int) -> None:
        self._store = weakref.ref(store)
        self._rows_in_memory = rows_in_memory
        self._spill = _make_spill_folder(store.root)
        self._spilled = False
        self._database = duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(self._spill), **config})
        self._database.execute("SET GLOBAL TimeZone = 'UTC'")
        # A descriptor's name later belongs to another file, and DuckDB 1 caches local files by name.
        if int(duckdb.__version__.partition(".")[0]) < 2:
            self._database.execute("SET GLOBAL enable_external_file_cache = false")
        if store.sources.remote:
            with suppress(MissingExtraError):  # a question about a remote file reports it
                duck.register(self._database)
        self._finalize = weakref.finalize(self, _close_database, self._database)
        self._reader = Reader()
        self._kept_tables = KeptTables()
        self._known_tables = TableCache()
        self._captures: dict[str, dict[str, Capture]] = {}
        self._sessions: set[Session] = set()

    def interrupt(self) -> None:
        """Interrupt the running statements of all sessions, from another thread. The statements raise."""
        for session in list(self._sessions):
            session.database.interrupt()

    def close(self) -> None:
        self._finalize()

    @contextmanager
    def session(self, tenant: str, sources: DataRoots | None = None) -> Iterator[Session]:
        """Open a session. It reads data below the store's roots, or below those in `sources`."""
        store = self._store()
        assert store is not None  # noqa: S101 - the caller holds the store
        captures = self._captures.setdefault(tenant, {})
        if len(captures) > _MAX_PLANS:
            captures.clear()
        if self._spilled:  # DuckDB makes the folder only once, and a long idle folder may have been removed as abandoned
            self._spill.mkdir(parents=True, exist_ok=True)
            os.utime(self._spill)
        try:
            with self._database.cursor() as cursor:
                cursor.execute("SET enable_progress_bar = false")  # it would appear in the output of a command
                session = Session(
                    store, tenant, cursor, self._reader, self._kept_tables, captures, self._known_tables,
                    memory_limit=self._rows_in_memory, sources=sources,
                )  # fmt: skip
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


def _close_database(database: duckdb.DuckDBPyConnection) -> None:
    """Close a database. It holds Python objects, so it must be closed before Python ends."""
    duck.forget(database)
    database.close()


@contextmanager
def open_sparing_session(store: AssociationStore, tenant: str, *, memory: str = _LITTLE, **config: str | int) -> Iterator[Session]:
    """Open a session for one large trace, with a database of its own that keeps little in memory."""
    tracer = Tracer(store, rows_in_memory=0, memory_limit=memory, threads=1, **config)
    try:
        with tracer.session(tenant) as session:
            yield session
    finally:
        tracer.close()


def get_tracer(store: AssociationStore) -> Tracer:
    with _LOCK:
        if store not in _TRACERS:
            _TRACERS[store] = Tracer(store)
        return _TRACERS[store]


def _make_spill_folder(root: Path) -> Path:
    """Make a folder for the spilled rows of one database. DuckDB 1 overwrites rows if two databases share a folder."""
    folder = root / ".spill"
    for old_path in (*folder.glob("*"), *Path(tempfile.gettempdir()).glob(f"{SCRATCH}*")):
        with suppress(FileNotFoundError):  # another database was closed in the meantime
            status = old_path.stat()
            if status.st_mtime < time.time() - _LEFT and status.st_uid == os.getuid():  # a killed process left it
                shutil.rmtree(old_path, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / uuid4().hex
