"""Names of datasets, by the naming rules of OpenLineage. All names are made here.

A name is a namespace (where the data is) and a name within it. The same data must get the same name however a program reached it, so that
lineage of all producers meets in one node. A name must not depend on the machine's state, and must never contain a secret.

`dataset_name` names the data at a path. `dataset_at` names the dataset in which a path lies: a partition or a part of a dataset has the
dataset's name.

A name contains the path without escapes, as in OpenLineage's integration for Spark: `/data/run #1`, `/data/50%`, `/data/50%25`.

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

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from headwater.paths import dataset_root, name_of_path, split_path, split_root
from headwater.spark_listener.redact import redact_address

Name = tuple[str, str]  # namespace, name

_BROKER = re.compile(r"(?:[A-Za-z0-9_+]{1,32}://)?(?P<host>\[[0-9A-Fa-f:.%]{1,64}\]|[^\s,:/@\[\]]{1,255})(?::(?P<port>\d{1,5}))?")
_KAFKA_PORT = "9092"
_IN_URI = "/:@!$&'()*+,;=-._~"


def dataset_name(path: str) -> Name:
    """Return namespace and name of the data at a path. `path_of_dataset` is the inverse. Different paths have different names."""
    text = redact_address(path)
    if split_path(text).scheme in ("http", "https"):  # not a Hadoop file system but a URI, and its query may hold a secret
        uri = urlsplit(text)
        text = f"{uri.scheme}://{uri.netloc}{unquote(uri.path)}"
    return name_of_path(text)


def dataset_at(path: str, described: Mapping[str, Any] | None = None) -> Name:
    """Return namespace and name of the dataset at a path, or around it (`headwater.paths.dataset_root`).

    `described` is the plan's description of a source or sink: its format, and its name in a catalog.
    """
    described = described or {}
    is_absolute = split_path(path).path.startswith("/")
    find = _known_dataset_at if is_absolute else _dataset_at  # another path depends on the working folder
    return find(path, str(described.get("format") or ""), str(described.get("table") or ""))


def _dataset_at(path: str, format_: str, table: str) -> Name:
    return dataset_root(*dataset_name(path), formats=[format_], tables=[table] if table else ())


_known_dataset_at = lru_cache(4096)(_dataset_at)  # the description of a query repeats the paths of its sources


def topic_name(servers: str, topic: str) -> Name | None:
    """Return namespace and name of a Kafka topic. The first broker in `servers` names the cluster. None if it is not an address."""
    broker = _BROKER.fullmatch(servers.split(",", 1)[0].strip())
    return (f"kafka://{broker['host']}:{broker['port'] or _KAFKA_PORT}", topic) if broker else None


def address_of(name: Name) -> str:
    """Return the URI of a dataset (RFC 3986), from its name. Characters that a URI may not contain are escaped."""
    namespace, within = name
    if "://" not in namespace:  # file, or a word for data without an address, such as a session's table
        return f"{quote(namespace, safe=_IN_URI)}:{quote(within, safe=_IN_URI)}"
    return f"{quote(namespace, safe=_IN_URI + '[]')}/{quote(within.lstrip('/'), safe=_IN_URI)}"


def folder_of(file: str) -> str:
    """Return the folder of a data file's dataset: its parent, above the folders of a partition (`key=value`)."""
    return split_root(file.rsplit("/", 1)[0]).root
