"""Events to a topic of a real Kafka by openlineage-python's transport, set as in Spark's configuration; alone and among others."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer

from headwater.spark_listener.delivery.transport_config import transport_config
from headwater.spark_listener.delivery.transports import Transports
from tests.kafka_server import Kafka
from tests.ports import free_port
from tests.spark_listener.test_transports import event

pytestmark = [pytest.mark.lake, pytest.mark.timeout(300)]


def conf(servers: str, topic: str, prefix: str = "") -> dict[str, str]:
    """As a team has it that used the Java client before."""
    named = {
        "type": "kafka", "topicName": topic, "properties.bootstrap.servers": servers, "properties.acks": "all",
        "properties.key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        "properties.value.serializer": "org.apache.kafka.common.serialization.StringSerializer",
    }  # fmt: skip
    return {f"transport.{prefix}{name}": value for name, value in named.items()}


def received(broker: Kafka, topic: str, count: int) -> list[tuple[str, str]]:
    """Key and value of the messages of a topic."""
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    messages: list[tuple[str, str]] = []
    while len(messages) < count and (message := consumer.poll(30)) is not None:
        assert message.error() is None, message.error()
        messages.append(((message.key() or b"").decode(), (message.value() or b"").decode()))
    consumer.close()
    return messages


def test_a_topic_gets_each_event_under_the_key_of_its_parent(broker: Kafka) -> None:
    broker.topic("lineage", 1)
    config = transport_config(conf(broker.servers, "lineage"), {})
    assert config is not None
    transports = Transports(config)
    sent = [event("first"), event("second")]
    for one in sent:
        transports.put(one)
    transports.finish(60)
    assert transports.summary() == "OpenLineage (kafka): 2 events sent"
    got = received(broker, "lineage", 2)
    assert [json.loads(value)["job"]["name"] for _, value in got] == ["first", "second"]
    assert {key for key, _ in got} == {"run:airflow/dag.task"}


def test_a_topic_that_is_not_there_has_got_nothing(broker: Kafka) -> None:
    config = transport_config({**conf(broker.servers, "nowhere"), "transport.properties.message.timeout.ms": "2000"}, {})
    assert config is not None
    transports = Transports(config)
    transports.put(event())
    transports.finish(60)
    assert (transports.sent, transports.dropped) == (0, 1)
    assert "Kafka did not take the event" in transports.summary()


def test_parts_of_a_composite_that_are_away_cost_the_others_nothing(
    broker: Kafka, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    broker.topic("among", 1)
    away = f"127.0.0.1:{free_port()}"
    target = tmp_path / "events.json"
    config = transport_config(
        {
            "transport.type": "composite", **conf(broker.servers, "among", "transports.topic."),
            **conf(away, "among", "transports.lost."), "transport.transports.lost.properties.sasl.mechanism": "PLAIN",
            "transport.transports.lost.properties.security.protocol": "SASL_PLAINTEXT",
            "transport.transports.lost.properties.sasl.jaas.config":
                'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="hunter2";',
            "transport.transports.web.type": "http", "transport.transports.web.url": f"http://me:hunter2@{away}",
            "transport.transports.web.auth.type": "api_key", "transport.transports.web.auth.apiKey": "hunter2",
            "transport.transports.kept.type": "file", "transport.transports.kept.location": str(target),
        },
        {},
    )  # fmt: skip
    assert config is not None
    assert config["transports"]["lost"]["config"]["sasl.password"] == "hunter2"
    capfd.readouterr()  # clients of the test may have written there
    with caplog.at_level(logging.DEBUG):
        transports = Transports(config)
        for number in range(20):
            transports.put(event(f"job{number}"))
        transports.finish(8)
    assert capfd.readouterr().err == ""  # Kafka's library writes there by itself
    told = transports.summary()
    assert "(topic kafka): 20 events sent;" in told
    assert "(kept file): 20 events sent" in told
    assert "(lost kafka): 0 events sent, 20 dropped" in told
    assert "(web http): 0 events sent, 20 dropped" in told
    assert len(received(broker, "among", 20)) == len(target.read_text().splitlines()) == 20
    assert "hunter2" not in told + caplog.text
