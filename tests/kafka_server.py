"""A real Kafka for tests: one broker in a folder, on loopback; and what Spark needs to read it.

from tests.kafka_server import kafka     # a context manager that starts one and ends it
python -m tests.kafka_server             # fetches all parts, as the step `lake-install` of `make test` does
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.jvm import QUICK
from tests.lake import answers, fetched_jars, running
from tests.ports import free_port

_BROKER, _CLIENT, _CONNECTOR, _TOKENS = "4.1.1", "3.9.1", "4.1.3", "4.0.0"


@dataclass(frozen=True)
class Kafka:
    """A running broker."""

    servers: str

    def _admin(self) -> AdminClient:
        """A client that does not write to standard error which events it leaves unread when it ends."""
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 3})

    def topic(self, name: str, partitions: int, **config: str) -> None:
        """Make a topic."""
        admin = self._admin()  # the answers of a client end with the client
        made = admin.create_topics([NewTopic(name, partitions, 1, config=config)])
        made[name].result(30)

    def send(self, topic: str, partition: int, messages: Sequence[tuple[str | None, str | None]]) -> None:
        """Send messages (key, value) to a partition, in order."""
        producer = Producer({"bootstrap.servers": self.servers})
        for key, value in messages:
            producer.produce(topic, key=key, value=value, partition=partition)
        assert producer.flush(30) == 0

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete what comes before an offset, as retention does."""
        admin = self._admin()
        for done in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
            done.result(30)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        admin = self._admin()
        admin.delete_topics([name])[name].result(30)
        while name in admin.list_topics(timeout=10).topics:
            time.sleep(0.1)


@contextmanager
def kafka() -> Iterator[Kafka]:
    """A broker without topics."""
    with tempfile.TemporaryDirectory(prefix="headwater-kafka-") as made:
        folder, port, controller = Path(made), free_port(), free_port()
        stated: Mapping[str, object] = {
            "process.roles": "broker,controller", "node.id": 1, "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}", "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "log.dirs": folder / "data",
            "offsets.topic.replication.factor": 1, "auto.create.topics.enable": "false", "log.retention.check.interval.ms": 1000,
            "log.segment.delete.delay.ms": 0, "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        }  # fmt: skip
        config = folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in stated.items()))
        java = ["java", "-Xmx256m", *QUICK, "-cp", f"{broker_jars()}/*"]
        subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", str(uuid4()), "-c", str(config)], check=True, capture_output=True)
        with running([*java, "kafka.Kafka", str(config)], folder / "kafka.log", partial(answers, port), {}):
            yield Kafka(f"127.0.0.1:{port}")


def broker_jars() -> Path:
    """The folder of the broker's jars."""
    return fetched_jars(f"kafka-{_BROKER}", [("org.apache.kafka", "kafka_2.13", _BROKER)], whole=True)


def connector_jars() -> Path:
    """Return the folder with Spark 4.1's jars for Kafka."""
    return fetched_jars("spark-kafka-4.1", [
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", _CONNECTOR),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", _TOKENS),
        ("org.apache.kafka", "kafka-clients", _CLIENT), ("org.apache.commons", "commons-pool2", "2.12.1"),
    ])  # fmt: skip


if __name__ == "__main__":
    broker_jars()
    connector_jars()
