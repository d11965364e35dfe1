"""Shadow tables of Delta: a log of one commit, whose files are those of the real table at a version, by their absolute paths.

Delta's own shallow clones have the same form. Spark needs no change for them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headwater.backend.rerun.replay.model import TableBase
from headwater.errors import UnsupportedError
from headwater.graph.files.deletions import locate_vector
from headwater.graph.files.delta_log import TableState, list_commits, locate_file, read_commit, read_table_state
from headwater.graph.records import Look, uri_of
from headwater.graph.storage.addresses import is_remote

MARK = "headwater replay "  # begins the user metadata of our own commits
SAFE = "/!$&'()*+,;=:@~"  # characters that the log does not encode in paths


def find_base(dataset: str, place: str, written: Sequence[int], look: Look) -> TableBase:
    """Return the version before the versions `written` by one run.

    Raises:
        UnsupportedError: another program wrote between them, or the version before is gone from the log.
    """
    first, last = min(written), max(written)
    for version in range(first, last + 1):
        if version not in written and _changes_data(read_commit(look, place, version)):
            raise UnsupportedError(
                f"Another program wrote version {version} of {dataset} during the run that a replay would repeat.",
                hint="Run the program again, with no other writer.",
            )
    newest = max(list_commits(block.path for block in look.listed(f"{place}/_delta_log") or ()), default=-1)
    later = [version for version in range(last + 1, newest + 1) if _changes_data(read_commit(look, place, version))]
    if first:
        read_table_state(look, place, first - 1)
    return TableBase(
        dataset=dataset, kind="Delta", version=first - 1 if first else None, later=f"version {', '.join(map(str, later))}" if later else ""
    )


def _changes_data(actions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a commit of another program changed rows. The commit of a replay replaced rows of the run that is replayed again."""
    if any(str((action.get("commitInfo") or {}).get("userMetadata") or "").startswith(MARK) for action in actions):
        return False
    return any((action.get("add") or action.get("remove") or {}).get("dataChange", False) for action in actions)


def lay(base: TableBase, place: str, folder: Path, look: Look) -> None:
    """Write the log of a shadow table into a folder."""
    state = read_table_state(look, place, base.version)
    if state is None:
        raise UnsupportedError(f"{place} is no table of Delta any more.")
    now = int(time.time() * 1000)
    info = {"timestamp": now, "inCommitTimestamp": now, "operation": "CLONE", "operationParameters": {}, "engineInfo": "Headwater"}
    if "inCommitTimestamp" not in (state.protocol.get("writerFeatures") or ()):
        del info["inCommitTimestamp"]
    actions: list[Mapping[str, Any]] = [{"commitInfo": info}, {"protocol": clean(state.protocol)}, {"metaData": clean(state.metadata)}]
    actions += [{"add": absolute_entry(place, entry)} for entry in state.entries]
    if (highest := _highest_row_id(state)) >= 0:
        configuration = json.dumps({"rowIdHighWaterMark": highest})
        actions.append({"domainMetadata": {"domain": "delta.rowTracking", "configuration": configuration, "removed": False}})
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_bytes(as_lines(actions))


def absolute_entry(table: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a file with absolute paths, so that another table can contain it."""
    result = {**clean(entry), "path": absolute_path(locate_file(uri_of(table), entry["path"])), "dataChange": True}
    vector = entry.get("deletionVector")
    if vector and vector.get("storageType") == "u":
        file = locate_vector(uri_of(table), "u", str(vector["pathOrInlineDv"]))
        result["deletionVector"] = {**clean(vector), "storageType": "p", "pathOrInlineDv": absolute_path(file)}
    return result


def absolute_path(uri: str) -> str:
    """Return a URI in the form of the log: percent-encoded, with the scheme that Spark has for the storage."""
    scheme, _, path = uri.partition(":")
    if is_remote(uri):
        authority, slash, key = path.removeprefix("//").partition("/")
        return f"{'s3a' if scheme == 's3' else scheme}://{authority}{slash}{quote(key, safe=SAFE)}"
    return f"file:/{quote(path.lstrip('/'), safe=SAFE)}"


def clean(value: Any) -> Any:
    """Return a value of a log without absent fields. A checkpoint has a field for each, and lists of pairs for maps."""
    if isinstance(value, Mapping):
        return {name: _as_map(name, clean(entry)) for name, entry in value.items() if entry is not None}
    return value


def _as_map(name: str, value: Any) -> Any:
    return dict(value) if name in ("tags", "options") and isinstance(value, list) else value


def as_lines(actions: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions).encode()


def _highest_row_id(state: TableState) -> int:
    highest = -1
    for entry in state.entries:
        if entry.get("baseRowId") is not None:
            records = int(json.loads(entry.get("stats") or "{}").get("numRecords", 0))
            highest = max(highest, int(entry["baseRowId"]) + records - 1)
    return highest
