"""A program that is being recaptured delivers nothing, whatever it, its environment or a running service say."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.spark_listener.delivery.route import Route, live_service
from headwater.spark_listener.settings import Mode, Settings, load_settings
from headwater.spark_listener.spark_conf import SparkConf
from headwater.spark_listener.spool import SpoolFolder


@pytest.fixture
def apart(tmp_path: Path) -> Settings:
    """Settings of a home on which a service seems to run."""
    (tmp_path / "service.json").write_text(json.dumps({"pid": os.getpid(), "url": "http://127.0.0.1:9"}))
    (tmp_path / "key").write_text("k")
    return replace(load_settings({"HEADWATER_URL": "http://127.0.0.1:9"}, home=tmp_path), apart=True)


def test_nothing_is_sent_and_the_spool_keeps_everything(apart: Settings) -> None:
    assert live_service(apart.home) is not None
    route = Route.choose(apart)
    assert not route.sends
    folder = SpoolFolder.create(apart.home / "spool", "app", limit=10 << 20)
    for number in range(200):
        assert folder.event({"number": number, "text": "x" * 10_000})
    folder.describe(ended=True)
    route.add(folder)
    route.wake()
    report = route.finish()
    assert (report.left, report.refused) == (None, ())
    again = SpoolFolder.take(folder.path)
    assert again is not None
    assert [item.body["number"] for item in again.pending()] == list(range(200))
    assert not (apart.home / "ingest.db").exists()
    again.close(remove_if_done=False)


def test_sparks_configuration_changes_nothing(apart: Settings) -> None:
    ours = {"url": "http://example.org", "mode": "off", "home": "/elsewhere", "segments": "s3a://b/k", "rddRecords": "false"}
    conf = SparkConf(ours, {"namespace": "theirs"})
    assert conf.over(apart) == apart
    assert conf.over(replace(apart, apart=False)).mode is Mode.OFF
