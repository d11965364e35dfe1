"""The folder for the data of the suites: `.tools/bench-data`, or the folder in HEADWATER_BENCH_DATA.

Making TPC-H at scale 1 takes half a minute, so it is made once. It is made in another folder and then moved, so that it is
always complete.
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
    """Return the folder `name` of the cache. A missing folder is filled by `make`, in one process at a time."""
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
