"""The tables of the catalog, and the upgrade of an older catalog.

A catalog is made from the folders of the kept captures. So an older catalog is emptied and filled again, in one transaction. A process that
is killed in between leaves the old catalog, and the next start begins again.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headwater.errors import ConfigurationError

# 1: one row for each capture and dataset, which a trace read through; 2: no names of tables, nothing of versions; 3: no journal;
# 4: files by whatever scheme a program called their store; 5: nothing of files that are read as another dataset than they were written as;
# 6: nothing of moved files; 7: not as which datasets files were read; 8: partitions as datasets of their own
VERSION = 9
_OPENING_SECONDS = 3600.0  # how long a starting process waits while another fills the catalog again

# `ended` is next to each number of a capture, so the latest of many is the first row of an index, without sorting.
_SCHEMA = (
    """CREATE TABLE job (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
      UNIQUE (tenant, namespace, name))""",
    # `name_back` and `path_back` are reversed, so an index finds names by their ends.
    """CREATE TABLE dataset (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
      path TEXT NOT NULL, ended TEXT NOT NULL, name_back TEXT NOT NULL, path_back TEXT NOT NULL, leaf TEXT NOT NULL,
      UNIQUE (tenant, namespace, name))""",
    "CREATE INDEX dataset_name ON dataset (tenant, name)",
    "CREATE INDEX dataset_path ON dataset (tenant, path)",
    "CREATE INDEX dataset_name_back ON dataset (tenant, name_back)",
    "CREATE INDEX dataset_path_back ON dataset (tenant, path_back)",
    "CREATE INDEX dataset_leaf ON dataset (tenant, leaf)",
    # The names that a catalog of tables has for a dataset, in lower case: `db.table`.
    """CREATE TABLE alias (tenant TEXT NOT NULL, name TEXT NOT NULL, dataset INTEGER NOT NULL,
      PRIMARY KEY (tenant, name, dataset)) WITHOUT ROWID""",
    "CREATE INDEX alias_dataset ON alias (dataset)",
    # `content` is a hash of what the row was made of; `output` the dataset that was written, 0 for none. `at` is `ended` in one form,
    # `replaces` what the capture replaced of its output (`overwrites`), `replaced` the time at which its output was replaced, or ''.
    # `held` is the capture that is made of its output and keeps it from being pruned, 0 for none known; `bytes` those of its tables;
    # `pruned` 1 once its tables may go, 2 once they are gone.
    """CREATE TABLE capture (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, capture TEXT NOT NULL, run TEXT NOT NULL,
      job INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, status TEXT NOT NULL, output INTEGER NOT NULL,
      derived INTEGER NOT NULL, content BLOB NOT NULL, at TEXT NOT NULL, replaces INTEGER NOT NULL, replaced TEXT NOT NULL,
      held INTEGER NOT NULL, bytes INTEGER NOT NULL, pruned INTEGER NOT NULL, UNIQUE (tenant, capture))""",
    "CREATE INDEX capture_run ON capture (tenant, run)",
    "CREATE INDEX capture_output ON capture (output, at)",
    "CREATE INDEX capture_standing ON capture (output, at) WHERE replaced = ''",
    "CREATE INDEX capture_replaced ON capture (tenant, replaced, number) WHERE replaced <> '' AND held = 0 AND pruned = 0",
    "CREATE INDEX capture_held ON capture (held) WHERE held <> 0",
    "CREATE INDEX capture_going ON capture (tenant, number) WHERE pruned = 1",
    "CREATE TABLE tally (tenant TEXT PRIMARY KEY, captures INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID",
    # Captures that read (`source`) or wrote (`sink`) a dataset. `shaped`: the capture states its columns; `scanned`: records came from it.
    """CREATE TABLE use (dataset INTEGER NOT NULL, role TEXT NOT NULL, shaped INTEGER NOT NULL, ended TEXT NOT NULL,
      capture INTEGER NOT NULL, scanned INTEGER NOT NULL, PRIMARY KEY (dataset, role, shaped, ended, capture)) WITHOUT ROWID""",
    "CREATE INDEX use_capture ON use (capture)",
    # Each pair of datasets once, with the number of captures that made the one from the other.
    """CREATE TABLE flow (input INTEGER NOT NULL, output INTEGER NOT NULL, captures INTEGER NOT NULL,
      PRIMARY KEY (input, output)) WITHOUT ROWID""",
    "CREATE INDEX flow_output ON flow (output, input)",
    # Pairs of datasets: files of `output` were written as part of `input`, for example of a parent folder.
    # A pair may remain without any capture: it makes traces search further, and changes no answer.
    """CREATE TABLE handed (input INTEGER NOT NULL, output INTEGER NOT NULL, PRIMARY KEY (input, output)) WITHOUT ROWID""",
    "CREATE INDEX handed_output ON handed (output, input)",
    # Each dataset and job that read it once, with the number of its captures, and of those that were refused.
    """CREATE TABLE taken (dataset INTEGER NOT NULL, job INTEGER NOT NULL, captures INTEGER NOT NULL, refused INTEGER NOT NULL,
      PRIMARY KEY (dataset, job)) WITHOUT ROWID""",
    "CREATE TABLE path (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, uri TEXT NOT NULL, UNIQUE (tenant, uri))",
    """CREATE TABLE written (path INTEGER NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, ended TEXT NOT NULL,
      capture INTEGER NOT NULL, rows INTEGER NOT NULL, name INTEGER NOT NULL,
      PRIMARY KEY (path, length, modified, ended, capture)) WITHOUT ROWID""",
    # Files by their name, length and time, wherever they lie (`moved_files`); `name` is 0 for what is no file.
    "CREATE INDEX written_name ON written (name, modified) WHERE name > 0",
    "CREATE INDEX written_alike ON written (modified, length) WHERE name > 0",
    "CREATE INDEX written_time ON written (path, ended)",
    "CREATE INDEX written_capture ON written (capture)",
    """CREATE TABLE consumed (path INTEGER NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, output INTEGER NOT NULL,
      ended TEXT NOT NULL, capture INTEGER NOT NULL, PRIMARY KEY (path, length, modified, output, ended, capture)) WITHOUT ROWID""",
    "CREATE INDEX consumed_time ON consumed (path, ended)",
    "CREATE INDEX consumed_capture ON consumed (capture)",
    # Each block that captures read, once for each dataset name, found by its name, length and time (`moved_files`). A row
    # may stay when no capture reads the block any more: whoever asks looks for its readers.
    """CREATE TABLE sourced (path INTEGER NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, dataset INTEGER NOT NULL,
      name INTEGER NOT NULL, PRIMARY KEY (path, length, modified, dataset)) WITHOUT ROWID""",
    "CREATE INDEX sourced_name ON sourced (name, modified) WHERE name > 0",
    "CREATE INDEX sourced_alike ON sourced (modified, length) WHERE name > 0",
    # The journal entries of a shared place that were read last, and the position from which to search for others.
    "CREATE TABLE journal (tenant TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (tenant, entry)) WITHOUT ROWID",
    # Captures that left groups to be found again and were not checked since (trace/recompute/group_keeper); a number is never given twice.
    """CREATE TABLE unkept (number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, capture TEXT NOT NULL,
      UNIQUE (tenant, capture))""",
)
# Tables that were added without a new version: a catalog of this version may lack them.
_ADDED = (
    # The number of changes. The log notes it too, so an older copy of the catalog is detected.
    "CREATE TABLE IF NOT EXISTS generation (number INTEGER NOT NULL)",
    "INSERT INTO generation SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM generation)",
    # Published captures that cannot be read. What they read and wrote is unknown until they are repaired.
    """CREATE TABLE IF NOT EXISTS lost (tenant TEXT NOT NULL, capture TEXT NOT NULL, reason TEXT NOT NULL,
      PRIMARY KEY (tenant, capture)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS capture_refused ON capture (job) WHERE status = 'refused' AND replaced = ''",
)
_TABLES = (
    "job",
    "dataset",
    "alias",
    "capture",
    "tally",
    "use",
    "flow",
    "handed",
    "taken",
    "path",
    "written",
    "consumed",
    "sourced",
    "unkept",
    "journal",
    "generation",
    "lost",
)  # of any version


def connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=_OPENING_SECONDS)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA wal_autocheckpoint = 0")  # `file_digest` makes each checkpoint
    return database


def version_of(database: sqlite3.Connection, path: Path) -> int:
    """Return the version of a catalog. 0 for a new catalog.

    Raises:
        ConfigurationError: a newer Headwater wrote the catalog.
    """
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise ConfigurationError(
            f"{path} was written by a newer Headwater (its version is {version}, this one knows {VERSION}).",
            hint="Upgrade Headwater, or name another home.",
        )
    return version


def make_tables(database: sqlite3.Connection) -> None:
    """Replace all tables by empty tables of this version. Call it in a transaction."""
    for table in _TABLES:
        database.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in _SCHEMA:
        database.execute(statement)
    add_tables(database)
    database.execute(f"PRAGMA user_version = {VERSION}")


def lacks_tables(database: sqlite3.Connection) -> bool:
    """Return whether a catalog of this version lacks the tables that were added later without a new version."""
    return database.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('generation', 'lost')").fetchone()[0] < 2  # type: ignore[no-any-return]


def add_tables(database: sqlite3.Connection) -> None:
    """Make the tables that were added later. Call it in a transaction."""
    for statement in _ADDED:
        database.execute(statement)
