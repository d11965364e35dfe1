"""Checks the files of a home about access: keys and sessions, the operator's files, registered programs, and the audit log.

An undamaged file contains exactly what was written to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from headwater.backend.access.keys.file import KeyFile
from headwater.backend.access.masks import read_masks
from headwater.backend.access.people.ended_sessions import OwnEndedSessions
from headwater.backend.access.people.grants import read_rules
from headwater.backend.audit.chain import verify
from headwater.backend.audit.lines import earlier_files
from headwater.backend.home.file_fault import Fault
from headwater.backend.home.settings import Settings
from headwater.backend.intakes.settings import read_intakes
from headwater.backend.rerun.runners.settings import read_runners
from headwater.backend.targets import read_targets
from headwater.errors import HeadwaterError
from headwater.graph.storage import read_roots


def access_faults(settings: Settings) -> Iterator[Fault]:
    """Yield faults of keys, sessions, and of the operator's files. Each file is read in the same way as by the service."""
    home = settings.folder
    keys, sessions = KeyFile(home.named_keys), OwnEndedSessions(home.ended_sessions)
    try:
        yield from _read("keys", home.named_keys, lambda _: keys.all())
        yield from _read("sessions", home.ended_sessions, lambda _: sessions.has("", math.inf))
    finally:
        keys.close()
        sessions.close()
    operators: tuple[tuple[Path, Callable[[Path], object]], ...] = (
        (home.masks, read_masks), (home.people, read_rules), (home.intakes, read_intakes), (home.storage, read_roots),
        (home.targets, read_targets), (home.runners, read_runners),
    )  # fmt: skip
    for path, read in operators:
        yield from _read("settings", path, read)


def audit_faults(path: Path) -> Iterator[Fault]:
    """Yield changed lines of the audit log, and missing lines."""
    if not path.exists() and not earlier_files(path):
        return
    try:
        found = verify(path)
    except OSError as error:
        yield Fault("audit", path, f"it cannot be read: {error.strerror}")
        return
    for one in found.breaks:
        yield Fault("audit", Path(one.file), f"line {one.line}: {one.reason}")


def _read(part: str, path: Path, read: Callable[[Path], object]) -> Iterator[Fault]:
    if not path.exists():
        return
    try:
        read(path)
    except HeadwaterError as error:
        yield Fault(part, path, error.message)
