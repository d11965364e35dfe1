"""Remote storage: object stores, HDFS, databases and Kafka behind one interface.

Traces read records again from the storage to which jobs wrote them. The operator names the readable roots in a file of the service
(`settings.py`), each with its endpoint and credentials. Nothing in an event, a manifest or a question chooses any of these. Modules:

    addresses      the address that a URI names: a store and a path in it, or a refusal
    settings       the roots and their settings, from `storage.toml`
    protocol       the interface of a store: stat, list, read a range of a file in a known state
    objects        S3, Google Cloud Storage and Azure, by obstore
    odd_names      S3 buckets with object names that no request can contain
    hdfs           HDFS, by hdfs-native
    webhdfs        HDFS over HTTP, by requests
    row_keys       keys of rows that are not a single integer
    key_places     tables of databases and partitions of topics, by their URIs
    tables         requests for their records by key, and the answers
    postgres       PostgreSQL, by pg8000
    topics         Kafka, by confluent-kafka
    remote         all roots together: stats, lists and reads, counts requests, caches ranges by identity
    files          a file to read records from: of this machine, or of a root
    open_files     local files, opened so that no link leads to another file
    object_folder  a folder that the service owns: objects are put, fetched and deleted there
    duck           remote files for DuckDB; duck_names has their names
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
