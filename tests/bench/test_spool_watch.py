"""The watch reads the spool as the listener writes it."""

from datetime import UTC, datetime, timedelta

import pytest

from bench.spark.spool import SpoolWatch
from headwater.spark_listener.spool import SpoolFolder


@pytest.fixture
def spool(tmp_path):
    folder = SpoolFolder.create(tmp_path / "spool", "local-1", limit=1 << 20)
    yield folder
    folder.close()


def _end(spool, kind="COMPLETE"):
    spool.event({"eventType": kind})


def test_manifests_come_with_the_end_of_their_run(spool, tmp_path):
    watch = SpoolWatch(tmp_path)
    spool.event({"eventType": "START"})
    spool.capture({"capture": "a", "segments": []})
    _end(spool)
    spool.capture({"capture": "b", "segments": []})
    _end(spool, "FAIL")
    _end(spool)
    assert [[manifest["capture"] for manifest in watch.until_run_ends(1)] for _ in range(3)] == [["a"], ["b"], []]
    assert watch.segments("a") == spool.segments / "a"


def test_the_delay_of_an_end_is_from_its_time_to_the_write(spool, tmp_path):
    ended = datetime.now(UTC) - timedelta(seconds=3)
    spool.event({"eventType": "COMPLETE", "eventTime": ended.isoformat()})
    watch = SpoolWatch(tmp_path)
    watch.until_run_ends(1)
    assert 2_900 < watch.milliseconds_to_disk() < 20_000


def test_without_an_end_it_says_that_nothing_is_captured(spool, tmp_path):
    spool.event({"eventType": "START"})
    with pytest.raises(TimeoutError, match="is capture on"):
        SpoolWatch(tmp_path).until_run_ends(0.05)
