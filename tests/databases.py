"""A real PostgreSQL for tests: a cluster of its own in a temporary folder, on loopback, and Spark's driver for it.

    from tests.databases import postgres     # a context manager that starts one and ends it
    python -m tests.databases                # fetches the driver, as the step `lake-install` of `make test` does

The server's programs come from the system (`postgresql` of Debian). As root they run as the user `postgres`, which the package makes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pg8000.native

from tests.lake import fetched_jars
from tests.ports import free_port

USER, PASSWORD = "shopkeeper", "hunter2-secret"
_DRIVER = "42.7.14"


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        """Its database `shop`, for JDBC, without user and password."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/shop"

    @property
    def namespace(self) -> str:
        """The namespace of its tables."""
        return f"postgres://127.0.0.1:{self.port}"

    def run(self, *statements: str) -> list[list[Any]]:
        """Run statements; the rows of the last."""
        rows: list[list[Any]] = []
        with pg8000.native.Connection(USER, host="127.0.0.1", port=self.port, database="shop", password=PASSWORD) as connection:
            for statement in statements:
                rows = connection.run(statement) or []
        return rows

    def root(self, **more: object) -> str:
        """An entry of storage.toml."""
        stated = {"url": f"{self.namespace}/shop", "user": USER, "password": PASSWORD, **more}
        return "\n".join(["[[root]]", *(f"{name} = {value!r}".replace("'", '"') for name, value in stated.items()), ""])


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server with an empty database `shop`."""
    with tempfile.TemporaryDirectory(prefix="headwater-postgres-", dir="/tmp") as made:  # a socket's path has 107 characters at most
        folder, port = Path(made), free_port()
        (folder / "password").write_text(PASSWORD)
        who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        if who:
            shutil.chown(folder, "postgres", "postgres")
            shutil.chown(folder / "password", "postgres", "postgres")

        def do(program: str, *arguments: str) -> None:
            done = subprocess.run([_program(program), *arguments], cwd=folder, capture_output=True, text=True, check=False, **who)
            assert done.returncode == 0, done.stdout + done.stderr

        data = f"{folder}/data"
        do("initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--pwfile", f"{folder}/password", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off -c shared_buffers=32MB"
        do("pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            server = Postgres(port, folder)
            with pg8000.native.Connection(USER, host="127.0.0.1", port=port, database="postgres", password=PASSWORD) as connection:
                connection.run("CREATE DATABASE shop")
            yield server
        finally:
            do("pg_ctl", "-D", data, "-m", "immediate", "stop")


def postgres_driver() -> Path:
    """The folder of the driver's jar."""
    return fetched_jars(f"postgres-{_DRIVER}", [("org.postgresql", "postgresql", _DRIVER)])


def _program(name: str) -> str:
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    if found is None:
        raise RuntimeError(f"The tests of databases start PostgreSQL, whose {name} is not there: install the package postgresql.")
    return found


if __name__ == "__main__":
    postgres_driver()
