"""Size and growth of a service after very many events: `make torture ARGS="--modes endurance"`.

HEADWATER_ROUNDS quarters of a million events, and as many times five minutes. Four of them are the full size, whose figures are written to
`bench/results` (smaller ones to `build/bench`).
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from threading import Thread

import pytest

from bench import results
from bench.data import run_events
from bench.load import send
from bench.service import Service
from headwater.graph.model import node_id

pytestmark = [pytest.mark.torture, pytest.mark.timeout(0)]

_ROUNDS = float(os.environ.get("HEADWATER_ROUNDS", "0.02"))
_EVENTS, _SECONDS = int(_ROUNDS * 250_000), _ROUNDS * 300
_MOST_MEGABYTES = 315.0  # 300 MiB
_BATCH, _LOOKS = 100, 12
_RUNS = 2_000  # of the soak: its graph is soon as large as it gets
_VIEW = """query ($view: ViewInput!) { view(view: $view, first: 100) { nodes { node { id } } totals { nodes } } }"""


@dataclass(frozen=True)
class _Look:
    """The sizes of a service and its worker at one moment. `megabytes`: memory of their own; `files` are those of the home."""

    megabytes: float
    handles: int
    threads: int
    files: int


def _look(service: Service, home: Path) -> _Look:
    threads = sum(sum(1 for _ in Path(f"/proc/{process}/task").iterdir()) for process in (service.pid, *service.workers()))
    return _Look(round(service.memory_megabytes(), 1), service.handles(), threads, sum(1 for path in home.rglob("*") if path.is_file()))


def _settle(service: Service) -> int:
    """Wait until all is projected; how many runs there are."""
    while (state := service.client.execute("{ service { runs pending } }")["service"])["pending"]:
        time.sleep(0.1)
    return int(state["runs"])


def _send(service: Service, events: Iterator[bytes], *, batch: int = _BATCH, connections: int = 4) -> float:
    """Send events in batches; how many a second were taken."""
    bodies = []
    while some := list(itertools.islice(events, batch)):
        bodies.append(some[0] if batch == 1 else b"[" + b",".join(some) + b"]")
    load = send(service.url, "/api/v1/lineage", {"X-Api-Key": service.key}, bodies, connections=connections)
    return batch * len(bodies) / load.seconds


def _write(name: str, figures: dict[str, object]) -> None:
    text = results.head(name) | {"events": _EVENTS, "seconds": _SECONDS, "load": round(os.getloadavg()[0], 1)} | figures
    results.write(text, results.RESULTS if _ROUNDS >= 4 else results.ROOT / "build" / "bench")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Service]]:
    """Starts a service on the home of a test; what runs in the end is ended."""
    with ExitStack() as stack:

        def started() -> Service:
            service = Service(tmp_path / "home", log=tmp_path / "log")
            stack.callback(service.stop)
            return service

        yield started


def test_a_service_with_a_million_events_is_back_soon_and_takes_no_more_memory(tmp_path: Path, start: Callable[[], Service]) -> None:
    home, service = tmp_path / "home", start()
    looks, rates = [], []
    part = _EVENTS // 10
    for first in range(0, _EVENTS, part):
        rates.append(round(_send(service, run_events.events(first, part))))
        assert _settle(service) == (first + part) // 2
        looks.append(_look(service, home))
    sender = Thread(target=_send_until_it_ends, args=(service, _EVENTS))
    sender.start()
    time.sleep(1.0)
    service.kill()
    sender.join()
    began = time.perf_counter()
    service = start()
    service.client.execute("{ service { runs pending } }")
    seconds = time.perf_counter() - began
    runs = _settle(service)
    last = _look(service, home)
    assert runs >= _EVENTS // 2
    _write(
        "million",
        {
            "start_seconds": round(seconds, 2), "events_a_second": rates, "megabytes": [look.megabytes for look in looks],
            "megabytes_after_the_start": last.megabytes, "handles": [look.handles for look in looks],
        },
    )  # fmt: skip
    assert max(look.megabytes for look in (*looks, last)) <= _MOST_MEGABYTES
    assert max(look.handles for look in looks[1:]) <= looks[0].handles + 8


def _send_until_it_ends(service: Service, first: int) -> None:
    try:
        _send(service, run_events.events(first, 20_000), batch=1, connections=50)
    except (OSError, RuntimeError):
        return


def test_a_service_that_runs_for_long_grows_in_nothing(tmp_path: Path, start: Callable[[], Service]) -> None:
    home, service = tmp_path / "home", start()
    numbers = itertools.count()
    _send(service, run_events.events(0, 2 * _RUNS))
    _settle(service)
    looks, asked, began = [], 0, time.monotonic()
    for look in range(1, _LOOKS + 1):
        while time.monotonic() - began < _SECONDS * look / _LOOKS:
            _send(service, (_again(next(numbers)) for _ in range(50)), batch=1, connections=50)
            dataset = node_id("dataset", "s3://lake", f"tables/t{(next(numbers) % 200 * 7 + 11) % 1_000}")  # which a job writes
            service.client.execute(_VIEW, view={"focus": [dataset], "depth": 2})
            service.client.execute('{ search(text: "pipeline", first: 20) { nodes { id } } }')
            asked += 2
            time.sleep(0.2)
        assert _settle(service) == _RUNS
        looks.append(_look(service, home))
    half = looks[_LOOKS // 3 :]
    earlier, later = half[: len(half) // 2], half[len(half) // 2 :]
    grown = {
        name: round(median(asdict(look)[name] for look in later) - median(asdict(look)[name] for look in earlier), 1)
        for name in asdict(looks[0])
    }
    _write("soak", {"sent": next(numbers), "asked": asked, "grown": grown, "looks": [list(asdict(look).values()) for look in looks]})
    assert grown["megabytes"] <= 8
    assert grown["handles"] <= 0
    assert grown["threads"] <= 8  # pools of threads fill up to their bound
    assert grown["files"] <= 0


def _again(number: int) -> bytes:
    """An event that was never sent, of a run that is known."""
    event = json.loads(next(run_events.events(number % (2 * _RUNS), 1)))
    event["eventTime"] = (datetime(2030, 1, 1, tzinfo=UTC) + timedelta(milliseconds=number)).isoformat()
    return json.dumps(event, separators=(",", ":")).encode()
