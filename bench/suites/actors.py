"""The cost of lineage that a program records itself (`headwater.capture`), and the rate at which a service accepts associations.

*capturing* counts words of a text whose words have Zipf's distribution, a million of them, and records the lines of each count: a capture
for each, including the commit and the spool. The same loop without capture runs right before it. A figure is the difference for each
call. *adding* is the same with an `add_input` for each word and an `add_output` for each 16. *commit* is the share of a call in the
commit. *intake* sends the spool of such commits, 4 million associations, over HTTP to a service of its own without other requests, and
waits until they are sorted and catalogued for traces. The figures are the service's processor time for each association, until they are
acknowledged as durable, and until they are kept. `--scale 0.1`: a tenth of both.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite

_WORDS, _SENT, _TERMS, _GROUP = 1_000_000, 4_000_000, 8_000, 16
_CALL_NS, _INTAKE_NS = 1_000.0, 1_000.0  # nanoseconds for a call, and for an association on one core
_KEPT_SECONDS = 600


class ActorsSuite:
    """The suite of the actors. The control is a second arm with the same work."""

    def __init__(self, scale: float) -> None:
        self._scale = scale
        self.plan = Plan(
            name="actors" if scale == 1 else f"actors-{scale:g}",
            arms=("actors", "control"),
            baseline="actors",
            control="control",
            cases=("capturing", "adding", "intake"),
            measures=[
                _measure("capture, a call", "capturing", "nanoseconds", "calls", _CALL_NS),
                _measure("of it the commit", "capturing", "commit_nanoseconds", "calls"),
                _measure("add_input, add_output, a call", "adding", "nanoseconds", "calls", _CALL_NS),
                _measure("intake until acknowledged, processor", "intake", "acknowledged_nanoseconds", "associations", _INTAKE_NS),
                _measure("intake until kept, processor", "intake", "kept_nanoseconds", "associations", _INTAKE_NS),
            ],
            rounds=16,
            warm_up=2,
        )

    def prepare(self, folder: Path) -> None:
        """Do nothing, because arms share no input."""

    def arm(self, name: str, folder: Path) -> Arm:
        return _ActorsArm(folder / name, self._scale)


class _ActorsArm:
    def __init__(self, folder: Path, scale: float) -> None:
        from bench.service import Service
        from headwater.backend.home.folder import Home

        folder.mkdir()
        self._folder = folder
        self._sent = int(_SENT * scale)
        drawn = random.Random(1)
        ranks = drawn.choices(range(_TERMS), weights=[1 / (rank + 1) for rank in range(_TERMS)], k=int(_WORDS * scale))
        self._words = [f"w{rank}" for rank in ranks]
        home = Home.at(folder / "service").create()
        self._service = Service(home.path)
        record = home.service()
        if record is None:
            raise RuntimeError("the service went away")
        self._url, self._key = record.url, home.key()

    def run(self, case: str, turn: int) -> Sample:
        if case == "intake":
            return self._intake(turn)
        return self._calls(case)

    def close(self) -> None:
        self._service.stop()

    def _calls(self, case: str) -> Sample:
        from headwater.capture import Session

        words, adding = self._words, case == "adding"
        plain = _processor(lambda: _add(words) if adding else _count(words))
        committing = 0
        with Session("bench", home=mkdtemp(dir=self._folder), exit_wait=0) as session:
            source, target = session.stream("text"), session.stream("counts")
            actor = session.register("count", "counter")

            def recorded() -> None:
                nonlocal committing
                if adding:
                    add_input, add_output, reset = actor.add_input, actor.add_output, actor.reset
                    for number, word in enumerate(words):
                        add_input(source[number], word)
                        if not number % _GROUP:
                            add_output(target[number], word)
                            reset(word)
                else:
                    _capture(words, actor.capture, source, target)
                committing = _processor(actor.commit)

            captured = _processor(recorded)
        calls = len(words) + (len(words) // _GROUP * 2 if adding else 0)
        found = {"nanoseconds": float(captured - plain), "commit_nanoseconds": float(committing), "calls": float(calls)}
        return {SECONDS: captured / 1e9, **found}

    def _intake(self, turn: int) -> Sample:
        """Send associations to the service. Each turn uses new streams."""
        from headwater.capture import Session

        with Session(f"bench{turn}", home=mkdtemp(dir=self._folder), exit_wait=0) as session:
            source, target = session.stream(f"text{turn}"), session.stream(f"counts{turn}")
            actor = session.register("count", "counter")
            for first in range(0, self._sent, len(self._words)):
                _capture(self._words[: self._sent - first], actor.capture, source, target)
            actor.commit()
        began, cpu = time.perf_counter(), self._service.cpu_seconds()
        _deliver(session.settings.home, self._url, self._key)
        acknowledged = self._service.cpu_seconds() - cpu
        self._settle()
        kept = self._service.cpu_seconds() - cpu
        return {
            SECONDS: time.perf_counter() - began, "acknowledged_nanoseconds": acknowledged * 1e9, "kept_nanoseconds": kept * 1e9,
            "associations": float(self._sent),
        }  # fmt: skip

    def _settle(self) -> None:
        import requests

        until = time.monotonic() + _KEPT_SECONDS
        while requests.get(f"{self._url}/readyz", timeout=60).json()["pending"]:
            if time.monotonic() > until:
                raise RuntimeError("what was sent is not kept yet")
            time.sleep(0.02)


def _deliver(home: Path, url: str, key: str) -> None:
    from headwater.spark_listener.delivery.sender import Sender

    sender = Sender(url, key, home / "spool")
    if not sender.finish(_KEPT_SECONDS) or sender.refused:
        raise RuntimeError(f"not all of it arrived: {sender.problem} {sender.refused}")


def _count(words: list[str]) -> None:
    totals: dict[str, int] = {}
    for _number, word in enumerate(words):
        totals[word] = totals.get(word, 0) + 1


def _capture(words: list[str], capture: Callable[[int, int], bool], source: object, target: object) -> None:
    totals: dict[str, int] = {}
    places: dict[str, int] = {}
    for number, word in enumerate(words):
        totals[word] = totals.get(word, 0) + 1
        capture(source[number], target[places.setdefault(word, len(places))])  # type: ignore[index]


def _add(words: list[str]) -> None:
    for number, _word in enumerate(words):
        if not number % _GROUP:
            pass


def _processor(work: Callable[[], object]) -> int:
    began = time.process_time_ns()
    work()
    return time.process_time_ns() - began


def _measure(name: str, case: str, quantity: str, per: str, target: float | None = None) -> Measure:
    return Measure(
        name=name, cases=(case,), arm="actors", statistic=Statistic.SHARE, quantity=quantity, per=per, unit="ns", target=target
    )  # fmt: skip


def suite(scale: float | None = None) -> Suite:
    return ActorsSuite(scale or 1)
