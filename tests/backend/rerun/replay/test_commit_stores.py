"""Commits of folders on a real S3 server and a real HDFS: replaced, undone, refused over data of others, and killed at each step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import obstore
import pytest
from hdfs_native import Client
from obstore.store import S3Store

from headwater.backend.rerun.replay.commit import check_places, commit, expire, undo
from headwater.backend.rerun.replay.model import CommitState, Replay, ReplayState
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.errors import NotFoundError, SourceChangedError, SourceUnavailableError, UnavailableError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.storage import Remote, read_roots
from headwater.graph.storage.hdfs import Hdfs
from headwater.graph.storage.object_folder import Place
from headwater.spark_listener.shadow_paths import ShadowPaths
from tests.lake import KEY, SECRET, s3

pytestmark = [pytest.mark.lake, pytest.mark.xdist_group("s3a")]

Content = dict[str, bytes]
OLD: Content = {"_SUCCESS": b"", "part-0.csv": b"k\n1\n", "day=1/part 1.csv": b"k\n2\n", "part-00000": b"old"}
NEW: Content = {"_SUCCESS": b"", "part-9.csv": b"k\n8\n", "part-00000": b"new"}
FEW_OLD: Content = {"_SUCCESS": b"", "part-00000": b"old"}
FEW_NEW: Content = {"_SUCCESS": b"", "part-00000": b"new"}
LARGE = bytes(range(256)) * (24 << 10)  # 6 MiB, uploaded in parts


class KilledError(BaseException):
    """Ends a commit without any clean-up, as a crash would."""


class Storage(Protocol):
    """A storage with some folders. `steps` are the methods that change it."""

    url: str
    root: str
    steps: tuple[type, tuple[str, ...]]

    def write(self, folder: str, files: Content) -> None: ...
    def files(self, folder: str) -> Content: ...
    def names(self) -> list[str]:
        """Return the names above the folders, hidden ones too."""
        ...


class S3Storage:
    steps = (Place, ("put", "copy", "delete", "delete_all"))

    def __init__(self, endpoint: str, root: str) -> None:
        self.url, self.root = "s3://lake/data", root
        self.bucket = S3Store(
            "lake", endpoint=endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1", client_options={"allow_http": True}
        )

    def write(self, folder: str, files: Content) -> None:
        for name, content in files.items():
            obstore.put(self.bucket, f"data/{folder}/{name}", content)

    def files(self, folder: str) -> Content:
        found = [entry["path"] for page in obstore.list(self.bucket, f"data/{folder}") for entry in page]
        return {path.removeprefix(f"data/{folder}/"): bytes(obstore.get(self.bucket, path).bytes()) for path in found}

    def names(self) -> list[str]:
        found = [entry["path"] for page in obstore.list(self.bucket, "data") for entry in page]
        return sorted({path.split("/")[1] for path in found})


class HdfsStorage:
    steps = (Hdfs, ("make_folder", "put", "rename", "delete"))

    def __init__(self, url: str) -> None:
        self.url, self.client = f"{url}/data", Client(url)
        self.root = f'[[root]]\nurl = "{url}/"\nseconds = 30\n'

    def write(self, folder: str, files: Content) -> None:
        for name, content in files.items():
            path = f"/data/{folder}/{name}"
            self.client.mkdirs(path.rpartition("/")[0], create_parent=True)
            with self.client.create(path) as file:
                file.write(content)

    def files(self, folder: str) -> Content:
        found = [status for status in self.client.list_status(f"/data/{folder}", recursive=True) if not status.isdir]
        paths = [f"/{status.path.partition('://')[2].partition('/')[2]}" if "://" in status.path else status.path for status in found]
        return {path.removeprefix(f"/data/{folder}/"): bytes(self.client.read(path).read()) for path in paths}

    def names(self) -> list[str]:
        return sorted(status.path.rpartition("/")[2] for status in self.client.list_status("/data"))


@pytest.fixture(scope="module")
def s3_storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Storage]:
    folder = tmp_path_factory.mktemp("s3")
    with s3(folder / "s3") as server:
        (folder / "s3" / "lake").mkdir()
        yield S3Storage(server.endpoint, server.root("s3://lake"))


@pytest.fixture(params=["s3", "hdfs"])
def storage(request: pytest.FixtureRequest) -> Storage:
    found: Storage = request.getfixturevalue("s3_storage") if request.param == "s3" else HdfsStorage(request.getfixturevalue("hdfs_url"))
    return found


_numbers = count()


class Case:
    """A complete replay of a folder with old files, which wrote other files."""

    def __init__(self, storage: Storage, folder: Path, old: Content = OLD, new: Content = NEW) -> None:
        self.storage, self.name = storage, f"out {next(_numbers)}"
        storage.write(self.name, old)
        (folder / "storage.toml").write_text(storage.root)
        self.sources = DataRoots.of([], remote=Remote(read_roots(folder / "storage.toml")))
        self.folder = folder / f"replays-{self.name}" / ("a" * 32)
        authority, _, path = f"{storage.url}/{self.name}".partition("://")[2].partition("/")
        namespace = f"{storage.url.partition('://')[0]}://{authority}"
        self.dataset = f"dataset:{_escaped(namespace)}:{_escaped(path)}"
        shadow = ShadowPaths(str(self.folder / "data")).folder(f"{storage.url}/{self.name}")
        for name, content in new.items():
            (shadow / name).parent.mkdir(parents=True, exist_ok=True)
            (shadow / name).write_bytes(content)
            (shadow / name).with_name(f".{Path(name).name}.crc").write_bytes(b"crc")
        places, before = OutputPlaces(self.sources).states([self.dataset])
        self.replay = Replay(
            id=self.folder.name, tenant="t", output=self.dataset, started_at=datetime.now(UTC).isoformat(),
            shadow=str(self.folder / "data"), process=os.getpid(), exclude={}, state=ReplayState.COMPLETE,
            changed=[self.dataset], before=before, places=places,
        )  # fmt: skip

    def commit(self) -> Any:
        return commit(self.replay, self.folder, keep_days=1, sources=self.sources)

    def undo(self) -> Any:
        return undo(self.replay.id, self.folder, sources=self.sources)

    def expire(self) -> None:
        expire(self.folder.parent, sources=self.sources)

    @property
    def files(self) -> Content:
        return self.storage.files(self.name)

    @property
    def hidden(self) -> list[str]:
        return [name for name in self.storage.names() if self.name in name and name != self.name]


def _escaped(part: str) -> str:
    from headwater.graph.model import NodeKind, node_id

    return node_id(NodeKind.DATASET, part).partition(":")[2]


def test_a_commit_replaces_the_folder_and_an_undo_brings_it_back(storage: Storage, tmp_path: Path) -> None:
    case = Case(storage, tmp_path, new={**NEW, "large.bin": LARGE})
    check_places(case.replay, case.sources)
    (one,) = case.commit().folders
    assert case.files == {**NEW, "large.bin": LARGE}
    assert one.notes
    assert len(case.hidden) == 1
    assert case.commit().folders == [one]
    case.undo()
    assert case.files == OLD
    assert case.hidden == []
    with pytest.raises(NotFoundError):
        case.undo()


def test_old_data_of_a_large_upload_comes_back(storage: Storage, tmp_path: Path) -> None:
    case = Case(storage, tmp_path, old={**OLD, "large.bin": LARGE})
    case.commit()
    assert case.files == NEW
    case.undo()
    assert case.files == {**OLD, "large.bin": LARGE}


def test_old_data_is_removed_when_its_time_is_over(storage: Storage, tmp_path: Path) -> None:
    case = Case(storage, tmp_path)
    case.commit()
    journal = case.folder / "commit.json"
    journal.write_text(journal.read_text().replace('"kept_until": "2', '"kept_until": "1'))
    case.expire()
    assert (case.files, case.hidden) == (NEW, [])
    with pytest.raises(NotFoundError):
        case.undo()


@pytest.mark.parametrize("when", ["before the commit", "before the undo"])
def test_data_of_another_program_is_not_replaced(storage: Storage, tmp_path: Path, when: str) -> None:
    case = Case(storage, tmp_path)
    if when == "before the undo":
        case.commit()
    storage.write(case.name, {"late.csv": b"k\n9\n"})
    with pytest.raises(SourceChangedError, match="nothing was replaced"):
        case.undo() if when == "before the undo" else case.commit()
    assert case.files == {**(NEW if when == "before the undo" else OLD), "late.csv": b"k\n9\n"}


def test_data_that_another_program_writes_during_the_exchange_stays(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(storage, tmp_path)
    owner, step = (Place, "copy") if storage.steps[0] is Place else (Hdfs, "rename")
    original, written = getattr(owner, step), []

    def write_first(self: Any, path: str, target: str) -> Any:
        if not written and (f"/{case.name}" in f"/{path}" and ".headwater" in target and target.endswith(".old")):
            written.append(path)
            storage.write(case.name, {"late.csv": b"k\n9\n"})
        if not written and owner is Place and target.startswith(case.name):
            written.append(path)
            storage.write(case.name, {"late.csv": b"k\n9\n"})
        return original(self, path, target)

    monkeypatch.setattr(owner, step, write_first)
    with pytest.raises(SourceChangedError, match="nothing was replaced"):
        case.commit()
    assert written
    assert case.files == {**OLD, "late.csv": b"k\n9\n"}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_object_that_is_written_while_it_is_copied_stays(
    s3_storage: S3Storage, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(s3_storage, tmp_path, FEW_OLD, FEW_NEW)
    original, calls = Place.copy, []

    def write_first(self: Place, path: str, target: str) -> None:
        calls.append(target)
        if len(calls) == number:
            s3_storage.write(case.name, {"part-00000": b"later"})
        original(self, path, target)

    monkeypatch.setattr(Place, "copy", write_first)
    with pytest.raises(SourceChangedError, match="nothing was replaced"):
        case.commit()
    assert (case.files, case.hidden) == ({**FEW_OLD, "part-00000": b"later"}, [])


@pytest.mark.parametrize("target", ["part-00000", "part-9.csv"])
@pytest.mark.parametrize("action", ["commit", "undo"])
def test_an_object_that_is_written_during_the_exchange_stays(
    s3_storage: S3Storage, tmp_path: Path, target: str, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object of both data, and one that only the new data have. The write comes after the exchange has listed the folder."""
    case = Case(s3_storage, tmp_path)
    if action == "undo":
        case.commit()
    original, written = Place.delete, []

    def write_after(self: Place, name: str) -> None:
        original(self, name)
        if name == f"{case.name}/_SUCCESS" and not written:
            written.append(name)
            s3_storage.write(case.name, {target: b"later"})

    monkeypatch.setattr(Place, "delete", write_after)
    with pytest.raises(SourceChangedError):
        getattr(case, action)()
    assert written
    assert case.files[target] == b"later"
    monkeypatch.undo()
    case.expire()
    assert case.files[target] == b"later"


@contextmanager
def _killed_at(number: int, when: str, steps: tuple[type, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    calls: list[str] = []

    def replace(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            if len(calls) == number and when == "before":
                raise KilledError
            result = original(*arguments, **options)
            if len(calls) == number:
                raise KilledError
            return result

        return call

    with monkeypatch.context() as patch:
        for name in steps[1]:
            patch.setattr(steps[0], name, replace(name, getattr(steps[0], name)))
        yield calls


@pytest.mark.parametrize("action", ["commit", pytest.param("undo", marks=pytest.mark.slow)])
@pytest.mark.parametrize("when", ["before", pytest.param("after", marks=pytest.mark.slow)])
def test_a_kill_at_any_step_leaves_data_that_the_next_look_makes_whole(
    storage: Storage, tmp_path: Path, action: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in count(1):
        case = Case(storage, tmp_path, FEW_OLD, FEW_NEW)
        if action == "undo":
            case.commit()
        with _killed_at(number, when, storage.steps, monkeypatch) as calls, suppress(KilledError):
            getattr(case, action)()
        case.expire()
        files = case.files
        assert files in (FEW_OLD, FEW_NEW), (number, calls)
        if action == "commit":
            (one,) = case.commit().folders
            assert (one.state, case.files) == (CommitState.DONE, FEW_NEW)
            case.undo()
        elif files == FEW_NEW:
            case.undo()
        assert (case.files, case.hidden) == (FEW_OLD, []), (number, calls)
        if len(calls) < number:
            return


@contextmanager
def _failing_at(
    number: int, when: str, steps: tuple[type, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, *, goes_on: bool
) -> Iterator[list[str]]:
    """Let one request fail, before or after its effect, as a store that does not answer. `goes_on`: later ones fail, too."""
    calls: list[str] = []
    error = UnavailableError("no answer") if steps[0] is Place else SourceUnavailableError("no answer")

    def replace(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            is_faulty = len(calls) == number or (goes_on and len(calls) > number)
            if is_faulty and when == "before":
                raise error
            result = original(*arguments, **options)
            if is_faulty:
                raise error
            return result

        return call

    with monkeypatch.context() as patch:
        for name in steps[1]:
            patch.setattr(steps[0], name, replace(name, getattr(steps[0], name)))
        yield calls


@pytest.mark.parametrize("action", ["commit", "undo"])
@pytest.mark.parametrize(
    ("when", "goes_on"),
    [("before", False), ("before", True), pytest.param("after", False, marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_store_that_does_not_answer_one_request_loses_nothing(
    storage: Storage, tmp_path: Path, action: str, when: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in count(1):
        case = Case(storage, tmp_path, FEW_OLD, FEW_NEW)
        if action == "undo":
            case.commit()
        has_failed = False
        with _failing_at(number, when, storage.steps, monkeypatch, goes_on=goes_on) as calls:
            try:
                getattr(case, action)()
            except (UnavailableError, SourceUnavailableError):
                has_failed = True
        assert has_failed == (len(calls) >= number), (number, calls)
        if action == "commit" and not goes_on:
            assert case.files in (FEW_OLD, FEW_NEW), (number, calls)
        journal = case.folder / "commit.json"
        if journal.exists() and has_failed:  # the time of the old data is over before the store answers again
            journal.write_text(journal.read_text().replace('"kept_until": "2', '"kept_until": "1'))
        case.expire()
        assert case.files in (FEW_OLD, FEW_NEW), (number, calls)
        if not has_failed:
            return
        if action == "commit":
            (one,) = case.commit().folders
            assert (one.state, case.files) == (CommitState.DONE, FEW_NEW)
            case.undo()
            assert (case.files, case.hidden) == (FEW_OLD, []), (number, calls)


def test_a_folder_whose_root_ends_there_is_refused_by_name(storage: Storage, tmp_path: Path) -> None:
    case = Case(storage, tmp_path)
    lines = [f'url = "{storage.url}/{case.name}"' if line.startswith("url") else line for line in storage.root.splitlines()]
    (tmp_path / "narrow.toml").write_text("\n".join(lines))
    sources = DataRoots.of([], remote=Remote(read_roots(tmp_path / "narrow.toml")))
    with pytest.raises(UnsupportedError, match="a commit writes next to it"):
        check_places(case.replay, sources)
