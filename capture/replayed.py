"""A session in a replay (`headwater replay`): what it writes goes to a shadow, some records are left out, and nothing is kept.

For sessions and their data. A replay must never touch the data that it repeats. Nothing can lead what a program writes by itself, so only a
program that says it asks for its paths (`Session(…, replayable=True)`) runs in one, and a commit sees whether it has asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwater.errors import UnsupportedError
from headwater.paths import path_of_pattern, pattern_of_path
from headwater.spark_listener.delivery.route import Report
from headwater.spark_listener.replay import ReplayOrder
from headwater.spark_listener.shadow_paths import ShadowPaths


class Shadow:
    """Where files are read and written in a replay."""

    def __init__(self, order: ReplayOrder) -> None:
        self._paths = ShadowPaths(order.shadow)
        self._asked: set[Path] = set()

    def read(self, path: Path) -> Path:
        """The file that the replay wrote, where it did; else the file itself."""
        return Path(path_of_pattern(self._paths.read(pattern_of_path(str(path)))))

    def write(self, path: Path) -> Path:
        """The shadow of a file, in a folder that is there."""
        self._asked.add(path)
        shadow = Path(self._paths.write(str(path)))
        shadow.parent.mkdir(parents=True, exist_ok=True)
        return shadow

    def check(self, path: Path) -> None:
        """See that a file which an actor says it wrote is in the shadow.

        Raises:
            UnsupportedError: the program never asked where to write it, so it wrote elsewhere.
        """
        if path not in self._asked:
            raise UnsupportedError(
                f"{path} was written without asking for its path, so a replay cannot lead it to a shadow.",
                hint="Write to `data.write_path`, and read from `data.read_path`.",
            )


class Nowhere:
    """Stands for spool and route in a replay: its runs are no runs of the pipeline, and their lineage is not told."""

    def __init__(self, order: ReplayOrder) -> None:
        self.segments = Path(order.shadow)

    def finish(self) -> Report:
        """Nothing is left to deliver."""
        return Report("nowhere: this was a replay")

    def capture(self, _manifest: Any) -> bool:
        """Never asked: a replay makes no captures."""
        return False

    def ignored(self, *_: Any, **__: Any) -> None:
        """What would be told of a run."""

    add = describe = event = last_event = run_began = run_ended = wake = ignored
