"""A service that is stopped ends in time, whatever its process still has to do by then."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.backend.service import ServiceProcess

_ENDS = 10.0  # seconds
# A line that the process of the service runs first, and the exit code that follows.
_SLOW_ENDS = {
    "objects that go last": ("sys.slow = type('Slow', (), {'__del__': lambda self, sleep=time.sleep: sleep(60)})()", 0),
    "a function registered for the end": ("atexit.register(time.sleep, 60)", 0),
    "an extension that keeps the interpreter": ("atexit.register(ctypes.PyDLL(None).sleep, 60)", -signal.SIGALRM),
}
_FIRST = """
import atexit, ctypes, sys, time

if "serve" in sys.orig_argv:
    {line}
"""


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=pytest.mark.slow if what != "an extension that keeps the interpreter" else ()) for what in _SLOW_ENDS]
)
def test_a_service_ends_in_time_whatever_its_process_still_has_to_do(tmp_path: Path, what: str) -> None:
    line, code = _SLOW_ENDS[what]
    (tmp_path / "sitecustomize.py").write_text(_FIRST.format(line=line))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    with ServiceProcess(tmp_path / "home", PYTHONPATH=path) as service:
        began = time.monotonic()
        service.process.terminate()
        assert service.process.wait(60) == code, service.log.read_text()
        assert time.monotonic() - began <= _ENDS
        assert service.home.service() is None
