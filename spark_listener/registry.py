"""The registry of a home: how its programs are started, and the files and folders that they read and wrote.

This file alone decides what a replay runs and what a trace may read. Only processes on this machine write it: a program that runs on the
home, or an operator (`headwater jobs register`). No event, manifest or other network input does. A program registers itself without
secrets, and a fault here never stops it. An operator's registration is stored as given, so only the file's owner may read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from headwater.errors import ConfigurationError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS program (
  id TEXT PRIMARY KEY, namespace TEXT NOT NULL, job TEXT NOT NULL, operator INTEGER NOT NULL, invocation TEXT NOT NULL, at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS program_job ON program (namespace, job);
CREATE TABLE IF NOT EXISTS run (run TEXT PRIMARY KEY, program TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run_parameters (
  run TEXT PRIMARY KEY, namespace TEXT NOT NULL, job TEXT NOT NULL, arguments TEXT NOT NULL, environment TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS root (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS overwritten (path TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;
"""
_SELECT = "SELECT p.namespace, p.job, p.operator, p.invocation, p.at"
_PATIENCE = 10.0  # seconds to wait for another writer
_RECENTLY = timedelta(hours=1)  # a folder that is overwritten again within it is not stored again, because each write waits for the disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How the program of a job is started. If `operator` is set, an operator registered it for every run of the job."""

    namespace: str
    job: str
    argv: Sequence[str]
    script: str
    script_sha256: str
    working_directory: str
    environment: Mapping[str, str] = field(default_factory=dict)
    operator: bool = False

    @property
    def id(self) -> str:
        """Return a hash of the program and how it is started. The same program is registered once."""
        return hashlib.sha256(json.dumps([self.namespace, self.job, self.operator, self.text()]).encode()).hexdigest()[:12]

    def text(self) -> str:
        parts = {
            "argv": list(self.argv), "script": self.script, "script_sha256": self.script_sha256,
            "working_directory": self.working_directory, "environment": dict(sorted(self.environment.items())),
        }  # fmt: skip
        return json.dumps(parts)


class Registry:
    """The registry in the file `registered.db` of a home. Threads and processes may share it."""

    def __init__(self, home: Path) -> None:
        self.path = home.absolute() / "registered.db"
        self._lock = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._read_file = (0, 0)

    def close(self) -> None:
        with self._lock:
            self._close()

    def register(self, program: Program, run: str | None = None) -> None:
        """Register a program for one of its runs. An operator's registration replaces the job's earlier ones by operators.

        Raises:
            ConfigurationError: the file cannot be written, or others may write to it.
        """
        with self._writing() as database:
            if program.operator:
                database.execute("DELETE FROM program WHERE namespace = ? AND job = ? AND operator = 1", [program.namespace, program.job])
            now = datetime.now(UTC).isoformat(timespec="seconds")
            row = [program.id, program.namespace, program.job, int(program.operator), program.text(), now]
            database.execute("INSERT OR REPLACE INTO program VALUES (?, ?, ?, ?, ?, ?)", row)
            if run is not None:
                database.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", [run.lower(), program.id])

    def program(self, run: str, namespace: str, job: str) -> Program | None:
        """Return the program for a run of a job.

        An operator's registration, with the parameters of the run, takes precedence over the run's own registration.

        Raises:
            ConfigurationError: the file cannot be read, or others may write to it.
        """
        found = self._read(f"{_SELECT} FROM program p WHERE operator = 1 AND namespace = ? AND job = ?", namespace, job)
        found += self._read(f"{_SELECT} FROM run JOIN program p ON p.id = run.program WHERE run = ?", run.lower())
        if not found:
            return None
        program = self._program(*found[0][:4])
        return self._with_parameters(program, run) if program.operator else program

    def add_parameters(self, run: str, namespace: str, job: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """Store arguments and variables of a run that extend the operator's registration. Raises like `register`."""
        with self._writing() as database:
            row = [run.lower(), namespace, job, json.dumps(list(arguments)), json.dumps(dict(environment))]
            database.execute("INSERT OR REPLACE INTO run_parameters VALUES (?, ?, ?, ?, ?)", row)

    def runs(self) -> list[str]:
        """Return all runs of programs that registered themselves. Raises like `program`."""
        return [row[0] for row in self._read("SELECT run FROM run ORDER BY run")]

    def _with_parameters(self, program: Program, run: str) -> Program:
        if not self._read("SELECT 1 FROM sqlite_master WHERE name = 'run_parameters'"):  # an earlier release made the file
            return program
        query = "SELECT arguments, environment FROM run_parameters WHERE run = ? AND namespace = ? AND job = ?"
        for arguments, environment in self._read(query, run.lower(), program.namespace, program.job):
            try:
                changed = replace(
                    program, argv=[*program.argv, *json.loads(arguments)], environment={**program.environment, **json.loads(environment)}
                )
            except (ValueError, TypeError) as error:
                raise self._unusable(f"the parameters of the run {run} cannot be read: {error}") from error
            if not _is_whole(changed):
                raise self._unusable(f"the parameters of the run {run} are not made of texts")
            return changed
        return program

    def programs(self) -> list[tuple[Program, str]]:
        return [(self._program(*row[:4]), row[4]) for row in self._read(f"{_SELECT} FROM program p ORDER BY namespace, job, at")]

    def remove(self, identifier: str) -> bool:
        if not self.path.exists():
            return False
        with self._writing() as database:
            database.execute("DELETE FROM run WHERE program = ?", [identifier])
            return database.execute("DELETE FROM program WHERE id = ?", [identifier]).rowcount > 0

    def add_roots(self, paths: Iterable[str]) -> None:
        """Store files and folders that a program of this home read or wrote. Raises like `register`."""
        real = sorted({os.path.realpath(path) for path in paths})
        if real and len(real) > len(self._roots_among(real)):
            with self._writing() as database:
                database.executemany("INSERT OR IGNORE INTO root VALUES (?)", [[path] for path in real])

    def add_overwritten(self, path: str) -> None:
        """Store a folder that a job of this home overwrites. Raises like `register`."""
        now = datetime.now(UTC)
        if self._was_overwritten(path, now - _RECENTLY):
            return
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO overwritten VALUES (?, ?)", [path, now.isoformat(timespec="seconds")])

    def _was_overwritten(self, path: str, since: datetime) -> bool:
        query = "SELECT 1 FROM overwritten WHERE path = ? AND at > ?"
        try:
            return bool(self._read(query, path, since.isoformat(timespec="seconds")))
        except ConfigurationError:  # an earlier release made the file, or the write reports the reason
            return False

    def overwritten(self) -> list[str]:
        """Return the folders that jobs of this home overwrite, at most 1,000, the latest first. Empty if the file cannot be read."""
        try:
            return [row[0] for row in self._read("SELECT path FROM overwritten ORDER BY at DESC LIMIT 1000")]
        except ConfigurationError:  # an earlier release made it
            return []

    def is_root(self, paths: Sequence[str]) -> bool:
        """Return whether one of the paths was stored as a root. Raises like `program`."""
        return bool(self._roots_among(paths))

    def _roots_among(self, paths: Sequence[str]) -> list[tuple[str]]:
        return self._read(f"SELECT path FROM root WHERE path IN ({', '.join('?' * len(paths))})", *paths)

    def _read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                if (status := self._checked()) is None:
                    return []
                if self._reader is None or self._read_file != (status.st_dev, status.st_ino):
                    self._close()
                    uri = f"{self.path.as_uri()}?mode=ro"
                    self._reader = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, check_same_thread=False)
                    self._read_file = (status.st_dev, status.st_ino)
                return self._reader.execute(query, values).fetchall()
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(str(error)) from error

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            self._checked()
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as database, database:
                database.executescript(_SCHEMA)
                yield database
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(str(error)) from error

    def _checked(self) -> os.stat_result | None:
        """Return the file's status. None if it does not exist. Its content is executed, so no other user may have write access."""
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o022:
            raise ConfigurationError(
                f"{self.path} may be written by others (mode {stat.filemode(status.st_mode)}, owner {status.st_uid}).",
                hint="Remove it, unless you loosened it yourself: then chmod 600. Programs register themselves with their next run.",
            )
        return status

    def _program(self, namespace: str, job: str, operator: int, invocation: str) -> Program:
        """Convert a row to a program. Its content is executed, so every part must have the expected form."""
        try:
            parts = json.loads(invocation)
            program = Program(namespace=namespace, job=job, operator=bool(operator), **parts)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._unusable(f"the program of job {job!r} (namespace {namespace!r}) cannot be read: {error}") from error
        if not _is_whole(program):
            raise self._unusable(f"the program of job {job!r} (namespace {namespace!r}) is not made of texts")
        return program

    def _unusable(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self.path} cannot be used: {reason}.", hint="Remove it. Programs register themselves with their next run."
        )


def _is_whole(program: Program) -> bool:
    single = (program.script, program.script_sha256, program.working_directory)
    if not isinstance(program.argv, list) or not isinstance(program.environment, dict):
        return False
    return all(isinstance(text, str) for text in (*single, *program.argv, *program.environment, *program.environment.values()))
