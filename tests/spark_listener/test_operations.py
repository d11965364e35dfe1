"""Operations that a program declares: valid forms, their ends, and that they never disturb a program."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from headwater.backend.projection.dataset_names import name_of
from headwater.spark_listener.operation_blocks import Operation
from headwater.spark_listener.operations import DeclaredOperation, declared, of_configuration


class Recorded:
    def __init__(self) -> None:
        self.seen: list[DeclaredOperation] = []

    def operation(self, operation: DeclaredOperation) -> None:
        self.seen.append(operation)

    def begin(self, name: Any, inputs: Any = (), outputs: Any = (), description: Any = None) -> Operation:
        return Operation(lambda: self, declared(name, inputs, outputs, description))

    def ends(self) -> list[tuple[str | None, bool]]:
        return [(each.outcome.error, each.outcome.cancelled) for each in self.seen if each.ended is not None]


class Hostile:
    def __str__(self) -> NoReturn:
        raise RuntimeError("no text")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no items")

    __repr__ = __str__


class HostileError(Exception):
    __str__ = Hostile.__str__


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "description"),
    [
        ("", [], [], None),
        (None, [], [], None),
        ("x", None, [], None),
        ("x", b"bytes", [], None),
        ("x", {"a": 1}, [], None),
        ("x", [""], [], None),
        ("x", ["a\0b"], [], None),
        ("x", [("a", "b", "c")], [], None),
        ("x", [("a", "")], [], None),
        ("x", ["jdbc:postgresql://me:secret@host/db"], [], None),
        ("x", ["http://[bad/x"], [], None),
        ("x", ["a" * 10_001], [], None),
        ("x", [str(number) for number in range(1001)], [], None),
        ("x", [Hostile()], [], None),
        ("x", Hostile(), [], None),
        (Hostile(), [], [], None),
        ("x", [], [], Hostile()),
    ],
)
def test_what_cannot_be_used_is_told_and_left_out(
    name: Any, inputs: Any, outputs: Any, description: Any, caplog: pytest.LogCaptureFixture
) -> None:
    recorded = Recorded()
    with recorded.begin(name, inputs, outputs, description):
        pass
    assert recorded.seen == []
    assert "left out" in caplog.text
    assert "secret" not in caplog.text


def test_paths_are_those_of_the_folder_where_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded()
    operation = recorded.begin("copy", ["a.csv", "s3a://bucket/k", ("pg://h:1", "d.s.t")], [tmp_path / "out"])
    monkeypatch.chdir(tmp_path)
    with operation:
        monkeypatch.chdir("/")
    begun, ended = recorded.seen
    names = [(dataset.namespace, dataset.name) for dataset in ended.read()]
    assert names == [("file", f"{tmp_path}/a.csv"), ("s3://bucket", "k"), ("pg://h:1", "d.s.t")]
    assert [dataset.name for dataset in ended.written()] == [f"{tmp_path}/out"]
    assert begun.run_id == ended.run_id
    assert ended.ended is not None
    assert ended.ended >= begun.started


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("broken"), ("ValueError: broken", False)),
        (SystemExit(3), ("SystemExit: 3", False)),
        (SystemExit(0), (None, False)),
        (SystemExit(), (None, False)),
        (KeyboardInterrupt(), ("KeyboardInterrupt: ", True)),
        (asyncio.CancelledError(), ("CancelledError: ", True)),
        (HostileError(), ("HostileError", False)),
    ],
)
def test_an_error_ends_it_and_goes_on_to_the_program(error: BaseException, told: tuple[str | None, bool]) -> None:
    recorded = Recorded()
    with pytest.raises(type(error)) as raised, recorded.begin("train"):
        raise error
    assert raised.value is error
    assert recorded.ends() == [told]


def test_a_folder_that_is_gone_does_not_stop_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recorded = Recorded()
    operation = recorded.begin("copy", ["a.csv"], [])
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with operation:
        done = True
    assert done
    assert recorded.seen == []
    assert "left out" in caplog.text


def test_each_call_of_a_function_is_a_run() -> None:
    recorded = Recorded()

    @recorded.begin("count", [], [], "counts down")
    def down(number: int) -> int:
        return number and down(number - 1)

    assert down(2) == 0
    threads = [threading.Thread(target=down, args=(1,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = [each.run_id for each in recorded.seen if each.ended is None]
    assert len(set(runs)) == 3 + 4 * 2
    assert sorted(runs) == sorted(each.run_id for each in recorded.seen if each.ended is not None)


def test_an_async_function_ends_when_it_was_awaited() -> None:
    recorded = Recorded()
    order: list[str] = []

    @recorded.begin("fetch")
    async def fetch(name: str, wait: asyncio.Event | None, done: asyncio.Event | None) -> None:
        if wait is not None:
            await wait.wait()
        order.append(name)
        if done is not None:
            done.set()

    async def both() -> None:
        event = asyncio.Event()
        await asyncio.gather(fetch("second", event, None), fetch("first", None, event))

    asyncio.run(both())
    assert order == ["first", "second"]
    started = [each.run_id for each in recorded.seen if each.ended is None]
    assert [each.run_id for each in recorded.seen if each.ended is not None] == [started[1], started[0]]


def test_where_nothing_is_captured_it_does_nothing() -> None:
    with Operation(lambda: None, declared("x", [], [], None)) as operation:
        assert isinstance(operation, Operation)


def test_those_of_the_configuration_are_json(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    found = of_configuration({
        "mode": "coarse",
        "operation.upload": '{"inputs": ["/out"], "outputs": [["sftp://partner", "/in"]], "description": "by cron"}',
        "operation.typo": '{"input": ["/out"]}',
        "operation.deep": "[" * 100_000,
        "operation.list": "[]",
        "operation.odd": '{"inputs": [1]}',
    })  # fmt: skip
    assert [(each.name, each.inputs, each.outputs, each.description) for each in found] == [
        ("upload", ["/out"], [("sftp://partner", "/in")], "by cron")
    ]
    assert caplog.text.count("left out") == 4
    (facets,) = [each.job_facets() for each in found]
    assert facets["headwater_operation"]["declaredIn"] == "configuration"
    assert facets["documentation"]["description"] == "by cron"


def test_a_name_that_is_an_address_keeps_no_secret() -> None:
    (operation,) = of_configuration({"operation.x": '{"outputs": [["https://me:hunter2@h", "https://h/a?token=hunter2&b=1"]]}'})
    (written,) = operation.written()
    assert "hunter2" not in str(written)
    assert written.name == "https://h/a?token=[redacted]&b=1"


@pytest.mark.parametrize(("metadata", "within"), [("_delta_log", None), ("metadata", None), ("files", "day=1")])
def test_a_table_that_is_called_like_a_partition_is_a_dataset_of_its_own(tmp_path: Path, metadata: str, within: str | None) -> None:
    (tmp_path / "hr" / "day=1" / metadata).mkdir(parents=True)
    operation = declared("train", [str(tmp_path / "hr" / "day=1")], [], None)
    assert operation is not None
    (read,) = operation.read()
    assert read.name == str(tmp_path / "hr" if within else tmp_path / "hr" / "day=1")
    assert read.within == ([within] if within else [])
    assert name_of({"namespace": read.namespace, "name": read.name, "facets": read.facets}, "$") == ("file", read.name)
