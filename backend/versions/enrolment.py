"""The list of datasets whose blocks may be removed and merged. An operator enrols each dataset on the home itself.

A dataset must be a local folder below the data roots. Tables are refused, because they have their own commands for this. No event can
enrol a dataset.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ValidationError

from headwater.errors import ConfigurationError, NotFoundError, UnsupportedError
from headwater.graph.files.table_folders import table_kind
from headwater.graph.model import parse_id
from headwater.graph.records import DataRoots
from headwater.graph.records.atomic_files import write_durably
from headwater.paths import path_of_dataset

_FILE = "enrolled.json"
_CLEANERS = {
    "Delta": "a Delta table. Use VACUUM on it",
    "Iceberg": "an Iceberg table. Use the procedure expire_snapshots on it",
    "Hudi": "a Hudi table. Use its cleaner on it",
}


class Enrolment(BaseModel):
    """An enrolled dataset: its id, its folder with symbolic links resolved, and the person who enrolled it."""

    dataset: str
    path: str
    by: str
    at: str


class _Enrolments(BaseModel):
    datasets: list[Enrolment] = []


class Enrolments:
    """The enrolled datasets of a home, in a file of `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[Enrolment]:
        """Return all enrolled datasets.

        Raises:
            ConfigurationError: the file is damaged.
        """
        path = self._folder / _FILE
        try:
            return _Enrolments.model_validate_json(path.read_text(encoding="utf-8")).datasets
        except FileNotFoundError:
            return []
        except ValidationError as error:
            raise ConfigurationError(
                f"{path} is damaged, so nothing is dropped.", hint="Remove it, and enrol the datasets again."
            ) from error

    def get(self, dataset: str) -> Enrolment:
        found = next((one for one in self.all() if one.dataset == dataset), None)
        if found is None:
            raise NotFoundError(f"{dataset} is not enrolled.", hint="An operator enrols it: `headwater versions enrol DATASET`.")
        return found

    def add(self, dataset: str, roots: DataRoots, *, by: str) -> Enrolment:
        """Enrol a dataset.

        Raises:
            UnsupportedError: the dataset is a table, or its folder is not a local folder below the data roots.
        """
        made = Enrolment(dataset=dataset, path=check_folder(dataset, roots), by=by, at=datetime.now(UTC).isoformat(timespec="seconds"))
        with self.locked():
            self._save([*(one for one in self.all() if one.dataset != dataset), made])
        return made

    def remove(self, dataset: str) -> None:
        with self.locked():
            self.get(dataset)
            self._save([one for one in self.all() if one.dataset != dataset])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock for changes of this home's datasets. One process holds it at a time."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold the lock as `locked` does. The event loop does not wait for other processes."""
        lock = self.locked()
        await asyncio.to_thread(lock.__enter__)
        try:
            yield
        finally:
            await asyncio.to_thread(lock.__exit__, None, None, None)

    def _save(self, datasets: list[Enrolment]) -> None:
        write_durably(self._folder / _FILE, _Enrolments(datasets=datasets).model_dump_json(indent=1).encode())


def check_folder(dataset: str, roots: DataRoots) -> str:
    """Return the folder of a dataset whose blocks may be removed.

    Raises:
        UnsupportedError: the blocks of this dataset may not be removed.
    """
    _, (namespace, name) = parse_id(dataset)
    if namespace != "file":
        raise UnsupportedError(f"{name} is not on this machine ({namespace}), so its blocks cannot be dropped here.")
    path = path_of_dataset(namespace, name).removeprefix("file:").rstrip("/")
    if not Path(path).is_dir():
        raise UnsupportedError(f"{name} is no folder.", hint="Blocks can be dropped in folders of files only.")
    roots.look().path(path)  # raises if the path is outside of the roots
    if os.path.realpath(path) != path:
        raise UnsupportedError(
            f"A link leads to {path}, so its blocks are not dropped.", hint=f"The data lies in {os.path.realpath(path)}."
        )
    if (kind := table_kind(Path(path))) is not None:
        raise UnsupportedError(f"{name} is {_CLEANERS[kind]}.", hint="Headwater drops blocks of plain folders only.")
    return path
