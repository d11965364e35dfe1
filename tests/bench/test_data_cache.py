import threading

import pytest

from bench.data.cache import kept


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWATER_BENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_it_is_made_once_even_by_two_at_a_time(cache):
    made = []

    def make(folder):
        made.append(folder)
        (folder / "x").write_text("whole")

    threads = [threading.Thread(target=kept, args=("tables", make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert (cache / "tables" / "x").read_text() == "whole"


def test_what_was_not_finished_is_not_there(cache):
    def fails(folder):
        (folder / "x").write_text("half")
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        kept("tables", fails)
    assert [path.name for path in cache.iterdir() if path.is_dir()] == []
    assert kept("tables", lambda folder: (folder / "x").touch()) == cache / "tables"
