"""The jars of connectors, for one JVM: sessions with tables of Delta and Iceberg and with Kafka follow each other in it.

A jar changes nothing for a session whose settings do not name what it holds.
"""

from __future__ import annotations

from tests.kafka_server import connector_jars
from tests.lake import table_jars

# The JVM has the jars. If a session listed them, too, its executor, a part of the same JVM, would copy them all.
CONF = {"spark.jars": ""}


def submitted() -> str:
    """The options of spark-submit."""
    folders = (table_jars(), connector_jars())
    return f"--jars {','.join(str(jar) for folder in folders for jar in sorted(folder.glob('*.jar')))}"
