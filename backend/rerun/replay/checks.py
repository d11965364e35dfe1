"""Checks before and after the programs of a replay run: files, outputs, and the records that the programs read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Replay
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.records import DataRoots, FileBlock
from headwater.graph.storage.addresses import is_remote
from headwater.spark_listener.replay import met_file


def file_states(files: Iterable[str], sources: DataRoots) -> dict[str, tuple[int, int]]:
    """Return the length and modification time of files. Files outside of the data roots are left out."""
    look, found = sources.look(), {}
    for file in files:
        with suppress(UnsupportedError, OSError):
            block = look.block(file)
            found[file] = (block.length, block.modified)
    return found


def check_unchanged(replay: Replay, sources: DataRoots) -> None:
    """Check that the files of excluded records are unchanged since the records were chosen.

    Raises:
        SourceChangedError: a file changed, so its records have other numbers now.
    """
    found = file_states(replay.states, sources)
    for file, then in replay.states.items():
        if (now := found.get(file)) != then:
            reason = "is gone" if now is None else f"had {FileBlock(file, *then)}; it has {FileBlock(file, *now)}"
            raise SourceChangedError(f"{file} has changed since records of it were chosen: it {reason}.", hint="Start the replay again.")


def check_met(replay: Replay) -> None:
    """Check that the programs applied the replay to every chosen file: records were really excluded, kept or edited.

    Raises:
        UnsupportedError: no program read a file through Spark's file readers (for example, JDBC or Iceberg read it).
    """
    listed = met_file(replay.shadow)
    met = {json.loads(line) for line in listed.read_text(encoding="utf-8").splitlines()} if listed.exists() else set()
    if lacking := sorted({*replay.exclude, *replay.keep, *replay.edits} - met):
        done = next(
            verb for verb, files in (("left out", replay.exclude), ("kept", replay.keep), ("edited", replay.edits)) if lacking[0] in files
        )
        raise UnsupportedError(
            f"The records of {lacking[0]} were {done} by no program that was run again, so what came out says nothing of them.",
            hint="Records of files that Spark reads by their paths can be chosen; rows of databases and of tables of Iceberg cannot yet.",
        )


def check_readable(output: str, sources: DataRoots) -> None:
    """Check that an output can be compared.

    Raises:
        UnsupportedError: files at this path cannot be read, or no root of remote storage contains it.
    """
    place = place_of(output)
    if not is_remote(place):
        sources.look().path(place)
    elif not sources.remote.covers(place):
        raise UnsupportedError(
            f"{place} lies below no root of remote storage, so a replay cannot compare it.", hint="Name it as a root in storage.toml."
        )
