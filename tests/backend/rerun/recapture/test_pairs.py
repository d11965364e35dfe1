"""Files of a second run and the real ones: paired without their UUIDs, compared, and refused if anything is odd."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import pytest

from headwater.backend.rerun.recapture import file_pairs
from headwater.backend.rerun.recapture.file_pairs import DiffersError, paired
from headwater.errors import UnsupportedError
from headwater.graph.records import DataRoots


class Trees:
    """A real folder `data`, and the shadow in which its files are written again."""

    def __init__(self, folder: Path) -> None:
        self.real, self.shadow = folder / "data", folder / "replays" / "1" / "data"
        self.again = self.shadow / str(self.real)[1:]
        self.sources = DataRoots.of([self.real], never=[folder / "replays"])

    def write(self, root: Path, dataset: str, files: dict[str, bytes]) -> None:
        for name, content in files.items():
            path = root / dataset / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (root / dataset / "_SUCCESS").touch()

    def both(self, dataset: str, files: dict[str, bytes]) -> None:
        for root in (self.real, self.again):
            named = {name.replace("UUID", str(uuid4())): content for name, content in files.items()}
            self.write(root, dataset, named)

    def paired(self) -> dict[str, bytes]:
        return {pair.named: pair.shadow.read_bytes() for pair in paired(self.shadow, self.sources)}


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path)


def test_files_are_paired_by_folder_and_name_without_their_uuid(trees: Trees) -> None:
    trees.both("out", {"k=1/part-00000-UUID.c000.parquet": b"one", "k=2/part-00000-UUID.c000.parquet": b"two", "_k=0/part-00000": b"zero"})
    trees.both("counts", {"part-00000": b"a", "part-00001": b"", ".part-00000.crc": b"not compared"})
    (trees.again / "counts" / ".part-00000.crc").write_bytes(b"otherwise")
    found = trees.paired()
    assert sorted(found.values()) == [b"", b"a", b"one", b"two", b"zero"]
    assert all(name.startswith(f"{trees.real}/") and Path(name).read_bytes() == content for name, content in found.items())


def test_a_file_of_other_bytes_of_the_same_length_is_named(trees: Trees) -> None:
    trees.both("out", {"part-00000": b"same", "part-00001": b"one"})
    (trees.again / "out" / "part-00001").write_bytes(b"two")
    with pytest.raises(DiffersError, match=r"/data/out/part-00001 holds other bytes .* not deterministic"):
        trees.paired()


def test_a_file_that_is_missing_or_one_too_many_is_named(trees: Trees) -> None:
    trees.both("out", {"part-00000": b"same"})
    (trees.real / "out" / "part-00001").write_bytes(b"")
    with pytest.raises(DiffersError, match="out/part-00001 was not written again"):
        trees.paired()
    (trees.real / "out" / "part-00001").rename(trees.again / "out" / "part-00001")
    with pytest.raises(DiffersError, match="out/part-00001 was written by the second run and is not there"):
        trees.paired()


def test_a_partition_that_somebody_added_is_a_difference(trees: Trees) -> None:
    trees.both("out", {"k=1/part-00000": b"one"})
    (trees.real / "out" / "k=2").mkdir()
    (trees.real / "out" / "k=2" / "part-00000").write_bytes(b"two")
    with pytest.raises(DiffersError, match="k=2/part-00000 was not written again"):
        trees.paired()


def test_files_that_differ_in_a_uuid_alone_are_not_guessed_at(trees: Trees) -> None:
    trees.both("out", {"part-00000-UUID-c000.csv": b"one"})
    (trees.real / "out" / f"part-00000-{uuid4()}-c000.csv").write_bytes(b"one")
    with pytest.raises(UnsupportedError, match="differ in a UUID alone"):
        trees.paired()


@pytest.mark.parametrize("where", ["real", "again"])
@pytest.mark.parametrize("what", ["file", "folder", "pipe"])
def test_links_and_pipes_are_refused_on_either_side(trees: Trees, tmp_path: Path, where: str, what: str) -> None:
    trees.both("out", {"part-00000": b"same"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "part-00000").write_bytes(b"same")
    folder: Path = getattr(trees, where) / "out"
    if what == "file":
        (folder / "part-00000").unlink()
        (folder / "part-00000").symlink_to(elsewhere / "part-00000")
    elif what == "folder":
        (folder / "k=1").symlink_to(elsewhere)
    else:
        os.mkfifo(folder / "part-00001")
    with pytest.raises(UnsupportedError, match="is a link, or no file"):
        trees.paired()


def test_real_data_outside_of_the_data_roots_is_not_read(trees: Trees, tmp_path: Path) -> None:
    other = tmp_path / "other"
    trees.write(other, "out", {"part-00000": b"secret"})
    trees.write(trees.shadow / str(other)[1:], "out", {"part-00000": b"secret"})
    with pytest.raises(UnsupportedError, match="data roots"):
        trees.paired()


def test_a_dataset_that_is_a_link_out_of_the_data_roots_is_not_read(trees: Trees, tmp_path: Path) -> None:
    trees.both("out", {"part-00000": b"same"})
    moved = tmp_path / "moved"
    (trees.real / "out").rename(moved)
    (trees.real / "out").symlink_to(moved)
    with pytest.raises(UnsupportedError, match="leads out of the data roots"):
        trees.paired()


def test_what_was_written_without_a_mark_or_to_remote_storage_is_refused(trees: Trees) -> None:
    trees.both("out", {"part-00000": b"same"})
    (trees.again / "out" / "_SUCCESS").unlink()
    with pytest.raises(UnsupportedError, match="/data/out/part-00000 was written without _SUCCESS"):
        trees.paired()
    trees.write(trees.shadow / "s3@bucket", "out", {"part-00000": b"same"})
    with pytest.raises(UnsupportedError, match="s3://bucket"):
        trees.paired()


def test_a_dataset_that_is_gone_differs(trees: Trees) -> None:
    trees.write(trees.again, "out", {"part-00000": b"same"})
    with pytest.raises(DiffersError, match="/data/out is no folder any more"):
        trees.paired()


def test_a_file_that_changes_after_it_was_compared_is_noticed(trees: Trees) -> None:
    trees.both("out", {"part-00000": b"same"})
    (pair,) = paired(trees.shadow, trees.sources)
    pair.check()
    (trees.real / "out" / "part-00000").write_bytes(b"more")
    with pytest.raises(DiffersError, match="has changed while it was compared"):
        pair.check()
    (trees.real / "out" / "part-00000").unlink()
    with pytest.raises(DiffersError, match="is gone"):
        pair.check()


def test_a_file_that_is_replaced_while_it_is_read_is_noticed(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    trees.both("out", {"part-00000": b"same"})
    read, times = file_pairs.digest_of, iter(range(1, 9))

    def replaced(file, length):
        digest = read(file, length)
        os.utime(trees.real / "out" / "part-00000", (1, next(times)))
        return digest

    monkeypatch.setattr(file_pairs, "digest_of", replaced)
    with pytest.raises(DiffersError, match="has changed while it was compared"):
        trees.paired()
