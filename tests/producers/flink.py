"""Real OpenLineage events of Flink: a stream from topic to topic that is cancelled, one that ends, and a statement of SQL.

    python -m tests.producers.flink     # fetches Flink into .tools, runs it over a real Kafka, and writes events/flink.jsonl

Flink runs in one process, as its local environment does, with OpenLineage's listener of the status of jobs.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from tests.kafka_server import kafka
from tests.lake import fetched_jars
from tests.ports import free_port
from tests.producers.keeping import keep

FLINK, KAFKA, OPENLINEAGE = "2.0.0", "4.0.0-2.0", "1.53.0"
_PROGRAM = """
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

public class Streams {
    static String PORT;

    public static void main(String[] given) throws Exception {
        PORT = given[2];
        stream(given[0], given[1], "raw", "cleaned", "clean orders", true).getJobExecutionResult().get();
        JobClient forever = stream(given[0], given[1], "cleaned", "watched", "watch orders", false);
        Thread.sleep(8000);
        forever.cancel().get();
        Thread.sleep(3000);
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment(given[1]));
        tables.getConfig().set("pipeline.name", "sum up orders");
        String format = "'format' = 'json'";
        tables.executeSql("CREATE TABLE cleaned (customer STRING, amount INT) WITH ('connector' = 'kafka', 'topic' = 'cleaned', "
            + "'properties.bootstrap.servers' = '" + given[0] + "', 'properties.group.id' = 'sql', "
            + "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', " + format + ")");
        tables.executeSql("CREATE TABLE paid (customer STRING, doubled INT) WITH ('connector' = 'kafka', 'topic' = 'paid', "
            + "'properties.bootstrap.servers' = '" + given[0] + "', " + format + ")");
        tables.executeSql("INSERT INTO paid SELECT customer, amount * 2 FROM cleaned WHERE amount > 0").await();
        Thread.sleep(3000);
        System.exit(0);
    }

    static JobClient stream(String servers, String out, String from, String to, String name, boolean ends) throws Exception {
        StreamExecutionEnvironment environment = environment(out);
        environment.enableCheckpointing(1000);
        KafkaSourceBuilder<String> source = KafkaSource.<String>builder().setBootstrapServers(servers).setTopics(from).setGroupId(name)
            .setStartingOffsets(OffsetsInitializer.earliest()).setValueOnlyDeserializer(new SimpleStringSchema());
        if (ends) {
            source = source.setBounded(OffsetsInitializer.latest());
        }
        KafkaRecordSerializationSchema<String> written = KafkaRecordSerializationSchema.<String>builder().setTopic(to)
            .setValueSerializationSchema(new SimpleStringSchema()).build();
        KafkaSink<String> sink = KafkaSink.<String>builder().setBootstrapServers(servers).setRecordSerializer(written).build();
        environment.fromSource(source.build(), WatermarkStrategy.noWatermarks(), from).sinkTo(sink);
        return environment.executeAsync(name);
    }

    static StreamExecutionEnvironment environment(String out) {
        Configuration configuration = new Configuration();
        configuration.setString("execution.job-status-changed-listeners",
            "io.openlineage.flink.listener.OpenLineageJobStatusChangedListenerFactory");
        configuration.setString("openlineage.transport.type", "file");
        configuration.setString("openlineage.transport.location", out);
        configuration.setString("openlineage.job.namespace", "flink");
        configuration.setString("openlineage.trackingIntervalInSeconds", "2");
        // One process tells of a job's beginning and its end by two listeners: as where a job is sent to a cluster and left there.
        configuration.setString("openlineage.flink.enableDetachedJobTracking", "true");
        configuration.setString("rest.address", "127.0.0.1");
        configuration.setString("rest.bind-address", "127.0.0.1");
        configuration.setString("rest.port", PORT);
        configuration.setString("rest.bind-port", PORT);
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        environment.setParallelism(1);
        return environment;
    }
}
"""
_OPENS = ("java.util", "java.lang", "java.net", "java.time")


def main() -> None:
    """Run the program once, and keep its events."""
    jars = fetched_jars(f"flink-{FLINK}", [
        ("org.apache.flink", "flink-clients", FLINK), ("org.apache.flink", "flink-streaming-java", FLINK),
        ("org.apache.flink", "flink-table-api-java-bridge", FLINK), ("org.apache.flink", "flink-table-planner_2.12", FLINK),
        ("org.apache.flink", "flink-table-runtime", FLINK), ("org.apache.flink", "flink-connector-base", FLINK),
        ("org.apache.flink", "flink-connector-kafka", KAFKA), ("org.apache.flink", "flink-json", FLINK),
        ("io.openlineage", "openlineage-flink", OPENLINEAGE), ("org.slf4j", "slf4j-simple", "1.7.36"),
    ], whole=True)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="headwater-flink-") as made, kafka() as broker:
        folder = Path(made)
        for topic in ("raw", "cleaned", "watched", "paid"):
            broker.topic(topic, 1)
        broker.send("raw", 0, [(None, json.dumps({"customer": "ann", "amount": 3})), (None, json.dumps({"customer": "bob", "amount": 0}))])
        (folder / "Streams.java").write_text(_PROGRAM)
        classes = f"{jars}/*:{folder}"
        subprocess.run(["javac", "-cp", classes, "-d", made, str(folder / "Streams.java")], check=True)
        opens = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPENS]
        settings = {name: value for name, value in os.environ.items() if not name.startswith("OPENLINEAGE")}
        subprocess.run(
            ["java", "-Xmx1g", *opens, "-cp", classes, "Streams", broker.servers, str(folder / "events.jsonl"), str(free_port())],
            cwd=folder, env=settings, check=True, timeout=300,
        )  # fmt: skip
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    keep("flink.jsonl", events, port=int(broker.servers.rpartition(":")[2]), usual=9092)


if __name__ == "__main__":
    main()
