"""Storage that is not this machine's: object stores and HDFS, behind one seam.

For traces, which read records back from where jobs left them. What may be read is what the operator named in a file of the service's own
(`settings.py`): roots, each with its endpoint and credentials. Nothing that comes from an event, a manifest or a question chooses any of
these. Which module to open:

    addresses   what a URI names: a store and a path in it, or a refusal
    settings    the roots and how each is reached, from `storage.toml`
    protocol    what a store must do: look at a file, list, read a range of the very file that was looked at
    objects     S3, Google Cloud Storage and Azure, by obstore
    hdfs        HDFS, by hdfs-native
    webhdfs     HDFS over HTTP, by requests
    rowkeys     keys of rows that are no single whole number
    keyed       tables of databases and partitions of topics, by their URIs
    tables      their records by key: what a trace may ask, and what it is told
    postgres    PostgreSQL, by pg8000
    topics      Kafka, by confluent-kafka
    remote      all roots together: looks, lists and reads, counts requests, remembers ranges by identity
    files       a file to read records from: of this machine, or of a root
    opened      local files, opened so that no link leads to another
    writing     a folder that the service owns: objects are put, brought and deleted there
    duck        such files as DuckDB reads them
"""

from headwater.graph.storage.files import LocalFile, RemoteFile, StoredFile
from headwater.graph.storage.open_files import Identity, OpenedFiles, open_resolved
from headwater.graph.storage.remote import NOWHERE, Remote, Traffic
from headwater.graph.storage.settings import read_roots

__all__ = [
    "NOWHERE",
    "Identity",
    "LocalFile",
    "OpenedFiles",
    "Remote",
    "RemoteFile",
    "StoredFile",
    "Traffic",
    "open_resolved",
    "read_roots",
]
