"""The tables of the catalog, and how a catalog of an earlier release becomes one of this.

For `catalog`. Everything in a catalog can be read again from the folders of the kept captures, so an older one is emptied and filled anew,
in one transaction: a process that is killed half-way leaves the old one, and the next start begins again.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headwater.errors import ConfigurationError

VERSION = 2  # 1: one row for each capture and dataset, which a trace read through
_OPENING_SECONDS = 3600.0  # how long a process that starts waits for another that fills the catalog anew

# `ended` stands beside each number of a capture, so that the latest of many is the first row of an index and never sorted out of all.
_SCHEMA = (
    """CREATE TABLE job (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
      UNIQUE (tenant, namespace, name))""",
    # `name_back` and `path_back` are reversed: what a name ends with is found as what it begins with.
    """CREATE TABLE dataset (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
      path TEXT NOT NULL, ended TEXT NOT NULL, name_back TEXT NOT NULL, path_back TEXT NOT NULL, leaf TEXT NOT NULL,
      UNIQUE (tenant, namespace, name))""",
    "CREATE INDEX dataset_name ON dataset (tenant, name)",
    "CREATE INDEX dataset_path ON dataset (tenant, path)",
    "CREATE INDEX dataset_name_back ON dataset (tenant, name_back)",
    "CREATE INDEX dataset_path_back ON dataset (tenant, path_back)",
    "CREATE INDEX dataset_leaf ON dataset (tenant, leaf)",
    # `content` is a hash of what the row was made of; `output` the dataset that was written, 0 for none.
    """CREATE TABLE capture (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, capture TEXT NOT NULL, run TEXT NOT NULL,
      job INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, status TEXT NOT NULL, output INTEGER NOT NULL,
      derived INTEGER NOT NULL, content BLOB NOT NULL, UNIQUE (tenant, capture))""",
    "CREATE INDEX capture_run ON capture (tenant, run)",
    "CREATE TABLE tally (tenant TEXT PRIMARY KEY, captures INTEGER NOT NULL) WITHOUT ROWID",
    # Which captures read (`source`) or wrote (`sink`) a dataset. `shaped`: the capture tells its columns; `scanned`: records came from it.
    """CREATE TABLE use (dataset INTEGER NOT NULL, role TEXT NOT NULL, shaped INTEGER NOT NULL, ended TEXT NOT NULL,
      capture INTEGER NOT NULL, scanned INTEGER NOT NULL, PRIMARY KEY (dataset, role, shaped, ended, capture)) WITHOUT ROWID""",
    "CREATE INDEX use_capture ON use (capture)",
    # Each pair of datasets once, with the number of captures that made the one from the other.
    """CREATE TABLE flow (input INTEGER NOT NULL, output INTEGER NOT NULL, captures INTEGER NOT NULL,
      PRIMARY KEY (input, output)) WITHOUT ROWID""",
    "CREATE INDEX flow_output ON flow (output, input)",
    # Each dataset and job that read it once, with the number of its captures, and of those that were refused.
    """CREATE TABLE taken (dataset INTEGER NOT NULL, job INTEGER NOT NULL, captures INTEGER NOT NULL, refused INTEGER NOT NULL,
      PRIMARY KEY (dataset, job)) WITHOUT ROWID""",
    "CREATE TABLE path (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, uri TEXT NOT NULL, UNIQUE (tenant, uri))",
    """CREATE TABLE written (path INTEGER NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, ended TEXT NOT NULL,
      capture INTEGER NOT NULL, rows INTEGER NOT NULL, PRIMARY KEY (path, length, modified, ended, capture)) WITHOUT ROWID""",
    "CREATE INDEX written_time ON written (path, ended)",
    "CREATE INDEX written_capture ON written (capture)",
    """CREATE TABLE consumed (path INTEGER NOT NULL, length INTEGER NOT NULL, modified INTEGER NOT NULL, output INTEGER NOT NULL,
      ended TEXT NOT NULL, capture INTEGER NOT NULL, PRIMARY KEY (path, length, modified, output, ended, capture)) WITHOUT ROWID""",
    "CREATE INDEX consumed_time ON consumed (path, ended)",
    "CREATE INDEX consumed_capture ON consumed (capture)",
    # Captures that left groups to be found again and were not looked at since (trace/recomputed/keep); a number is never given twice.
    """CREATE TABLE unkept (number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, capture TEXT NOT NULL,
      UNIQUE (tenant, capture))""",
)
_EARLIER = ("capture", "dataset", "written", "consumed")  # tables of version 1


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, for use by several threads in turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=_OPENING_SECONDS)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def version_of(database: sqlite3.Connection, path: Path) -> int:
    """The version that a catalog has; 0: it is new.

    Raises:
        ConfigurationError: a newer Headwater wrote it.
    """
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise ConfigurationError(
            f"{path} was written by a newer Headwater (its version is {version}, this one knows {VERSION}).",
            hint="Upgrade Headwater, or name another home.",
        )
    return version


def make_tables(database: sqlite3.Connection) -> None:
    """Make the tables of this version, without those of an earlier one. In a transaction of the caller."""
    for table in _EARLIER:
        database.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in _SCHEMA:
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION}")
