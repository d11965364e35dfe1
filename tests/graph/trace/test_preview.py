"""Pages of a dataset's rows: values, places, whether there is lineage; and a note where there are none."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.model import GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.trace.answer import RowOrder, TraceRequest
from headwater.graph.trace.engine import trace
from headwater.graph.trace.preview import preview
from tests.graph.jobs import TENANT
from tests.graph.trace.small import copy


async def test_a_page_of_rows_has_values_places_and_lineage(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    page = await preview(None, store, TENANT, "out", predicate="k = 'a'", first=2, offset=1)
    assert [(Path(row.file).name, row.row, list(row.values)) for row in page.rows] == [
        ("part-00000.parquet", 2, ["a", 9]),
        ("part-00001.parquet", 0, ["a", None]),
    ]
    assert (page.total, page.has_record_lineage, page.note) == (4, True, None)
    assert [name for name, _ in page.columns] == ["k", "v"]


async def test_rows_come_in_the_order_of_a_column_over_all_pages(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    whole = await preview(None, store, TENANT, "out", first=1000)
    values = [row.values[1] for row in whole.rows]
    known = sorted((value for value in values if value is not None), reverse=True)
    ordered = known + [None] * (len(values) - len(known))
    pages = [
        await preview(None, store, TENANT, "out", order=RowOrder("v", descending=True), first=3, offset=offset)
        for offset in range(0, len(values), 3)
    ]
    assert [row.values[1] for page in pages for row in page.rows] == ordered
    assert {page.total for page in pages} == {len(values)}


async def test_rows_cannot_be_ordered_by_what_is_no_column(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with pytest.raises(InvalidQueryError, match="no column"):
        await preview(None, store, TENANT, "out", order=RowOrder('v" --'))


async def test_a_dataset_that_is_gone_gives_no_rows_and_a_note(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    page = await preview(None, store, TENANT, "out")
    assert (page.rows, page.total) == ((), 0)
    assert "there is nothing at" in (page.note or "")


async def _uncaptured(graph, folder: Path) -> str:
    identifier = node_id("dataset", "file", str(folder))
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "x"), [Node(identifier, NodeKind.DATASET, str(folder))], [])])
    return identifier


async def test_files_of_several_formats_that_no_capture_describes_are_not_guessed_at(store, graph, tmp_path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), folder / "a.parquet")
    (folder / "b.csv").write_text("a\n3\n")
    mixed = await _uncaptured(graph, folder)
    page = await preview(graph, store, TENANT, mixed)
    assert (list(page.rows), page.total) == ([], 0)
    assert "a.parquet is Parquet and b.csv is not" in (page.note or "")
    with pytest.raises(UnsupportedError, match=r"b\.csv"):
        await trace(graph, store, TENANT, TraceRequest(dataset=mixed, where="a = 1"))


async def test_a_file_that_is_called_parquet_and_is_none_is_said(store, graph, tmp_path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "a.parquet").write_text("a,b\n1,2\n")
    odd = await _uncaptured(graph, folder)
    for where in (None, "a = 1"):
        page = await preview(graph, store, TENANT, odd, predicate=where)
        assert list(page.rows) == []
        assert "a.parquet" in (page.note or "")


@pytest.mark.parametrize("name", ["path/x", "/path/x"])
async def test_a_dataset_elsewhere_has_no_rows_here_and_is_named_by_its_address(store, graph, name) -> None:
    identifier = node_id("dataset", "s3://bucket", name)
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "x"), [Node(identifier, NodeKind.DATASET, name)], [])])
    page = await preview(graph, store, TENANT, identifier)
    assert list(page.rows) == []
    assert "s3://bucket/path/x is not on a local file system" in (page.note or "")


async def test_tenants_see_nothing_of_each_other(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with pytest.raises(NotFoundError):
        await preview(None, store, "other", "out")
