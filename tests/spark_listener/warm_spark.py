"""One JVM of Spark for programs of tests: each runs in a Python of its own, one after the other.

A program connects to the JVM as it does where spark-submit has started the JVM. Use it for programs that are about reads and writes. A
program whose start or end is the point, with Hive, or with options for the JVM needs a JVM of its own.

`python -m tests.spark_listener.warm_spark` is the process that starts the JVM: this module keeps py4j out of the process of the tests.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from tests.spark_listener.spark import environment, run


class WarmSpark:
    """The JVM. One program at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._log = folder / "warm-spark.log"
        environ = environment(root)
        command = [sys.executable, "-m", "tests.spark_listener.warm_spark"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, cwd=root, env=environ, stderr=log, text=True, **pipes)

    def run(self, arguments: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a program in a folder, after the rest of the last program in the JVM was ended. `more`: variables of its environment."""
        environ = environment(self._root, **more)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), environ["PYSPARK_SUBMIT_ARGS"]]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self._log.read_text()[-3000:]
        port, secret = json.loads(line)
        return run(arguments, folder, environ | {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # ends when its input does
            pass


def _serve() -> None:
    from pyspark.java_gateway import launch_gateway

    out = os.dup(1)
    os.dup2(2, 1)  # the JVM writes to the log
    gateway = launch_gateway()
    parameters = gateway.java_parameters
    with os.fdopen(out, "w") as answers:
        for line in sys.stdin:
            folder, arguments = json.loads(line)
            _prepare(gateway.jvm, folder, arguments)
            answers.write(json.dumps([parameters.port, parameters.auth_token]) + "\n")
            answers.flush()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


def _prepare(jvm: Any, folder: str, arguments: str) -> None:
    """Make the JVM as new: without a session, with the options that spark-submit would set, in a working folder."""
    context = getattr(getattr(jvm.org.apache.spark, "SparkContext$"), "MODULE$").getActive()
    if context.isDefined():
        context.get().stop()
    jvm.org.apache.spark.sql.SparkSession.clearActiveSession()
    jvm.org.apache.spark.sql.SparkSession.clearDefaultSession()
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()  # each knows the working folder
    system = jvm.java.lang.System
    for name in system.getProperties().stringPropertyNames():
        if name.startswith("spark."):
            system.clearProperty(name)
    for name, value in {**_options(arguments), "spark.sql.warehouse.dir": f"{folder}/spark-warehouse", "user.dir": folder}.items():
        system.setProperty(name, value)


def _options(arguments: str) -> dict[str, str]:
    options = {"spark.app.name": "pyspark-shell", "spark.submit.deployMode": "client"}
    words = iter(shlex.split(arguments))
    for word in words:
        if word == "--master":
            options["spark.master"] = next(words)
        elif word == "--conf":
            name, _, value = next(words).partition("=")
            options[name] = value
    return options


if __name__ == "__main__":
    _serve()
