"""Many programs of `headwater` and Spark in a row. Each is a process of its own, without the start of Python, its imports and a JVM.

A server imports everything once and starts one JVM (see `warm_spark`). For each program, the server forks a process. A Spark program
connects to the JVM as it does where spark-submit has started the JVM. One Spark program runs at a time.

`ForkedPrograms.configure` lets the replays of a home run their programs here. The method writes a `runners.toml` with a spark-submit
that is a client of the server.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.spark_listener.spark import environment

_PACKAGES = (
    "headwater.backend.rerun", "headwater.graph.trace", "headwater.graph.files", "headwater.graph.stores.sqlite",
    "headwater.spark_listener", "headwater.backend.ingest", "headwater.backend.projector",
)  # fmt: skip
_MODULES = (
    "_strptime", "google.rpc.error_details_pb2", "headwater.backend.cli.quick_run", "headwater.backend.cli.replay",
    "headwater.graphql.values", "pandas", "pyarrow.pandas_compat", "pyspark.sql.classic.dataframe", "pyspark.sql.functions",
    "rich.progress", "rich.table",
)  # fmt: skip
_CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = {{"kind": "submit", "arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
    socket.send_fds(server, [b"+"], [1, 2])
    server.sendall(json.dumps(request).encode() + b"\\n")
    answer = server.makefile().readline()
sys.exit(int(answer or "1"))
"""


class ForkedPrograms:
    """The server. `folder` is scratch space with a short path."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._address = str(folder / "server")
        self._log = folder / "server.log"
        self.environment = environment(root, HEADWATER_RDD_RECORDS="true")
        self._submit = folder / "spark-submit"
        self._submit.write_text(_CLIENT.format(python=sys.executable, address=self._address))
        self._submit.chmod(0o755)
        command = [sys.executable, "-m", "tests.spark_listener.forked_programs", self._address]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=root, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", self._log.read_text()

    def headwater(self, arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run the `headwater` command in a folder."""
        request = {"kind": "headwater", "arguments": list(arguments), "folder": str(folder), "environment": self.environment}
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._address)
            socket.send_fds(server, [b"+"], [out.fileno(), errors.fileno()])
            server.sendall(json.dumps(request).encode() + b"\n")
            answer = server.makefile().readline()
            assert answer, self._log.read_text()[-3000:]
            out.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(list(arguments), int(answer), out.read(), errors.read())

    def configure(self, home: Path) -> None:
        """Let the programs of replays of a home run here."""
        home.mkdir(parents=True, exist_ok=True)
        table = f'default = "forked"\n[[runner]]\nname = "forked"\nkind = "spark-submit"\nmaster = "local[2]"\nsubmit = "{self._submit}"\n'
        (home / "runners.toml").write_text(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._process:  # ends when its input does
            pass


def _serve(address: str) -> None:
    for name in _MODULES:
        import_module(name)
    for package in _PACKAGES:
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps the processes of requests
    command = [sys.executable, "-m", "tests.spark_listener.warm_spark"]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr) as spark,
        socket.socket(socket.AF_UNIX) as server,
    ):
        assert spark.stdin is not None
        assert spark.stdout is not None
        server.bind(address)
        server.listen()
        _end_with_input()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = server.accept()
            with connection:
                if os.fork() == 0:
                    server.close()
                    _answer(connection, spark.stdin, spark.stdout)


def _end_with_input() -> None:
    """End the server when its input ends. A second process waits for that, because a server that forks has no threads."""
    server = os.getpid()
    if os.fork() == 0:
        sys.stdin.read()
        os.kill(server, signal.SIGTERM)
        os._exit(0)


def _answer(connection: socket.socket, to_spark: IO[bytes], from_spark: IO[bytes]) -> None:
    """Run the program of one request in a child, and send its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, *_ = socket.recv_fds(connection, 1, 2)
    request = json.loads(connection.makefile().readline())
    kind, arguments, environ = request["kind"], request["arguments"], request["environment"]
    if kind == "submit" or arguments[0] == "run":
        to_spark.write(json.dumps([request["folder"], os.environ["PYSPARK_SUBMIT_ARGS"]]).encode() + b"\n")
        to_spark.flush()
        port, secret = json.loads(from_spark.readline())
        environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    child = os.fork()
    if child == 0:
        connection.close()
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(environ)
        os.dup2(files[0], 1)
        os.dup2(files[1], 2)
        _end(_submitted(arguments) if kind == "submit" else _commanded(arguments))
    _, status = os.waitpid(child, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _submitted(arguments: list[str]) -> Callable[[], Any]:
    from headwater.spark_listener import launch

    program = arguments[arguments.index(launch.__file__) :]
    sys.argv = program
    sys.path[0] = str(Path(program[0]).parent)
    return lambda: launch.main(program[1:])


def _commanded(arguments: list[str]) -> Callable[[], Any]:
    from headwater.backend.cli.main import main
    from headwater.backend.cli.quick_run import quick_run

    sys.argv = ["headwater", *arguments]
    return main if arguments[0] != "run" else lambda: quick_run(arguments)


def _end(program: Callable[[], Any]) -> None:
    """Run a program in this process, and end as the interpreter does."""
    code = 0
    try:
        program()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            sys.stderr.write(f"{stop.code}\n")
    except BaseException:  # noqa: BLE001  # whatever ends the program
        traceback.print_exc()
        code = 1
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
