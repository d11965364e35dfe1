"""Reasons of inputs that failed in an actor: no value in them reaches a caller for whom columns are masked, nor any name or export."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

import pytest

from headwater.backend.access.masks import Mask
from headwater.backend.exports.provenance import chunks_of, open_export
from headwater.backend.home.settings import load_settings
from headwater.backend.questions.masked_answers import MaskedQuestions
from headwater.backend.workspace import Workspace
from headwater.capture import Session
from headwater.errors import HeadwaterError
from headwater.graph.prov import ProvFormat
from headwater.graph.trace import TraceRequest
from headwater.graph.trace.questions import DirectQuestions
from tests.capture.captured import taken

_TABLE = "etl.map (failed inputs)"
_MASK = Mask(columns=("salary",))
_CHANGES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|'elapsed_ms': [\d.]+|\d{4}-\d\d-\d\dT[\d:.+Z]+|1[67]\d{11}")


def _capture(home: Path, salary: str) -> None:
    with Session("etl", home=home) as session:
        source = session.stream("in")
        actor = session.register("map", "mapper")
        actor.fail(source[0], ValueError(f"could not convert salary {salary!r} of Ann"))
        actor.fail(source[1], f"salary {salary} is wrong")
        table = session.table("own (failed inputs)")
        actor.capture(source[2], table["a key"])
    taken(home)


async def _told(home: Path) -> AsyncIterator[str]:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        direct = DirectQuestions(workspace.graph, workspace.records)
        masked = MaskedQuestions(direct, workspace.graph, workspace.records, [_MASK])
        for row in range(3):
            request = TraceRequest(dataset="in", rows=[("stream:in", row)], forward=True, values=False)
            answer = await masked.trace("default", request)
            again = await masked.masked_anew("default", request, await direct.trace("default", request))
            assert again.notes == answer.notes
            yield str(asdict(answer))
            async with open_export(workspace.graph, workspace.records, "default", request) as export:
                yield "".join([chunk.decode() async for chunk in chunks_of(export, ProvFormat.JSON)])
            for record in answer.records:
                name = "own (failed inputs)" if "own" in record.dataset else _TABLE
                back = TraceRequest(dataset=name, rows=[(str(record.file), 0)], values=False)
                yield str(asdict(await masked.trace("default", back)))
        with pytest.raises(HeadwaterError) as refused:
            await masked.trace("default", TraceRequest(dataset=_TABLE, rows=[("table:other", 0)]))
        yield f"{refused.value.message} {refused.value.hint}"


def _all_told(home: Path) -> list[str]:
    async def collect() -> list[str]:
        return [text async for text in _told(home)]

    return asyncio.run(collect())


def test_two_worlds_whose_reasons_differ_in_masked_values_are_told_alike(tmp_path: Path) -> None:
    told = []
    for world, salary in enumerate(("90k-quill", "75k-zebra")):
        home = tmp_path / str(world)
        _capture(home, salary)
        lines = _all_told(home)
        assert salary not in "".join(lines)
        assert all(salary.encode() not in path.read_bytes() for path in home.glob("graph.db*"))
        told.append([_CHANGES.sub("", line) for line in lines if not line.startswith('{"prefix"')])
    assert told[0] == told[1]
    text = "".join(told[0])
    assert "'notes': ['Failed in actor etl.map: ValueError']" in text
    assert "'notes': ['Failed in actor etl.map: the reason is masked']" in text


def test_a_table_of_the_program_of_such_a_name_is_no_failure(tmp_path: Path) -> None:
    _capture(tmp_path, "90k-quill")

    async def ask() -> list[str]:
        async with await Workspace.open(load_settings(home=tmp_path)) as workspace:
            request = TraceRequest(dataset="in", rows=[("stream:in", 2)], forward=True, values=False)
            return list((await workspace.trace("default", request)).notes)

    assert asyncio.run(ask()) == []
