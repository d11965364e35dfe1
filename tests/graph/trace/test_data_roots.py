"""Only files inside the roots may be read, by whatever path. Files outside are still known and traced."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from headwater.errors import UnsupportedError
from headwater.graph.records import ANYWHERE, AssociationStore, DataRoots, uri_of
from headwater.graph.storage import open_resolved
from headwater.graph.trace import TraceRequest, trace
from headwater.graph.trace.preview import preview
from tests.graph.jobs import TENANT, write_csv
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, ROWS, copy

SECRET = "the secret of another user"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    target = tmp_path / "elsewhere" / "secret.txt"
    target.parent.mkdir()
    target.write_text(SECRET + "\n")
    return target


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "part-0.txt").write_text("harmless\n")
    return folder


def _disguises(data: Path, secret: Path) -> dict[str, str]:
    (data / "file").symlink_to(secret)
    (data / "folder").symlink_to(secret.parent)
    (data / "chain").symlink_to(data / "folder")
    (data / "fd").symlink_to(f"/proc/self/fd/{os.open(secret, os.O_RDONLY)}")
    return {
        "plain": str(secret),
        "dots": f"{data}/../elsewhere/secret.txt",
        "dots through what is missing": f"{data}/none/../../elsewhere/secret.txt",
        "link": f"{data}/file",
        "link to its folder": f"{data}/folder/secret.txt",
        "link to a link": f"{data}/chain/secret.txt",
        "link, and dots": f"{data}/folder/../elsewhere/secret.txt",
        "percent": f"{data}/%2e%2e/elsewhere/secret.txt",
        "percent slash": f"{data}/..%2felsewhere%2fsecret.txt",
        "slashes": f"//{secret}",
        "a descriptor": f"{data}/fd",
        "proc": f"/proc/self/root{secret}",
        "environment": "/proc/self/environ",
        "device": "/dev/zero",
        "nul": f"{data}/part-0.txt\0{secret}",
        "half a character": f"{data}/\ud800",
    }


def test_a_file_outside_of_the_roots_is_refused_in_every_disguise(data: Path, secret: Path) -> None:
    look = DataRoots.of([data]).look()
    assert look.path(f"{data}/part-0.txt").read_text() == "harmless\n"
    for disguise, path in _disguises(data, secret).items():
        for uri in (path, f"file:{path}", f"file://{path}"):
            with pytest.raises((UnsupportedError, FileNotFoundError), match=r"not readable here|no path of a file|%2") as refused:
                look.block(uri)  # of a name with a percent sign: the file of just that name, which is not there
            assert SECRET not in str(refused.value), disguise


def test_what_is_never_read_is_not_read_below_a_root_either(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "key").write_text("hw_secret")
    look = DataRoots.of(["/", tmp_path], never=[home]).look()
    for path in (f"{home}/key", f"{home}", "/proc/self/environ", "/dev/zero", "/sys/kernel/notes", f"{tmp_path}/home/../home/key"):
        with pytest.raises(UnsupportedError, match="never read as data"):
            look.path(path)
    assert look.path(str(tmp_path)) == tmp_path


def test_files_in_memory_are_read_below_a_root_that_lies_there() -> None:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        file = Path(folder, "part-0.txt")
        file.write_text("harmless\n")
        assert DataRoots.of([folder]).look().path(str(file)) == file
        assert ANYWHERE.look().path(str(file)) == file
        for root in ("/", "/dev", f"{folder}x"):
            with pytest.raises(UnsupportedError, match="outside of the data roots"):
                DataRoots.of([root]).look().path(str(file))
        with pytest.raises(UnsupportedError, match="home of Headwater"):
            DataRoots.of([folder], never=[folder]).look().path(str(file))


def test_a_refusal_does_not_tell_whether_the_file_exists(data: Path, secret: Path) -> None:
    look = DataRoots.of([data]).look()

    def refusal(path: Path) -> str:
        with pytest.raises(UnsupportedError) as refused:
            look.block(str(path))
        return str(refused.value).replace(path.name, "NAME")

    assert refusal(secret) == refusal(secret.with_name("none.txt"))


def test_a_root_that_is_a_file_opens_no_other(data: Path) -> None:
    (data / "other.txt").write_text(SECRET)
    look = DataRoots.of([data / "part-0.txt"]).look()
    assert look.block(f"{data}/part-0.txt").length == 9
    with pytest.raises(UnsupportedError):
        look.block(f"{data}/other.txt")


def test_a_root_behind_a_link_is_read_by_both_of_its_names(tmp_path: Path, data: Path) -> None:
    (tmp_path / "lake").symlink_to(data)
    look = DataRoots.of([tmp_path / "lake"]).look()
    assert look.block(f"file:{tmp_path}/lake/part-0.txt").path == f"file:{tmp_path}/lake/part-0.txt"
    assert look.path(f"{data}/part-0.txt") == look.path(f"{tmp_path}/lake/part-0.txt")


def test_a_pipe_is_no_file_and_is_not_waited_for(data: Path) -> None:
    os.mkfifo(data / "pipe")
    with pytest.raises(UnsupportedError, match="no file"):
        DataRoots.of([data]).look().block(f"{data}/pipe")
    with pytest.raises(OSError, match="no file"):
        open_resolved(data / "pipe")


def test_a_link_that_takes_the_place_of_a_file_is_not_opened(data: Path, secret: Path) -> None:
    path = DataRoots.of([data]).look().path(f"{data}/part-0.txt")
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(OSError, match=r"symbolic|link"):
        open_resolved(path)


def test_a_link_that_takes_the_place_of_a_folder_is_not_opened(data: Path, secret: Path) -> None:
    (data / "day").mkdir()
    (data / "day" / "secret.txt").write_text("harmless\n")
    path = DataRoots.of([data]).look().path(f"{data}/day/secret.txt")
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(secret.parent)
    with pytest.raises(OSError, match="a link"):
        open_resolved(path)


@pytest.fixture
def rooted(tmp_path: Path):
    """A store whose traces read below `data` alone."""
    opened = AssociationStore(tmp_path / "associations", sources=DataRoots.of([tmp_path / "data"], never=[tmp_path / "home"]))
    yield opened
    opened.close()


async def test_a_file_that_a_link_leads_to_is_left_out_of_a_dataset_and_said(rooted, data: Path, secret: Path) -> None:
    raw = write_csv(data / "raw" / "t.csv", list(COLUMNS), ROWS)
    copy(rooted, raw, data / "out", 1)
    (data / "out" / "more.parquet").symlink_to(secret)
    page = await preview(None, rooted, TENANT, str(data / "out"))
    assert [list(row.values) for row in page.rows] == ROWS
    assert page.note is not None
    assert "a link in its path leads out of the data roots" in page.note


async def test_of_a_dataset_outside_ids_and_paths_are_answered_and_values_are_not_readable_here(rooted, data: Path, tmp_path: Path) -> None:
    raw = write_csv(tmp_path / "outside" / "t.csv", list(COLUMNS), ROWS)
    copy(rooted, raw, data / "out", 1)
    request = TraceRequest(dataset=str(data / "out"), where="v = 5")
    answer = await trace(None, rooted, TENANT, request)
    assert records(answer) == {("t.csv", 0)}
    assert dict(answer.records[0].values) == {}
    (entry,) = answer.incomplete
    assert (entry.what, entry.effect) == (uri_of(raw), "unreadable")
    assert "not readable here" in entry.reason
    assert "HEADWATER_DATA_ROOTS" in entry.reason
    assert answer.exact


async def test_records_of_a_dataset_outside_are_traced_by_file_and_row_unseen(rooted, data: Path, tmp_path: Path) -> None:
    raw, out = write_csv(data / "t.csv", list(COLUMNS), ROWS), tmp_path / "outside"
    copy(rooted, raw, out, 1)
    file = min(out.glob("*.parquet"))
    answer = await trace(None, rooted, TENANT, TraceRequest(dataset=str(out), rows=[(str(file), 2)]))
    assert records(answer) == {("t.csv", 2)}
    assert answer.records[0].values == {"k": "a", "v": 9}
    assert [(record.row, dict(record.values)) for record in answer.selected] == [(2, {})]
    assert [entry.effect for entry in answer.incomplete] == ["unreadable"]
    forward = await trace(None, rooted, TENANT, TraceRequest(dataset=str(raw), rows=[(str(raw), 2)], forward=True))
    assert records(forward) == {(file.name, 2)}


@pytest.mark.parametrize("asked", [{"where": "v = 5"}, {"rows": [("FILE", 2)], "where": "v = 5"}, {}])
async def test_a_predicate_over_a_dataset_outside_is_refused_with_what_to_do(rooted, data: Path, tmp_path: Path, asked: dict) -> None:
    raw, out = write_csv(data / "t.csv", list(COLUMNS), ROWS), tmp_path / "outside"
    copy(rooted, raw, out, 1)
    with pytest.raises(UnsupportedError, match=r"not readable here.*by file and row.*HEADWATER_DATA_ROOTS"):
        await trace(None, rooted, TENANT, TraceRequest(dataset=str(out), **asked))


async def test_a_row_beyond_what_a_run_wrote_is_refused_unseen(rooted, data: Path, tmp_path: Path) -> None:
    raw, out = write_csv(data / "t.csv", list(COLUMNS), ROWS), tmp_path / "outside"
    copy(rooted, raw, out, 1)
    file = min(out.glob("*.parquet"))
    with pytest.raises(Exception, match="has no record 6"):
        await trace(None, rooted, TENANT, TraceRequest(dataset=str(out), rows=[(str(file), 6)]))
    with pytest.raises(Exception, match="no file of"):
        await trace(None, rooted, TENANT, TraceRequest(dataset=str(out), rows=[("/etc/shadow", 0)]))
