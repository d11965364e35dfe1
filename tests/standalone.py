"""A cluster of Spark whose workers have hosts of their own: the copy of a slow task runs on another host than the task, or nowhere.

In `local-cluster` all workers have one host.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.jvm import QUICK
from tests.ports import free_port

_SPARK = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"


@contextmanager
def standalone(folder: Path, *, workers: int = 2) -> Iterator[str]:
    """A master and workers of one core, each at a loopback address of its own (Linux has them all). Returns the master's URL.

    They may not be up yet: a client retries until they are.

    """
    url = f"spark://127.0.0.1:{free_port()}"
    with ExitStack() as running:
        running.enter_context(_daemon(folder / "master.log", "master.Master", "--host", "127.0.0.1", "--port", url.rpartition(":")[2]))
        for number in range(workers):
            place = ["--host", f"127.0.0.{number + 2}", "-d", str(folder / f"worker{number}")]
            running.enter_context(_daemon(folder / f"worker{number}.log", "worker.Worker", *place, "-c", "1", "-m", "1g", url))
        yield url


@contextmanager
def _daemon(log: Path, name: str, *arguments: str) -> Iterator[None]:
    env = os.environ | {"SPARK_HOME": str(_SPARK), "SPARK_DAEMON_JAVA_OPTS": " ".join(QUICK), "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(_SPARK / "bin" / "spark-class"), f"{_DEPLOY}.{name}", "--webui-port", "0", *arguments]
    with log.open("wb") as said:
        process = subprocess.Popen(command, env=env, stdout=said, stderr=said)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)
