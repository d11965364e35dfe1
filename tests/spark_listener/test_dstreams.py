"""Programs of Spark's older kind of streams (DStreams): each output operation is one run, named, with what it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    import os, socket, threading, time, warnings
    warnings.simplefilter("ignore")  # they are deprecated
    from pyspark import SparkContext
    from pyspark.streaming import StreamingContext

    def lines(server):
        client, _ = server.accept()
        with client:
            for number in range(600):
                client.sendall(f"line {number}\\n".encode())
                time.sleep(0.1)

    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lines, args=(server,), daemon=True).start()
    os.mkdir("in")
    context = SparkContext(appName="older")
    context.setLogLevel("OFF")
    streams = StreamingContext(context, 4)  # seconds: a busy machine must keep up, since a graceful stop works off what waits
    counts = []
    words = streams.textFileStream("in").flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda one, other: one + other)
    words.foreachRDD(lambda rdd: counts.extend(rdd.collect()))
    words.saveAsTextFiles("out", "txt")
    streams.socketTextStream("127.0.0.1", server.getsockname()[1]).count().pprint()
    streams.queueStream([context.parallelize(range(3))]).foreachRDD(lambda rdd: rdd.count())
    streams.start()
    until = time.monotonic() + 120
    number = 0
    while not counts and time.monotonic() < until:
        time.sleep(0.5)
        number += 1
        with open(f"part{number}", "w") as file:  # a file is to be whole as it comes
            file.write("a b a")
        os.rename(f"part{number}", f"in/part{number}")
    assert counts, "no batch had a file"
    streams.stop(stopSparkContext=True, stopGraceFully=True)
"""


@pytest.mark.slow
def test_each_output_operation_is_a_run_with_what_it_reads(tmp_path: Path, root: Path) -> None:
    script(tmp_path, "older.py", PROGRAM)
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", "coarse", "older.py"], tmp_path, environment(root, master="local[3]"))
    assert done.returncode == 0, done.stderr
    events = logged(tmp_path / "home")
    ends = {event["job"]["name"]: event for event in events if event["eventType"] not in ("START", "RUNNING")}
    streams = {name: event for name, event in ends.items() if name.startswith("older.stream.")}
    assert sorted(streams) == [f"older.stream.output_{number}" for number in range(4)]
    assert {event["eventType"] for event in streams.values()} == {"ABORT"}  # they have no end of their own
    read = [[item["name"] for item in streams[f"older.stream.output_{number}"]["inputs"]] for number in range(4)]
    assert read == [[f"{tmp_path}/in"], [f"{tmp_path}/in"], [], []]
    (source,) = streams["older.stream.output_0"]["inputs"]
    assert len(source["facets"]["version"]["datasetVersion"]) == len("1767225600000")
    assert "inputStatistics" not in source.get("inputFacets", {})  # Spark does not count the rows
    assert [_problems(streams[f"older.stream.output_{number}"]) for number in (0, 3)] == [[], []]
    (unknown,) = _problems(streams["older.stream.output_2"])
    assert unknown.startswith("what the stream reads of SocketInputDStream[127.0.0.1:")
    saves = [event for event in events if event["eventType"] == "COMPLETE" and ".save_as_text_file." in event["job"]["name"]]
    assert {event["job"]["name"] for event in saves} == {"older.save_as_text_file.out_txt"}
    assert {event["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] for event in saves} == {"CREATE"}
    assert any(item["name"].startswith(f"{tmp_path}/in") for event in saves for item in event["inputs"])
    others = {name for name in ends if not name.startswith(("older.stream.", "older.save_as_text_file."))}
    assert others == {"older"}  # the actions within a batch are its stream's
    assert "batches of streams" in done.stderr


def _problems(event: dict[str, Any]) -> list[str]:
    return [problem["reason"] for problem in event["run"]["facets"]["headwater_capture"]["problems"]]
