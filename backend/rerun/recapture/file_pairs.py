"""Pairs each file of the second run with the real file of the same bytes. If a pair is missing, nothing is stored.

Spark puts a UUID into file names, so two runs never use the same names. A file is matched by its folder below the dataset and by the rest
of its name. Both trees may contain only files and folders, because a link could lead to other data. Real data is read below the data roots
only. Each file is checked again after it was read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.backend.rerun.recapture.contents import digest_of
from headwater.errors import HeadwaterError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.storage import open_resolved

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DONE = "_SUCCESS"  # Spark's committers write this file into a finished folder
_WHY = "The program is not deterministic, or its inputs or its output have changed since that run. Nothing was kept or changed."


class DiffersError(HeadwaterError):
    """The two runs wrote different files. The message names one."""

    def __init__(self, file: str | Path, what: str) -> None:
        super().__init__(f"{file} {what}.", hint=_WHY)


@dataclass(frozen=True, slots=True)
class State:
    """Length, modification time (ns) and inode of a file, to detect changes of the file."""

    length: int
    modified_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> State:
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)

    @property
    def modified(self) -> int:
        """Return the modification time in milliseconds since the epoch, as in manifests."""
        return self.modified_ns // 1_000_000


@dataclass(frozen=True, slots=True)
class Pair:
    """A file of the second run and the equal real file. `named` is the real path in programs, `real` the path with links resolved."""

    shadow: Path
    named: str
    real: Path
    before: State
    now: State

    def check(self) -> None:
        """Check that the real file is unchanged since the comparison.

        Raises:
            DiffersError: the file changed or is gone.
        """
        try:
            state = State.of(self.real.stat(follow_symlinks=False))
        except OSError:
            raise DiffersError(self.named, "is gone since it was compared") from None
        if state != self.now:
            raise DiffersError(self.named, "has changed while it was compared")


def paired(shadow: Path, sources: DataRoots) -> list[Pair]:
    """Pair each data file of the second run with the real file of the same bytes.

    Raises:
        DiffersError: a file has other bytes, or has no counterpart.
        UnsupportedError: the output cannot be compared.
    """
    return [pair for folder in written(shadow) for pair in _of_dataset(shadow, folder, sources)]


def written(shadow: Path) -> list[Path]:
    """Return the datasets that the second run wrote: the outermost folders with the file `_SUCCESS`.

    Raises:
        UnsupportedError: other files or links are there.
    """
    found: list[Path] = []
    if not shadow.is_dir():
        return found
    for folder, folders, files in os.walk(shadow):
        here = Path(folder)
        _refuse_odd(here, [*folders, *files])
        if here == shadow and (remote := next((name for name in folders if "@" in name), None)):
            raise UnsupportedError(
                f"The program writes to remote storage ({remote.replace('@', '://', 1)}), where files cannot be compared byte by byte yet.",
                hint="Run it again with `headwater run --mode active`.",
            )
        if _DONE in files:
            found.append(here)
            folders.clear()
        elif data := [name for name in files if not _hidden(name)]:
            raise UnsupportedError(f"{_real(shadow, here / data[0])} was written without {_DONE}, so what belongs to it is not known.")
    return sorted(found)


def _of_dataset(shadow: Path, folder: Path, sources: DataRoots) -> Iterator[Pair]:
    look = sources.look()
    real = _real(shadow, folder)
    root = look.path(real)
    if not root.is_dir():
        raise DiffersError(real, "is no folder any more")
    named = look.spelt(real)
    again, before = _by_name(folder), _by_name(Path(named))
    _same_names(named, before, again)
    for name in sorted(again):
        there = Path(named) / before[name]
        yield _compared(folder / again[name], str(there), look.path(str(there)))


def _by_name(folder: Path) -> Mapping[str, str]:
    """Map the relative paths of data files with UUIDs removed to the unchanged relative paths."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _hidden(name)]
        data = [name for name in files if not _hidden(name)]
        _refuse_odd(Path(place), [*folders, *data])
        for name in data:
            path = str((Path(place) / name).relative_to(folder))
            key = str((Path(place) / _UUID.sub("*", name)).relative_to(folder))
            if key in found:
                raise UnsupportedError(
                    f"{folder} holds {found[key]} and {path}, which differ in a UUID alone: which of them the program wrote is not known.",
                    hint="Several runs wrote there. Only what one run wrote alone can be compared.",
                )
            found[key] = path
    return found


def _same_names(real: str, before: Mapping[str, str], again: Mapping[str, str]) -> None:
    if missing := sorted(set(before) - set(again)):
        raise DiffersError(f"{real}/{before[missing[0]]}", "was not written again")
    if further := sorted(set(again) - set(before)):
        raise DiffersError(f"{real}/{further[0]}", "was written by the second run and is not there")


def _compared(shadow: Path, named: str, real: Path) -> Pair:
    try:
        before, now = _digest_of(os.open(shadow, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)), _digest_of(open_resolved(real))
    except OSError as error:
        raise UnsupportedError(f"{named} cannot be compared: {error}.") from error
    if now[0] is None or before[0] is None:
        raise DiffersError(named, "has changed while it was compared")
    if before[0] != now[0]:
        raise DiffersError(named, f"holds other bytes than the second run wrote ({now[1].length} bytes, {before[1].length} again)")
    return Pair(shadow, named, real, before[1], now[1])


def _digest_of(descriptor: int) -> tuple[bytes | None, State]:
    """Return the digest and the state of an open file, and close it. If the file changed meanwhile, the digest is None."""
    with open(descriptor, "rb", buffering=0) as file:
        state = State.of(os.fstat(descriptor))
        digest = digest_of(file, state.length)
        return (digest if State.of(os.fstat(descriptor)) == state else None), state


def _refuse_odd(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        mode = (folder / name).lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise UnsupportedError(f"{folder / name} is a link, or no file: it cannot be compared.")


def _real(shadow: Path, path: Path) -> str:
    return f"/{path.relative_to(shadow)}"


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
