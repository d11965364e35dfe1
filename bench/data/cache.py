"""The folder that keeps what the suites run over: `.tools/bench-data`, or what HEADWATER_BENCH_DATA names.

Making TPC-H at scale 1 takes half a minute, so it is made once. What is there is whole: it is made beside and moved into place.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

from bench.results import ROOT


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, which `make` fills if it is not there. Of two processes that ask at once, one makes it."""
    root = Path(os.environ.get("HEADWATER_BENCH_DATA") or ROOT / ".tools" / "bench-data").absolute()
    folder = root / name
    root.mkdir(parents=True, exist_ok=True)
    with (root / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            draft = Path(mkdtemp(prefix=f".{name}.", dir=root))
            try:
                print(f"  making {folder}", flush=True)
                make(draft)
                draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return folder
