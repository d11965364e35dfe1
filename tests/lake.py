"""Real parts for tests: an S3 server (versitygw over a folder), HDFS (a mini cluster), jars for Spark, an issuer of OpenID Connect.

    from tests.lake import hdfs, s3          # context managers that start one and end it
    python -m tests.lake                     # fetches all parts, as the step `lake-install` of `make test` does

Programs and jars are fetched once, into .tools; after that no network is needed. Everything listens on loopback
but the issuer, which listens on every address of the machine while its tests run.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyspark

from tests.jvm import QUICK
from tests.ports import free_port

_TOOLS = Path(__file__).parent.parent / ".tools"
_GATEWAY = "1.8.0"
_HELM = "3.22.0"
_ISSUER = "3.51.17"
_HADOOP = "3.4.2"
_SDK = "2.29.52"  # the light set of it: the bundle that hadoop-aws asks for has 640 MB
_SDK_PARTS = ("s3", "s3-transfer-manager", "sts", "kms", "dynamodb", "apache-client", "netty-nio-client", "url-connection-client")
_UP_SECONDS = 120.0
_SET_PARENT_DEATH_SIGNAL = 1  # prctl(2)
_BARE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"

KEY, SECRET = "headwater", "headwater-secret"


@dataclass(frozen=True)
class S3Server:
    """A server, its folder, in which each folder is a bucket, and the way to it."""

    endpoint: str
    folder: Path

    @property
    def spark(self) -> dict[str, str]:
        """Settings of Spark for `s3a:`."""
        return {
            "spark.jars": ",".join(map(str, sorted(s3a_jars().glob("*.jar")))),
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.hadoop.fs.s3a.access.key": KEY,
            "spark.hadoop.fs.s3a.secret.key": SECRET,
        }

    def root(self, url: str, **more: object) -> str:
        """An entry of storage.toml."""
        stated = {"url": url, "endpoint": self.endpoint, "access_key_id": KEY, "secret_access_key": SECRET, **more}
        lines = [f"{name} = {value!r}".replace("'", '"') for name, value in stated.items()]
        return "\n".join(["[[root]]", *lines, ""])


@contextmanager
def s3(folder: Path) -> Iterator[S3Server]:
    """An S3 server over a folder."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    env = os.environ | {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    with running(
        [str(gateway()), "--port", f"127.0.0.1:{port}", "posix", str(folder)], folder.with_suffix(".log"), partial(answers, port), env
    ):
        yield S3Server(f"http://127.0.0.1:{port}", folder)


OVER_HTTP: dict[str, tuple[str, str]] = {}  # by URL of a file system: host and port at which its name node and its data node speak HTTP


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """A file system of one data node; gives its URL."""
    port, jars = free_port(), hdfs_jars()
    folder.mkdir(parents=True, exist_ok=True)
    classes = f"{jars}/*:{hdfs_http_jars()}/*:{Path(pyspark.__file__).parent / 'jars'}/*"
    (folder / "Mini.java").write_text(_MINI)
    command = ["java", "-Xmx384m", *QUICK, "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", classes, str(folder / "Mini.java")]
    ready = folder / "ready"
    with running([*command, str(folder / "data"), str(port), str(ready)], folder / "hdfs.log", ready.exists, dict(os.environ)):
        nodes = tuple(f"127.0.0.1:{web}" for web in ready.read_text().split())
        OVER_HTTP[f"hdfs://127.0.0.1:{port}"] = nodes[0], nodes[1]
        yield f"hdfs://127.0.0.1:{port}"


def gateway() -> Path:
    """The S3 server's program, built if it is not there yet."""
    return _built(f"versitygw-{_GATEWAY}", f"github.com/versity/versitygw/cmd/versitygw@v{_GATEWAY}") / "versitygw"


def issuer_program() -> Path:
    """The program of an OpenID Connect issuer: the example server of Zitadel's certified library, built if it is not there yet."""
    return _built(f"zitadel-oidc-{_ISSUER}", f"github.com/zitadel/oidc/v3/example/server@v{_ISSUER}") / "server"


def helm() -> Path:
    """Helm, built if it is not there yet."""
    return _built(f"helm-{_HELM}", f"helm.sh/helm/v3/cmd/helm@v{_HELM}") / "helm"


def _built(folder_name: str, package: str) -> Path:
    folder = _TOOLS / folder_name
    with _once(folder) as absent:
        if absent:
            if shutil.which("go") is None:
                raise RuntimeError(f"{package} is built with Go, which is not on PATH: install Go 1.21 or later.")
            subprocess.run(["go", "install", package], check=True, env=os.environ | {"GOBIN": str(folder)})
    return folder


@contextmanager
def issuer(folder: Path, *, users: str, redirects: Sequence[str]) -> Iterator[str]:
    """A running issuer, by its name. `users` is its JSON of people; its clients are `native` and, with the secret `secret`, `web`."""
    port = free_port()
    (folder / "users.json").write_text(users)
    env = {"PATH": os.environ["PATH"], "PORT": str(port), "USERS_FILE": str(folder / "users.json"), "REDIRECT_URI": ",".join(redirects)}
    with running([str(issuer_program())], folder / "issuer.log", partial(answers, port), env):
        yield f"http://localhost:{port}/"


def s3a_jars() -> Path:
    """Return the folder with Spark's jars for `s3a:`."""
    sdk = [("software.amazon.awssdk", part, _SDK, "") for part in _SDK_PARTS]
    return _jars(f"s3a-{_HADOOP}", [("org.apache.hadoop", "hadoop-aws", _HADOOP, _BARE), *sdk])


def table_jars() -> Path:
    """The folder of the jars of Delta and Iceberg, for Spark 4.1."""
    return _jars("tables-4.1", [
        *(("io.delta", name, "4.4.0", _BARE) for name in (
            "delta-spark_4.1_2.13", "delta-storage", "delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog",
        )),
        *(("io.unitycatalog", name, "0.6.0", _BARE) for name in ("unitycatalog-client", "unitycatalog-hadoop")),
        ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0", _BARE),
    ])  # fmt: skip


def avro_jars() -> Path:
    """Return the folder with this Spark's jar for Avro."""
    line = ".".join(pyspark.__version__.split(".")[:2])
    return _jars(f"avro-{line}", [("org.apache.spark", "spark-avro_2.13", f"{line}.1", _BARE)])


def hdfs_jars() -> Path:
    """Return the folder with the jars of the mini cluster, without those of Spark."""
    return _jars(f"hdfs-{_HADOOP}", [
        ("org.apache.hadoop", "hadoop-client-minicluster", _HADOOP, _BARE), ("commons-logging", "commons-logging", "1.2", ""),
        ("junit", "junit", "4.13.2", ""), ("org.mockito", "mockito-core", "4.11.0", ""),
    ])  # fmt: skip


def hdfs_http_jars() -> Path:
    """The folder of what the mini cluster needs to speak HTTP, and Java has no more."""
    return _jars("jaxb-2.3.1", [("javax.xml.bind", "jaxb-api", "2.3.1", _BARE)])


def fetched_jars(name: str, wanted: Sequence[tuple[str, str, str]], *, whole: bool = False) -> Path:
    """The folder of some jars (group, artifact, version); `whole`: with what they depend on."""
    return _jars(name, [(*one, "" if whole else _BARE) for one in wanted])


_MINI = """
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

public class Mini {
    public static void main(String[] given) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set("dfs.permissions.enabled", "false");
        configuration.set("dfs.namenode.http-address", "127.0.0.1:0");
        MiniDFSCluster.Builder made = new MiniDFSCluster.Builder(configuration, new File(given[0]));
        MiniDFSCluster cluster = made.nameNodePort(Integer.parseInt(given[1])).numDataNodes(1).build();
        cluster.waitActive();
        Path told = Path.of(given[2] + ".tmp");
        Files.writeString(told, cluster.getNameNode().getHttpAddress().getPort() + " " + cluster.getDataNodes().get(0).getInfoPort());
        Files.move(told, Path.of(given[2]));
        Thread.currentThread().join();
    }
}
"""


def _jars(name: str, dependencies: Sequence[tuple[str, str, str, str]]) -> Path:
    folder = _TOOLS / name
    with _once(folder) as absent:
        if absent:
            listed = "".join(
                f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{more}</dependency>"
                for group, artifact, version, more in dependencies
            )
            (folder / "pom.xml").write_text(
                '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>headwater.tests</groupId>'
                f"<artifactId>{name}</artifactId><version>1</version><packaging>pom</packaging><dependencies>{listed}</dependencies></project>"
            )
            command = ["mvn", "-q", "-B", "-ntp", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies"]
            subprocess.run([*command, f"-DoutputDirectory={folder / 'lib'}"], check=True)
    return folder / "lib"


@contextmanager
def _once(folder: Path) -> Iterator[bool]:
    """Whether a folder is yet to be filled; it is full once what is done here has ended well."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complete = folder / "complete"
        if not complete.exists():
            shutil.rmtree(folder / "lib", ignore_errors=True)
        yield not complete.exists()
        complete.touch()


@contextmanager
def running(command: Sequence[str], log: Path, is_up: Callable[[], bool], env: dict[str, str]) -> Iterator[None]:
    with log.open("wb") as said:
        process = subprocess.Popen(command, env=env, stdout=said, stderr=said, preexec_fn=_die_with_parent)  # noqa: PLW1509 - one call of C
    try:
        until = time.monotonic() + _UP_SECONDS
        while not is_up():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command[0]} did not come up:\n{log.read_text()[-4000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _die_with_parent() -> None:
    """A killed test run leaves no server behind."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


if __name__ == "__main__":
    from tests.readers import datahub, dbt, openmetadata

    gateway()
    s3a_jars()
    hdfs_jars()
    hdfs_http_jars()
    table_jars()
    avro_jars()
    issuer_program()
    helm()
    datahub()
    openmetadata()
    dbt()
