"""The places of data that compactions and committed replays replaced. Traces read values there until the old data is deleted.

The owner of a home writes this list. No event, manifest or question changes it. Files keep their names, lengths and times, so the usual
comparison with what a run read still holds.
"""

from __future__ import annotations

import json
from pathlib import Path

from headwater.errors import ConfigurationError
from headwater.graph.records.atomic_files import write_durably

FILE = "replaced.json"


class ReplacedData:
    """The folders of old data, in a file of `folder`. Each entry is a dataset's folder and the folder that now has its old files.

    `others` are folders with more lists, which this object only reads.
    """

    def __init__(self, folder: Path, *others: Path) -> None:
        self._path = folder / FILE
        self._others = tuple(map(ReplacedData, others))
        self._state: tuple[int, int] | None = None
        self._places: list[tuple[str, str]] = []

    def find(self, path: str) -> str | None:
        """Return the present path of a replaced file, or None. Symbolic links below the old data are not followed."""
        for folder, old in reversed(self.places()):
            if path.startswith(f"{folder}/"):
                place = Path(old, path[len(folder) + 1 :])
                if place.is_file() and place.resolve() == place:
                    return str(place)
        return next((found for other in self._others if (found := other.find(path)) is not None), None)

    def places(self) -> list[tuple[str, str]]:
        """Return all entries, the oldest first.

        Raises:
            ConfigurationError: the file is damaged.
        """
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return []
        if (state := (status.st_mtime_ns, status.st_ino)) != self._state:
            try:
                self._places = [(str(folder), str(old)) for folder, old in json.loads(self._path.read_text(encoding="utf-8"))]
            except (ValueError, TypeError) as error:
                raise ConfigurationError(f"{self._path} is damaged.", hint="Remove it: traces then do without replaced data.") from error
            self._state = state
        return self._places

    def add(self, folder: str, old: str) -> None:
        """Add an entry. The caller holds the lock of the home's datasets."""
        self._save([*(entry for entry in self.places() if entry[1] != old), (folder, old)])

    def remove(self, old: str) -> None:
        """Remove an entry. The caller holds the lock of the home's datasets."""
        if any(entry[1] == old for entry in self.places()):
            self._save([entry for entry in self.places() if entry[1] != old])

    def _save(self, places: list[tuple[str, str]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_durably(self._path, json.dumps(places, indent=1).encode())
