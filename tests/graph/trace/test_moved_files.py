"""Files that a program renamed, moved or copied after a known run wrote them: traces go through, or say why they do not."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import AssociationStore, block_of
from headwater.graph.trace import TraceAnswer
from tests.graph.jobs import TENANT, Job, Relation, write_csv
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW

_ROWS = [["a", 1], ["b", 2], ["a", 3], ["b", 4]]
_UNIQUE = "part-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001"


class Lake:
    """Jobs over a folder; what lies between them is moved by hand."""

    def __init__(self, store: AssociationStore, root: Path) -> None:
        self.store, self.root, self.clock = store, root, 0

    def __truediv__(self, name: str) -> Path:
        return self.root / name

    def raw(self, name: str, rows: list[list[object]]) -> Path:
        return write_csv(self.root / name, list(COLUMNS), rows)

    def copy(
        self, source: str, target: str, *, part: str = "part", by: str | None = None, format_: str = "parquet", modified: int | None = None
    ) -> None:
        """A job that writes what it reads, into one file (or one for each value of a column)."""
        job = Job(self.store, f"to {target}", self.clock, part=part, modified=modified)
        self.clock += 1
        path = self.root / source
        of_csv = path.suffix == ".csv" or any(path.glob("**/*.csv"))
        scan = job.scan(path, "csv" if of_csv else "parquet", COLUMNS, RAW if of_csv else {}, partition_columns=["k"] if by else ())
        job.write(scan, self.root / target, format_, list(COLUMNS), files=1, partition_by=by)


@pytest.fixture
def lake(store: AssociationStore, tmp_path: Path) -> Lake:
    made = Lake(store, tmp_path)
    made.raw("raw/t.csv", _ROWS)
    return made


def _reasons(answer: TraceAnswer) -> str:
    return "; ".join(f"{entry.what}: {entry.reason} ({entry.effect})" for entry in answer.incomplete)


def _rename(lake: Lake) -> None:
    shutil.rmtree(lake / "hist", ignore_errors=True)
    (lake / "tmp").rename(lake / "hist")


def _rename_thrice(lake: Lake) -> None:
    (lake / "tmp").rename(lake / "a")
    (lake / "a").rename(lake / "b")
    (lake / "b").rename(lake / "hist")


def _move_files(lake: Lake) -> None:
    (lake / "hist").mkdir()
    for file in (lake / "tmp").iterdir():
        shutil.move(file, lake / "hist" / file.name)


def _copy_with_times(lake: Lake) -> None:
    shutil.copytree(lake / "tmp", lake / "hist")


@pytest.mark.parametrize("move", [_rename, _rename_thrice, _move_files, _copy_with_times])
@pytest.mark.parametrize("format_", ["parquet", "csv"])
async def test_a_trace_goes_through_a_moved_folder(lake: Lake, ask, move: Callable[[Lake], None], format_: str) -> None:
    lake.copy("raw/t.csv", "tmp", format_=format_)
    move(lake)
    lake.copy("hist", "report", part="rep")
    raw, report = str(lake / "raw/t.csv"), str(lake / "report")
    back = await ask(dataset=report, where="v = 3")
    assert (records(back), back.exact) == ({("t.csv", 2)}, True), _reasons(back)
    assert [hop.job.rpartition(":")[2] for hop in back.path] == ["to%20report", "to%20tmp"]
    onward = await ask(dataset=raw, where="v = 3", forward=True)
    assert (records(onward), onward.exact) == ({("rep-00000.parquet", 2)}, True), _reasons(onward)
    for name in ("raw/t.csv", "hist", "tmp"):
        answer = await ask(dataset=report, where="v = 3", to=str(lake / name))
        assert (len(answer.records), answer.exact) == (1, True), (name, _reasons(answer))
        assert answer.records[0].dataset.endswith(name.replace("/", "%2F").rpartition("%2F")[2]), name
    for begin, to in (("raw/t.csv", "report"), ("raw/t.csv", "hist"), ("hist", "report")):
        answer = await ask(dataset=str(lake / begin), where="v = 3", to=str(lake / to), forward=True)
        assert (len(answer.records), answer.exact) == (1, True), (begin, to, _reasons(answer))
    begun = await ask(dataset=str(lake / "hist"), where="v = 3")
    assert (records(begun), begun.exact) == ({("t.csv", 2)}, True), _reasons(begun)


@pytest.mark.parametrize("semantics", ["witness", "influence"])
async def test_a_witness_goes_through_a_moved_folder(lake: Lake, ask, semantics: str) -> None:
    lake.copy("raw/t.csv", "tmp")
    _rename(lake)
    lake.copy("hist", "report", part="rep")
    back = await ask(dataset=str(lake / "report"), where="v = 3", column="v", semantics=semantics)
    onward = await ask(dataset=str(lake / "raw/t.csv"), where="v = 3", semantics=semantics, forward=True)
    assert (records(back), back.exact) == ({("t.csv", 2)}, True)
    assert (records(onward), onward.exact) == ({("rep-00000.parquet", 2)}, True)


async def test_folders_that_change_places_are_told_apart(lake: Lake, ask) -> None:
    lake.raw("raw/u.csv", [["c", 50], ["d", 60], ["e", 70]])
    lake.copy("raw/t.csv", "a")
    lake.copy("raw/u.csv", "b")
    for old, new in (("a", "tmp"), ("b", "a"), ("tmp", "b")):
        (lake / old).rename(lake / new)
    lake.copy("a", "from_a", part="fa")
    lake.copy("b", "from_b", part="fb")
    of_a = await ask(dataset=str(lake / "from_a"), where="v = 60")
    of_b = await ask(dataset=str(lake / "from_b"), where="v = 2")
    assert (records(of_a), of_a.exact) == ({("u.csv", 1)}, True), _reasons(of_a)
    assert (records(of_b), of_b.exact) == ({("t.csv", 1)}, True), _reasons(of_b)
    onward = await ask(dataset=str(lake / "raw/u.csv"), where="v = 60", forward=True)
    assert (records(onward), onward.exact) == ({("fa-00000.parquet", 1)}, True)


async def test_a_file_with_a_new_name_is_named_and_not_followed(lake: Lake, ask) -> None:
    lake.copy("raw/t.csv", "tmp", format_="csv")
    (lake / "tmp" / "part-00000.csv").rename(lake / "day.csv")
    lake.copy("day.csv", "report", part="rep")
    back = await ask(dataset=str(lake / "report"), where="v = 3")
    assert (records(back), back.exact) == ({("day.csv", 2)}, False)
    assert "a file of this length and time elsewhere" in _reasons(back)
    assert "part-00000.csv" in _reasons(back)
    onward = await ask(dataset=str(lake / "raw/t.csv"), where="v = 3", forward=True)
    assert not onward.exact


async def test_a_source_is_not_what_its_own_reader_wrote(lake: Lake, ask) -> None:
    os.utime(lake / "raw/t.csv", (1_700_000_000, 1_700_000_000))
    lake.copy("raw/t.csv", "out", format_="csv", modified=1_700_000_000)
    (written,) = (lake / "out").iterdir()
    assert written.stat().st_size == (lake / "raw/t.csv").stat().st_size
    back = await ask(dataset=str(lake / "out"), where="v = 3")
    assert (records(back), back.exact) == ({("t.csv", 2)}, True)


async def test_each_copy_of_a_file_is_followed(lake: Lake, ask) -> None:
    lake.copy("raw/t.csv", "tmp")
    for name in ("one", "two"):
        shutil.copytree(lake / "tmp", lake / name)
        lake.copy(name, f"of_{name}", part=name)
    lake.copy("tmp", "of_tmp", part="tmp")
    onward = await ask(dataset=str(lake / "raw/t.csv"), where="v = 3", forward=True)
    assert (records(onward), onward.exact) == ({(f"{name}-00000.parquet", 2) for name in ("one", "two", "tmp")}, True)
    assert records(await ask(dataset=str(lake / "of_two"), where="v = 4")) == {("t.csv", 3)}


@pytest.mark.parametrize("forward", [False, True])
async def test_files_of_equal_name_length_and_time_are_not_confused(lake: Lake, ask, forward: bool) -> None:
    lake.raw("raw/u.csv", [["a", 5], ["b", 6], ["a", 7], ["b", 8]])
    for number, source in enumerate(("t", "u")):
        lake.copy(f"raw/{source}.csv", f"tmp{number}", format_="csv", modified=1_700_000_000)
    assert len({(lake / f"tmp{number}/part-00000.csv").stat().st_size for number in range(2)}) == 1
    (lake / "tmp0").rename(lake / "hist")
    lake.copy("hist", "report", part="rep")
    dataset, other = (lake / "raw/t.csv", lake / "report") if forward else (lake / "report", lake / "raw/t.csv")
    answer = await ask(dataset=str(dataset), where="v = 3", forward=forward)
    assert not answer.exact
    assert "2 files of this name, length and time elsewhere" in _reasons(answer)
    assert "(missing)" in _reasons(answer)
    assert other.name not in {file for file, _ in records(answer)}


async def test_one_name_in_several_partitions_is_told_by_the_partition(lake: Lake, ask) -> None:
    lake.copy("raw/t.csv", "tmp", by="k", modified=1_700_000_000)
    assert len({file.stat().st_size for file in (lake / "tmp").rglob("*.parquet")}) == 1
    _rename(lake)
    job = Job(lake.store, "all", 30)
    job.write(job.scan(lake / "hist", "parquet", {"v": "int"}), lake / "report", "parquet", ["v"], files=1)
    for value, row in ((1, 0), (2, 1), (3, 2), (4, 3)):
        back = await ask(dataset=str(lake / "report"), where=f"v = {value}")
        assert (records(back), back.exact) == ({("t.csv", row)}, True), _reasons(back)


async def test_a_copy_with_a_time_of_its_own_is_said(lake: Lake, ask) -> None:
    lake.copy("raw/t.csv", "tmp", part=_UNIQUE)
    (lake / "hist").mkdir()
    for file in (lake / "tmp").iterdir():
        os.utime(shutil.copyfile(file, lake / "hist" / file.name), (2_000_000_000, 2_000_000_000))
    lake.copy("hist", "report", part="rep")
    back = await ask(dataset=str(lake / "report"), where="v = 3")
    assert {file for file, _ in records(back)} == {f"{_UNIQUE}-00000.parquet"}
    assert not back.exact
    assert "known runs wrote a file of this name and length elsewhere" in _reasons(back)


async def test_what_replaced_a_renamed_file_is_a_source(lake: Lake, ask) -> None:
    lake.copy("raw/t.csv", "tmp", format_="csv")
    _rename(lake)
    lake.copy("hist", "before", part="be")
    write_csv(lake / "hist" / "part-00000.csv", list(COLUMNS), [["z", 100], ["z", 300]])
    lake.copy("hist", "after", part="af")
    before = await ask(dataset=str(lake / "before"), where="v = 3")
    after = await ask(dataset=str(lake / "after"), where="v = 300")
    assert (records(before), before.exact) == ({("t.csv", 2)}, True), _reasons(before)
    assert (records(after), after.exact) == ({("part-00000.csv", 1)}, True), _reasons(after)


async def test_a_file_that_nobody_moved_is_a_source(lake: Lake, ask) -> None:
    """One file has the length of a written file, another its time, and a third its name."""
    lake.copy("raw/t.csv", "tmp", format_="csv")
    written = lake / "tmp/part-00000.csv"
    others = {"length": lake / "a" / "x.csv", "time": lake / "b" / "y.csv", "name": lake / "c" / "part-00000.csv"}
    for name, path in others.items():
        write_csv(path, list(COLUMNS), _ROWS if name == "length" else [["long", 123456]])
        os.utime(path, ns=(written.stat().st_atime_ns, written.stat().st_mtime_ns + (0 if name == "time" else 5_000_000)))
        lake.copy(str(path.relative_to(lake.root)), f"of_{name}", part=name)
        answer = await ask(dataset=str(lake / f"of_{name}"), where="true")
        assert ({file for file, _ in records(answer)}, answer.exact) == ({path.name}, True), _reasons(answer)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]], ids=["writer first", "reader first"])
def test_the_flow_is_known_whichever_capture_comes_first(lake: Lake, order: list[int]) -> None:
    lake.copy("raw/t.csv", "tmp")
    _rename(lake)
    lake.copy("hist", "report", part="rep")
    catalog = lake.store.catalog
    kept = [(lake.store.manifest(TENANT, entry.capture), entry.capture) for entry in catalog.captures(TENANT)]
    files = [list(lake.store.written_files(TENANT, capture)) for _, capture in kept]
    catalog.forget(TENANT)
    flows = []
    for place in order:
        catalog.put(TENANT, kept[place][0], files[place])
        flows += catalog.moves.flows(TENANT, kept[place][1])
    (flow,) = set(flows)
    assert (flow.job, flow.dataset) == (("tests", "to tmp"), ("file", str(lake / "hist")))
    assert flow.at == max(manifest.ended for manifest, _ in kept).replace("Z", ".000000Z")
    tmp, hist = (node_id(NodeKind.DATASET, "file", str(lake / name)) for name in ("tmp", "hist"))
    assert hist in catalog.datasets.beyond(TENANT, [tmp], forward=True)[tmp]
    assert tmp in catalog.datasets.beyond(TENANT, [hist], forward=False)[hist]


async def test_a_folder_that_nobody_read_since_is_found_by_its_files(lake: Lake, ask) -> None:
    lake.copy("raw/t.csv", "hist")
    lake.copy("hist", "report", part="rep")
    lake.raw("raw/u.csv", [["c", 50], ["d", 60]])
    lake.copy("raw/u.csv", "tmp", part="new")
    _rename(lake)
    onward = await ask(dataset=str(lake / "raw/u.csv"), where="v = 60", to=str(lake / "hist"), forward=True)
    assert (records(onward), onward.exact) == ({("new-00000.parquet", 1)}, True), _reasons(onward)
    before = await ask(dataset=str(lake / "raw/t.csv"), where="v = 3", to=str(lake / "hist"), forward=True)
    assert (records(before), before.exact) == (set(), True)
    assert "one record that was reached is not in it any more" in _reasons(before)


async def test_each_run_is_named_with_the_records_that_are_gone(lake: Lake, ask) -> None:
    """A folder is written, and then replaced by folders that other jobs made of it elsewhere."""
    lake.copy("raw/t.csv", "hist", part="p0")
    for number in range(1, 6):
        lake.copy("hist", "tmp", part=f"p{number}")
        _rename(lake)
    two = await ask(dataset=str(lake / "raw/t.csv"), where="v IN (3, 4)", to=str(lake / "hist"), forward=True)
    assert (records(two), two.exact) == ({("p5-00000.parquet", 2), ("p5-00000.parquet", 3)}, True), _reasons(two)
    (note,) = [entry.reason for entry in two.incomplete if "not in it any more" in entry.reason]
    assert note.startswith("10 records that were reached are not in it any more; they were there as of run ")
    assert (note.count("run "), note.count("of to tmp"), note.count("Z (2 records)")) == (3, 3, 3), note
    assert note.endswith("; and in 2 versions before (4 records)")


async def test_one_version_is_named_without_a_count(lake: Lake, ask) -> None:
    lake.copy("raw/t.csv", "tmp", part="first")
    _rename(lake)
    lake.copy("hist", "tmp", part="second")
    _rename(lake)
    answer = await ask(dataset=str(lake / "raw/t.csv"), where="v = 3", to=str(lake / "hist"), forward=True)
    assert (records(answer), answer.exact) == ({("second-00000.parquet", 2)}, True), _reasons(answer)
    (note,) = [entry.reason for entry in answer.incomplete if "not in it any more" in entry.reason]
    assert note.startswith("one record that was reached is not in it any more; it was there as of run ")
    assert "of to tmp" in note
    assert "record" not in note.partition("as of")[2]


class DeltaTable:
    """A table of Delta in a folder, with a log of its own; each commit replaces the file of the commit before."""

    def __init__(self, lake: Lake) -> None:
        self.lake, self.version, self.file = lake, 0, ""

    def commit(self, folder: Path, scan_of: Path, part: str) -> None:
        job = Job(self.lake.store, f"writes {part}", self.lake.clock, part=part, said={"format": "delta"})
        self.lake.clock += 1
        job.write(self.scan(job, folder, scan_of), folder, "parquet", list(COLUMNS), files=1)
        path = folder / f"{part}-00000.parquet"
        _, length, modified = block_of(path)
        add = {"path": path.name, "size": length, "dataChange": True, "modificationTime": modified, "partitionValues": {}}
        actions: list[dict[str, object]] = [{"commitInfo": {"operation": "UPDATE"}}, {"add": add}]
        if self.version == 0:
            actions.append({"metaData": {"configuration": {}, "partitionColumns": []}})
        if self.file:
            actions.append({"remove": {"path": self.file, "dataChange": True}})
        (folder / "_delta_log").mkdir(exist_ok=True)
        (folder / "_delta_log" / f"{self.version:020}.json").write_text("\n".join(map(json.dumps, actions)))
        self.version, self.file = self.version + 1, path.name

    def scan(self, job: Job, folder: Path, of: Path) -> Relation:
        if of.suffix == ".csv":
            return job.scan(of, "csv", COLUMNS, RAW)
        scan = job.scan(of, "parquet", COLUMNS)
        job.sources[-1] |= {"format": "delta", "path": f"file:{folder}", "dataset": {"namespace": "file", "name": str(folder)}}
        return scan


@pytest.mark.parametrize("is_changed", [False, True])
async def test_a_table_whose_folder_was_renamed_is_followed_to_what_it_holds(lake: Lake, ask, is_changed: bool) -> None:
    table = DeltaTable(lake)
    table.commit(lake / "tmp", lake / "raw/t.csv", "first")
    _rename(lake)
    if is_changed:
        table.commit(lake / "hist", lake / "hist/first-00000.parquet", "second")
    else:
        job = Job(lake.store, "reads", lake.clock)
        job.write(table.scan(job, lake / "hist", lake / "hist/first-00000.parquet"), lake / "out", "parquet", list(COLUMNS), files=1)
    answer = await ask(dataset=str(lake / "raw/t.csv"), where="v = 3", to=str(lake / "hist"), forward=True)
    assert (records(answer), answer.exact) == ({(table.file, 2)}, True), _reasons(answer)
    assert ("as of run" in _reasons(answer)) == is_changed
    back = await ask(dataset=str(lake / "hist"), where="v = 3")
    assert (records(back), back.exact) == ({("t.csv", 2)}, True), _reasons(back)
