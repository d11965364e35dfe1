"""Events from Kafka, as a member of a consumer group: replicas share the partitions.

    servers = "broker.example.com:9092"
    topics = ["openlineage"]
    group = "headwater"                    # the default
    from = "earliest"                      # or "latest": where a new group begins
    protocol, mechanism, user, password, ca

An offset is committed after all messages before it are durable. A message is therefore read at least once, and the log stores it once.
Only the codes of librdkafka's errors are logged, because their texts may contain anything.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from headwater.backend.intakes.protocol import IntakeSettings, Surroundings
from headwater.backend.intakes.settings import require_known, text_of
from headwater.errors import ConfigurationError, MissingExtraError, UnavailableError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, TopicPartition

_OPTIONS = {
    "protocol": "security.protocol",
    "mechanism": "sasl.mechanism",
    "user": "sasl.username",
    "password": "sasl.password",
    "ca": "ssl.ca.location",
}
_AT_ONCE = 256  # messages per commit
_LONGEST_MS = 300_000  # time that a batch may wait for the log; then the group continues without this member
_WAIT = 0.5  # seconds
_LAG_EVERY = 5.0
_log = logging.getLogger("headwater.intakes.kafka")
_SILENT = logging.getLogger("headwater.kafka.client")  # librdkafka logs a missing broker every few seconds
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class KafkaIntake:
    """An intake for Kafka topics (see the module's docstring)."""

    def __init__(self, settings: IntakeSettings) -> None:
        try:
            import confluent_kafka  # noqa: F401 - so that its absence is said at the start
        except ImportError:
            raise MissingExtraError("Events from Kafka", extra="kafka") from None
        require_known(settings, {"servers", "topics", "group", "from", *_OPTIONS})
        topics = settings.options.get("topics")
        if not isinstance(topics, list) or not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise ConfigurationError(f"The intake {settings.name} needs topics, a list of names.")
        self.name = settings.name
        self.tenant = settings.tenant
        self._topics: list[str] = topics
        self._begin = text_of(settings, "from", "earliest")
        if self._begin not in ("earliest", "latest"):
            raise ConfigurationError(f"The intake {settings.name} begins at earliest or latest.")
        self._configuration: dict[str, Any] = {
            "bootstrap.servers": text_of(settings, "servers"), "group.id": text_of(settings, "group", "headwater"),
            "client.id": "headwater", "enable.auto.commit": False, "auto.offset.reset": self._begin, "isolation.level": "read_committed",
            "partition.assignment.strategy": "cooperative-sticky", "session.timeout.ms": 10_000,
            "max.poll.interval.ms": _LONGEST_MS,
            **{known: text_of(settings, name) for name, known in _OPTIONS.items() if name in settings.options},
        }  # fmt: skip
        self._lag: int | None = None
        self._lag_due = 0.0

    def run(self, around: Surroundings) -> None:
        from confluent_kafka import Consumer, KafkaException

        errors: list[KafkaError] = []
        consumer = Consumer(self._configuration | {"error_cb": errors.append}, logger=_SILENT)
        try:
            consumer.subscribe(self._topics)
            while not around.stopping.is_set():
                messages = consumer.consume(_AT_ONCE, timeout=_WAIT)
                self._look(consumer)
                if errors and not messages:
                    _log.info("intake %s: %s", self.name, ", ".join(sorted({error.name() for error in errors})))
                errors.clear()
                for message in messages:
                    if (error := message.error()) is not None:
                        raise UnavailableError(f"Kafka does not give what intake {self.name} reads: {error.name()}.")
                bodies = [
                    value for message in messages if isinstance(value := message.value(), bytes)
                ]  # a message without a value is a tombstone
                if not messages or not around.door.take(bodies):
                    continue
                self._commit(consumer)
        except KafkaException as error:
            raise UnavailableError(f"Kafka does not give what intake {self.name} reads: {_code(error)}.") from None
        finally:
            consumer.close()
            self._lag = None

    def lag(self) -> int | None:
        return self._lag

    def _commit(self, consumer: Consumer) -> None:
        from confluent_kafka import KafkaException

        try:
            consumer.commit(asynchronous=False)
        except KafkaException as error:  # partitions moved to another member, which reads these messages again
            _log.info("intake %s: what was read is not noted (%s), and is read once more", self.name, _code(error))

    def _look(self, consumer: Consumer) -> None:
        from confluent_kafka import KafkaException

        if time.monotonic() < self._lag_due:
            return
        self._lag_due = time.monotonic() + _LAG_EVERY
        try:
            behind = [self._behind(consumer, partition) for partition in consumer.position(consumer.assignment())]
        except KafkaException:
            self._lag = None
            return
        self._lag = sum(behind)

    def _behind(self, consumer: Consumer, partition: TopicPartition) -> int:
        low, high = consumer.get_watermark_offsets(partition, timeout=2.0)
        at = partition.offset
        if at < 0:  # nothing was read from this partition yet
            (committed,) = consumer.committed([partition], timeout=2.0)
            at = committed.offset if committed.offset >= 0 else low if self._begin == "earliest" else high
        return max(0, high - max(at, low))


def _code(error: Exception) -> str:
    code = getattr(error.args[0], "name", None) if error.args else None
    return str(code()) if callable(code) else type(error).__name__
