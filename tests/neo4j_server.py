"""A real Neo4j server for tests: its community edition, from the artifacts that it publishes to Maven.

    from tests.neo4j_server import neo4j_server      # in a conftest.py; a session-scoped fixture

The jars are fetched once, into .tools/neo4j-<version>/lib; after that no network is needed. One server serves all workers of a
pytest-xdist run. NEO4J_URI (with NEO4J_USER, NEO4J_PASSWORD) points the tests at a server that runs already.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import neo4j
import pytest

from tests.jvm import QUICK
from tests.ports import free_port

VERSION = "5.26.20"
_TOOLS = Path(__file__).parent.parent / ".tools"
_PASSWORD = "headwater-tests"
_UP_SECONDS = 240.0
_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")
_SET_PARENT_DEATH_SIGNAL = 1  # prctl(2)

_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>headwater.tests</groupId><artifactId>neo4j</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""


@dataclass(frozen=True)
class Neo4jServer:
    """Where a server listens, and how to log in."""

    uri: str
    user: str
    password: str


def fetch() -> Path:
    """The folder of the server's jars, fetched if they are not there yet."""
    folder = _TOOLS / f"neo4j-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    jars, complete = folder / "lib", folder / "complete"
    with _locked(folder / "fetch.lock"):
        if not complete.exists():
            shutil.rmtree(jars, ignore_errors=True)
            (folder / "pom.xml").write_text(_POM)
            command = [
                "mvn",
                "-q",
                "-B",
                "-ntp",
                "-f",
                str(folder / "pom.xml"),
                "dependency:copy-dependencies",
                f"-DoutputDirectory={jars}",
            ]
            subprocess.run(command, check=True)
            complete.touch()
    return jars


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """A running server, shared by all workers of the run."""
    if uri := os.environ.get("NEO4J_URI"):
        yield Neo4jServer(uri, os.environ.get("NEO4J_USER", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
        return
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with _shared_server(shared) as server:
        yield server


@contextmanager
def _shared_server(folder: Path) -> Iterator[Neo4jServer]:
    """The worker that comes first starts the server, and stops it when all others have let go of `users.lock` (as they do by dying too)."""
    state = folder / "neo4j.json"
    with (folder / "users.lock").open("w") as users:
        with _locked(folder / "start.lock"):
            process = None
            if not state.exists():
                server, process = start(folder / f"neo4j-{os.getpid()}")
                state.write_text(json.dumps(asdict(server)))
            else:
                server = Neo4jServer(**json.loads(state.read_text()))
                fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield server
        finally:
            if process is not None:
                with _locked(folder / "start.lock"):
                    fcntl.flock(users, fcntl.LOCK_EX)
                    state.unlink()
                    process.kill()  # what it holds goes with it: there is no checkpoint to wait for
                    process.wait()


def start(
    home: Path, *, port: int | None = None, heap: str = "768m", page_cache: str = "128m", java: Sequence[str] = QUICK
) -> tuple[Neo4jServer, subprocess.Popen[bytes]]:
    """Start a server on `home`, new or stopped, and wait until it answers; `stop` ends it. `java`: options of its JVM."""
    jars = fetch()
    port = port or free_port()
    (home / "conf").mkdir(parents=True, exist_ok=True)
    (home / "conf" / "neo4j.conf").write_text(
        f"server.bolt.listen_address=127.0.0.1:{port}\nserver.bolt.advertised_address=127.0.0.1:{port}\n"
        "server.http.enabled=false\nserver.https.enabled=false\ndbms.usage_report.enabled=false\n"
        f"server.memory.pagecache.size={page_cache}\n"
    )
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    entry = ["org.neo4j.server.CommunityEntryPoint", f"--home-dir={home}", f"--config-dir={home / 'conf'}", "--console-mode"]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            ["java", f"-Xmx{heap}", *java, *opened, "-cp", f"{jars}/*", *entry],
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call of the C library, which takes no lock
        )
    server = Neo4jServer(f"bolt://127.0.0.1:{port}", "neo4j", _PASSWORD)
    try:
        _await(server, process, home)
    except BaseException:
        stop(process)
        raise
    return server, process


def _await(server: Neo4jServer, process: subprocess.Popen[bytes], home: Path) -> None:
    """Wait for the server, and change the password that it is born with."""
    deadline = time.monotonic() + _UP_SECONDS
    changed = home / "password-changed"
    with neo4j.GraphDatabase.driver(
        server.uri, auth=("neo4j", server.password if changed.exists() else "neo4j"), max_transaction_retry_time=0
    ) as driver:
        while True:
            try:
                if changed.exists():
                    driver.execute_query("RETURN 1")
                else:
                    driver.execute_query("ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $new", new=server.password, database_="system")
                    changed.touch()
                return
            except (neo4j.exceptions.ServiceUnavailable, neo4j.exceptions.TransientError, neo4j.exceptions.DatabaseUnavailable):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Neo4j did not come up:\n{(home / 'server.log').read_text()[-4000:]}") from None
                time.sleep(0.25)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server, giving it time to write its checkpoint."""
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _die_with_parent() -> None:
    """A killed test run leaves no server behind."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    fetch()
