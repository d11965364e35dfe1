"""A session in a process that was forked while another thread of its parent was within a call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.captured import places, traced


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


_FORKED = """
import os, sys, threading, time
from headwater.capture import Session
from headwater.errors import ConfigurationError
session = Session("etl", home=sys.argv[1], exit_wait=0)
actor, keys, target = session.register("map", "mapper"), session.table("t"), session.stream("out")
assert "pyarrow" in sys.modules
held, done = threading.Event(), threading.Event()

def hold():
    with session._lock, session._known._lock:  # as a thread does that is within a call at the fork
        held.set()
        done.wait()

threading.Thread(target=hold).start()
held.wait()

def refused(call):
    try:
        call()
    except ConfigurationError:
        return True

calls = [
    lambda: session.rows("x.txt"), lambda: session.bytes("x"), lambda: session.stream("s"), lambda: session.table("u"),
    lambda: session.register("other", "mapper"), lambda: session.declare("kind"), actor.restart, lambda: actor.flow_link(actor),
]
child = os.fork()
if not child:
    wrong = [number for number, call in enumerate(calls) if not refused(call)]
    for place in range(70_000):
        actor.capture(keys["a key that is new"], target[place])
    actor.fail(keys["another"])
    wrong += [actor.commit()] if actor.commit() else []
    session.close()
    print(wrong, flush=True)
    os._exit(0)
until = time.monotonic() + 60
while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
    time.sleep(0.05)
if not ended[0]:
    print("hung", flush=True)
    os.kill(child, 9)
done.set()
actor.capture(keys["k"], target[1])
assert actor.commit() == 1
session.close()
"""


def test_a_child_that_was_forked_while_a_thread_held_a_lock_does_not_hang(home: Path):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORKED, str(home)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert places(traced(home, "out", [("stream:out", 1)])) == {("k", 0)}
