"""A difference between two versions shows nothing of masked columns, not even which of their values are equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.access.masks import Mask
from headwater.backend.questions.masked_answers import MaskedQuestions
from headwater.errors import InvalidQueryError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.questions import DirectQuestions
from headwater.graph.trace.version_diff.answer import DiffRequest, VersionDiff
from tests.graph.jobs import TENANT, Job, write_csv

_COLUMNS = {"id": "string", "salary": "string", "city": "string"}


async def _ask(root: Path, salary: str, **options) -> VersionDiff:
    """Ask for the difference that a second run made, in which a salary is what is given."""
    store, graph = AssociationStore(root / "associations", sources=ANYWHERE), SqliteStore(str(root / "graph.db"))
    await graph.open()
    try:
        runs = []
        for clock, rows in enumerate(([["i1", "s100", "Ulm"]], [["i1", salary, "Ulm"], ["i2", salary, "Bonn"]]), 1):
            raw = write_csv(root / "raw" / f"{clock}.csv", [*_COLUMNS], rows)
            job = Job(store, "copy", clock, part=f"run{clock}", said={"mode": "append"})
            job.write(job.scan(raw, "csv", _COLUMNS, {"header": "true"}), root / "out", "parquet", [*_COLUMNS], files=1)
            runs.append(job.run)
        questions = MaskedQuestions(DirectQuestions(graph, store), graph, store, [Mask(columns=("salary",))])
        return await questions.diff(TENANT, DiffRequest(dataset=str(root / "out"), before=runs[0], after=runs[1], **options))
    finally:
        await graph.close()
        store.close()


@pytest.mark.parametrize("salary", ["s100", "s200"])
async def test_masked_columns_are_left_out(tmp_path, salary) -> None:
    found = await _ask(tmp_path, salary)
    assert [name for name, _ in found.columns] == ["id", "city"]
    assert [entry.after.values for entry in found.entries if entry.after] == [["i1", "Ulm"], ["i2", "Bonn"]]
    assert found.notes == ["Masked columns are not compared: salary."]
    assert "s100" not in repr(found)
    assert found.origins == ()


async def test_a_masked_column_is_no_key(tmp_path) -> None:
    with pytest.raises(InvalidQueryError, match="salary of the key is masked") as refused:
        await _ask(tmp_path, "s100", key=["SALARY"])
    assert refused.value.is_refusal
