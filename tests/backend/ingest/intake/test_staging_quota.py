"""The quota of segments that wait for their manifest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headwater.backend.ingest.intake.staging_quota import StagingQuota
from headwater.errors import UnavailableError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.records.store import INCOMING

_CAPTURE = "0b5ad6a2-3f0f-4e0c-9d6e-2f3b0c9d8e7a"
_NAME = "b0-s1.0-p0-a1.seg"


@pytest.fixture
def records(tmp_path: Path) -> AssociationStore:
    return AssociationStore(tmp_path / "associations", sources=ANYWHERE)


def _upload(quota: StagingQuota, records: AssociationStore, size: int, capture: str = _CAPTURE) -> None:
    quota.look()
    with quota.upload() as upload:
        upload.take(size)
        records.stage_segment("default", capture, _NAME, b"x" * size)
        upload.is_staged = True


def test_what_is_staged_counts_until_it_is_published_or_dropped(records: AssociationStore) -> None:
    now = 0.0
    quota = StagingQuota(records, 1000, clock=lambda: now)
    _upload(quota, records, 700)
    assert records.bytes_staged() == 700
    with pytest.raises(UnavailableError, match="More than 1000 bytes"):
        _upload(quota, records, 400, _CAPTURE.replace("0b", "1b"))
    _upload(quota, records, 300, _CAPTURE.replace("0b", "1b"))
    with pytest.raises(UnavailableError):
        _upload(quota, records, 1, _CAPTURE.replace("0b", "2b"))
    records.clear_stale(2**40)
    now = 2.0
    _upload(quota, records, 1000)


def test_what_another_process_staged_counts_too(records: AssociationStore) -> None:
    records.stage_segment("default", _CAPTURE, _NAME, b"x" * 900)
    with pytest.raises(UnavailableError):
        _upload(StagingQuota(records, 1000), records, 200)


def test_an_upload_that_fails_gives_back_what_it_took(records: AssociationStore) -> None:
    quota = StagingQuota(records, 1000)
    for _ in range(5):
        with quota.upload() as upload:
            upload.take(900)
    _upload(quota, records, 1000)


def test_what_a_killed_process_left_on_its_way_counts_and_is_dropped(records: AssociationStore) -> None:
    left, coming = records.root / f"{INCOMING}left", records.root / f"{INCOMING}coming"
    left.write_bytes(b"x" * 500)
    coming.write_bytes(b"x" * 5)
    os.utime(left, (1_000_000, 1_000_000))
    assert records.bytes_staged() == 505
    records.clear_stale(2_000_000)
    assert (left.exists(), coming.exists()) == (False, True)
