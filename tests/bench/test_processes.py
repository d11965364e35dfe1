"""Processor time of a process with those that it started."""

import os
import subprocess
import sys

import pytest

from bench.processes import ProcessTree, added_seconds, thread_seconds

BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])\nprint('done', flush=True)\nsys.stdin.read()"


def test_a_process_counts_with_what_it_started_and_what_that_started():
    child = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        own = ProcessTree()
        before = own.cpu_seconds()
        assert child.stdout.readline() == b"done\n"
        assert 0.25 < ProcessTree(child.pid).cpu_seconds() < 3
        assert own.cpu_seconds() - before > 0.0
    finally:
        child.communicate()
    assert own.cpu_seconds() - before > 0.25  # it has ended, and was waited for


def test_a_process_that_is_not_there_has_used_nothing():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert ProcessTree(child.pid).cpu_seconds() == 0.0


def test_a_process_without_a_compiler_is_no_jvm():
    with pytest.raises(RuntimeError, match="no thread that compiles"):
        thread_seconds(os.getpid())


def test_a_thread_counts_from_the_first_look_or_from_its_start_and_not_after_its_end():
    before = {"1": ("tasks", 5.0), "2": ("tasks", 9.0), "3": ("scheduler", 1.0)}
    after = {"1": ("tasks", 5.5), "3": ("tasks", 0.25), "4": ("compilation", 0.125)}
    added = added_seconds(before, after)
    assert (added["tasks"], added["compilation"], added["scheduler"]) == (0.75, 0.125, 0.0)
