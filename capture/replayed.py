"""A session in a replay (`headwater replay`): it writes to a shadow folder, leaves records out, and keeps nothing.

A replay must never touch the real data, and we cannot redirect the writes of a program. So only a program that declares that it asks for
its paths (`Session(…, replayable=True)`) runs in a replay, and a commit checks that it asked.
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
    """The paths at which a replay reads and writes files."""

    def __init__(self, order: ReplayOrder) -> None:
        self._paths = ShadowPaths(order.shadow)
        self._asked: set[Path] = set()

    def read(self, path: Path) -> Path:
        """Return the file that the replay wrote, if it exists, else the file itself."""
        return Path(path_of_pattern(self._paths.read(pattern_of_path(str(path)))))

    def write(self, path: Path) -> Path:
        """Return the file in the shadow folder. Its parent folder exists."""
        self._asked.add(path)
        shadow = Path(self._paths.write(str(path)))
        shadow.parent.mkdir(parents=True, exist_ok=True)
        return shadow

    def check(self, path: Path) -> None:
        """Check that a file that an actor wrote is in the shadow.

        Raises:
            UnsupportedError: the program did not ask for the path, so it wrote elsewhere.
        """
        if path not in self._asked:
            raise UnsupportedError(
                f"{path} was written without asking for its path, so a replay cannot lead it to a shadow.",
                hint="Write to `data.write_path`, and read from `data.read_path`.",
            )


class Nowhere:
    """Discards captures and events in a replay, because runs of a replay are not runs of the pipeline."""

    def __init__(self, order: ReplayOrder) -> None:
        self.segments = Path(order.shadow)

    def finish(self) -> Report:
        return Report("nowhere: this was a replay")

    def capture(self, _manifest: Any) -> bool:
        """Never called: a replay makes no captures."""
        return False

    def ignored(self, *_: Any, **__: Any) -> None:
        """Ignore an event of a run."""

    add = describe = event = last_event = run_began = run_ended = wake = ignored
