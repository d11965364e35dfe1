"""Kafka, by confluent-kafka: reads records of a partition by offset, while the topic contains them.

A record never changes. Its topic may be deleted and created again, and then has another id. Retention deletes old records, and compaction
deletes overwritten records. Nothing is committed, and no group is joined. Errors of librdkafka are reported by their code only, because
their text may contain anything.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headwater.errors import MissingExtraError, SourceUnavailableError
from headwater.graph.storage.protocol import unavailable
from headwater.graph.storage.settings import RootSettings
from headwater.graph.storage.tables import RowRequest, TableRows

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_NEAR = 1_000  # a smaller gap between two offsets is read through, without a new request
_AT_ONCE = 500
_ANEW = "its topic was made anew since the run read it"
_OPTIONS = {
    "protocol": "security.protocol",
    "mechanism": "sasl.mechanism",
    "user": "sasl.username",
    "password": "sasl.password",
    "ca": "ssl.ca.location",
}
_NO_ANSWER = {"_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_RESOLVE"}
_SILENT = logging.getLogger("headwater.kafka.client")  # librdkafka reports a broker that is down every few seconds
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class Topics:
    """The topics of a Kafka cluster, with the settings of a root."""

    def __init__(self, settings: RootSettings) -> None:
        try:
            import confluent_kafka  # noqa: F401 - so that its absence is said before anything is asked
        except ImportError:
            raise MissingExtraError("Reading records of Kafka", extra="kafka") from None
        self._settings = settings

    def topic(self, name: str) -> tuple[str, int]:
        """Return the id of a topic, and its number of partitions."""
        from confluent_kafka import KafkaException, TopicCollection
        from confluent_kafka.admin import AdminClient

        seconds = self._settings.seconds
        with self._faults():
            admin = AdminClient(self._configuration(), logger=_SILENT)  # its requests end with it
            futures = admin.describe_topics(TopicCollection([name]), request_timeout=seconds)
            try:
                description = futures[name].result(seconds + 1)
            except TimeoutError as error:
                raise self._silent(error) from error
            except KafkaException as error:
                raise unavailable(self._settings.url, f"there is no topic {name}: {_code(error)}") from error
            return _id(description.topic_id), len(description.partitions)

    def rows(self, parts: Sequence[str], asked: RowRequest) -> TableRows:
        """Return records of a topic (`TableStore.rows`)."""
        from confluent_kafka import Consumer, TopicPartition

        topic, partition = parts[0], int(parts[2])
        if self.topic(topic)[0] != parts[1]:
            return TableRows(
                asked.keys or (), [[None] * len(asked.keys or ()) for _ in asked.columns], dict.fromkeys(asked.keys or (), _ANEW), None
            )
        with self._faults():
            consumer = Consumer(self._configuration() | _READING, logger=_SILENT)
            try:
                first_offset, end_offset = consumer.get_watermark_offsets(
                    TopicPartition(topic, partition), timeout=self._settings.seconds, cached=False
                )
                if asked.keys is None and end_offset - first_offset > asked.most:
                    raise unavailable(self._settings.url, f"{topic} has more than {asked.most:,} records: name records by their offset")
                offsets = (
                    range(first_offset, end_offset)
                    if asked.keys is None
                    else sorted(key for key in asked.keys if first_offset <= key < end_offset)
                )
                messages = self._messages(consumer, topic, partition, offsets)
            finally:
                consumer.close()
        values = [[_value(message, name) for message in messages] for name, _ in asked.columns]
        uncertain = {name for name, _ in asked.columns if name not in _CERTAIN}
        return TableRows([_offset(message) for message in messages], values, {}, None, frozenset(uncertain))

    def _messages(self, consumer: Consumer, topic: str, partition: int, offsets: Sequence[int]) -> list[Message]:
        """Return the existing records with some offsets (ascending)."""
        from confluent_kafka import TopicPartition

        messages: dict[int, Message] = {}
        wanted_offsets, first = set(offsets), 0
        while first < len(offsets):
            last_offset = first
            while last_offset + 1 < len(offsets) and offsets[last_offset + 1] - offsets[last_offset] <= _NEAR:
                last_offset += 1
            consumer.assign([TopicPartition(topic, partition, offsets[first])])
            for message in self._from(consumer, offsets[last_offset]):
                if _offset(message) in wanted_offsets:
                    messages[_offset(message)] = message
            first = last_offset + 1
        return [messages[offset] for offset in sorted(messages)]

    def _from(self, consumer: Consumer, last: int) -> Iterator[Message]:
        """Yield records from the consumer's position up to an offset, or to the end of the partition."""
        from confluent_kafka import KafkaException

        heard_at = time.monotonic()
        while True:
            batch = consumer.consume(_AT_ONCE, timeout=0.5)
            if not batch and time.monotonic() - heard_at > self._settings.seconds:
                raise self._silent(None)
            heard_at = time.monotonic() if batch else heard_at
            for message in batch:
                error = message.error()
                if error is not None and error.name() == "_PARTITION_EOF":
                    return
                if error is not None:
                    raise KafkaException(error)
                yield message
                if _offset(message) >= last:
                    return

    def _configuration(self) -> dict[str, Any]:
        options, milliseconds = self._settings.options, max(10, int(self._settings.seconds * 1000))
        brokers = str(options.get("endpoint") or self._settings.address.authority)
        options_by_name = {setting: options[name] for name, setting in _OPTIONS.items() if name in options}
        return {"bootstrap.servers": brokers, "socket.timeout.ms": milliseconds, "client.id": "headwater", **options_by_name}

    @contextmanager
    def _faults(self) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except SourceUnavailableError:
            raise
        except KafkaException as error:
            if _code(error) in _NO_ANSWER:
                raise self._silent(error) from error
            raise unavailable(self._settings.url, f"the brokers refused: {_code(error)}") from error

    def _silent(self, error: Exception | None) -> SourceUnavailableError:
        del error
        return unavailable(self._settings.url, f"it did not answer within {self._settings.seconds:g} s", transient=True)


_READING = {
    "group.id": "headwater", "enable.auto.commit": False, "enable.auto.offset.store": False, "auto.offset.reset": "error",
    "enable.partition.eof": True, "isolation.level": "read_uncommitted",  # offsets include uncommitted records
}  # fmt: skip
_CERTAIN = ("topic", "partition", "offset")


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None  # noqa: S101 - a record that was read has one
    return offset


def _id(given: Any) -> str:
    """Return the id of a topic as Kafka writes it: 128 bits in URL-safe base64."""
    from base64 import urlsafe_b64encode

    halves = (given.get_most_significant_bits(), given.get_least_significant_bits())
    return urlsafe_b64encode(b"".join((half & (1 << 64) - 1).to_bytes(8) for half in halves)).decode().rstrip("=")


def _value(message: Message, column: str) -> Any:
    """Return a column as Spark's Kafka source has it. Bytes are text if they are UTF-8."""
    kind, milliseconds = message.timestamp()
    match column:
        case "key" | "value":
            return _text(message.key() if column == "key" else message.value())
        case "topic":
            return message.topic()
        case "partition":
            return message.partition()
        case "offset":
            return message.offset()
        case "timestamp":
            return None if kind == 0 else (_EPOCH + dt.timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
        case "timestampType":
            return kind - 1
        case "headers":
            return str([(pair[0], _text(pair[1])) for pair in message.headers() or ()])
    return None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return bytes(value).hex()


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _code(error: Exception) -> str:
    code = getattr(error.args[0], "name", None) if error.args else None
    return str(code()) if callable(code) else type(error).__name__
