"""Names of datasets, after the naming rules of OpenLineage: the one place that makes them.

A name is a namespace (where the data is) and a name within it. The same data must get the same name however a program reached it, so that
lineage of all producers meets in one node. A name must not depend on the machine's state, and must never carry a secret.

A name holds the path as it is, without escapes, as OpenLineage's integration for Spark has it: `/data/run #1`, `/data/50%`, `/data/50%25`.

    files of this machine          file                                             /absolute/path
    files of another machine       file://{host}                                    /absolute/path
    HDFS                           hdfs://{name node}:{port}                        /path
    HDFS over HTTP                 webhdfs://{name node}:{port}, swebhdfs://…       /path, another dataset than by `hdfs:`
    Amazon S3                      s3://{bucket}                                    key
    Google Cloud Storage           gs://{bucket}                                    key
    Azure Data Lake, second gen.   abfss://{container}@{service}.dfs.core.windows.net   /path
    Azure Blob Storage             wasbs://{container}@{service}.blob.core.windows.net  key
    Databricks' file system        dbfs://{workspace}                               /path
    Apache Kafka                   kafka://{first broker}:{port}                    topic
    tables of databases            see `jdbc`
    tables of catalogs             hive://{host}:{port}                             database.table, as symlinks of the place
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote, unquote, urlsplit

from headwater.paths import PathParts, split_path
from headwater.spark_listener.redact import redact_address

Name = tuple[str, str]  # namespace, name

# Stores that are known under several schemes; the rules name one. `abfs:` and `wasb:` are the same stores without encryption.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}
_OF_KEYS = {"s3", "gs", "wasbs"}  # what lies in these has a key, which begins with no slash
_IN_CONTAINERS = {"abfss", "wasbs"}  # what stands before their host is a container, no user
_KEY_VALUE = re.compile(r"^[^=/]+=[^/]*$")
_BROKER = re.compile(r"(?:[A-Za-z0-9_+]{1,32}://)?(?P<host>\[[0-9A-Fa-f:.%]{1,64}\]|[^\s,:/@\[\]]{1,255})(?::(?P<port>\d{1,5}))?")
_KAFKA_PORT = "9092"
_IN_URI = "/:@!$&'()*+,;=-._~"


def dataset_name(path: str) -> Name:
    """Namespace and name of what lies at a path; `path_of_dataset` is the inverse. Different paths have different names."""
    parts = split_path(redact_address(path))
    if parts.scheme in ("http", "https"):  # no file system of Hadoop's: a URI, of which the query may hold a secret
        uri = urlsplit(redact_address(path))
        parts = PathParts(uri.scheme, uri.netloc, unquote(uri.path))
    if parts.scheme in ("", "file"):
        host = parts.authority.rpartition("@")[2].partition(":")[0].lower()
        return ("file" if host in ("", "localhost") else f"file://{host}"), _absolute(parts.path)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    authority = parts.authority if scheme in _IN_CONTAINERS else parts.authority.rpartition("@")[2]
    name = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    return f"{scheme}://{authority}", (name.lstrip("/") if scheme in _OF_KEYS else name) or "/"


def _absolute(path: str) -> str:
    """A path of a local file system, from its root. Python leaves two slashes at the start."""
    return "/" + os.path.abspath(path).lstrip("/")


def topic_name(servers: str, topic: str) -> Name | None:
    """Namespace and name of a topic of Kafka. The first of the brokers in `servers` names the cluster; None where it is no address."""
    broker = _BROKER.fullmatch(servers.split(",", 1)[0].strip())
    return (f"kafka://{broker['host']}:{broker['port'] or _KAFKA_PORT}", topic) if broker else None


def address_of(name: Name) -> str:
    """The URI of a dataset (RFC 3986), by its name: what a name may hold and a URI may not is escaped."""
    namespace, within = name
    if "://" not in namespace:  # file, or a word for what has no address: a table of a session
        return f"{quote(namespace, safe=_IN_URI)}:{quote(within, safe=_IN_URI)}"
    return f"{quote(namespace, safe=_IN_URI + '[]')}/{quote(within.lstrip('/'), safe=_IN_URI)}"


def folder_of(file: str) -> str:
    """The dataset's folder of a data file: its parent, above the folders of a partition (`key=value`)."""
    folder = file.rsplit("/", 1)[0]
    while _KEY_VALUE.match(folder.rsplit("/", 1)[-1]):
        folder = folder.rsplit("/", 1)[0]
    return folder
