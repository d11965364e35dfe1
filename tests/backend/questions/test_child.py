"""The process that answers: which question an interrupt is for."""

from __future__ import annotations

import io
from pathlib import Path
from threading import Thread

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.questions.child import Answerer


class _Interrupts:
    """Counts interrupts in the place of a tracer, and ends the question at the third."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        self.count = 0

    def interrupt(self) -> None:
        self.count += 1
        if self.count == 3:
            self._answerer._at = 0  # under the lock, as `_interrupt` holds it


@pytest.fixture
def answerer(tmp_path: Path) -> Answerer:
    settings = load_settings(home=tmp_path)
    settings.folder.create()
    return Answerer(settings, io.BytesIO(), io.BytesIO())


def test_a_question_is_interrupted_until_it_ends_and_the_next_is_not(answerer: Answerer, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts = _Interrupts(answerer)
    monkeypatch.setattr(answerer, "_tracer", interrupts)
    answerer._begin(1)
    thread = Thread(target=answerer._interrupt, args=[1])
    thread.start()
    thread.join(30)
    assert interrupts.count == 3
    answerer._begin(2)
    answerer._interrupt(1)  # comes late: question 1 has been answered
    assert interrupts.count == 3
