"""Killed again and again while it takes events, the service loses nothing that it acknowledged, and keeps nothing twice.

HEADWATER_ROUNDS says how often; `make torture ARGS="--modes killed"` does so for long.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from threading import Event

import pytest

from tests.backend.producers import Producers, check_kept
from tests.backend.service import ServiceProcess

_KILLS = int(os.environ.get("HEADWATER_ROUNDS", "10"))


@pytest.mark.slow
@pytest.mark.timeout(600 + 60 * _KILLS)
def test_nothing_acknowledged_is_lost_and_nothing_is_double(tmp_path: Path) -> None:
    chance = random.Random(20130212)
    service = ServiceProcess(tmp_path)
    with service, Producers(service) as producers:
        for _ in range(_KILLS):
            before = len(producers.acknowledged)
            while len(producers.acknowledged) < before + 25:
                service.process.poll()
                assert service.process.returncode is None, service.log.read_text()
                Event().wait(chance.uniform(0, 0.05))
            service.kill()
            service.start()
    service.process.wait(60)
    assert producers.sent_again >= _KILLS  # it was killed with requests on their way, every time
    check_kept(tmp_path, producers)
