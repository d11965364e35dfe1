"""Commits of tables of Delta: one new version of the real table has the rows of the shadow table.

The new data files are copied next to the table's files, where no reader sees them. Then one file in the log, which must not exist yet,
makes the new version, so a reader finds the old rows or the new ones. If another program wrote a version meanwhile, the file exists, and
nothing is replaced. An undo is another version, with the files of the version before. The user metadata of a version names the replay, so
the log alone says which data is there.

Old files stay until VACUUM removes them. A commit and an undo remove no file that a version of the table names.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import CommittedFolder, FileStates
from headwater.backend.rerun.replay.output_places.protocol import OutputPlace, refuse
from headwater.backend.rerun.replay.output_places.writable_folder import open_folder
from headwater.backend.rerun.replay.shadow_tables.delta import MARK, SAFE, as_lines, clean
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.files.deletions import locate_vector
from headwater.graph.files.delta_log import TableState, list_commits, locate_file, read_commit, read_table_state
from headwater.graph.records import DataRoots, FileBlock, Look, uri_of

_WRITER_FEATURES = frozenset({
    "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "allowColumnDefaults", "columnMapping",
    "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck", "variantType",
    "variantType-preview", "inCommitTimestamp", "inCommitTimestamp-preview", "domainMetadata", "clustering",
})  # fmt: skip
_NEWEST_WRITER = 7  # from this version on, protocols name features
_IDENTITY = 6  # version of writers of tables with identity columns
_KEPT_SETTINGS = "delta.columnMapping."  # settings that belong to a schema


class DeltaTables(OutputPlace):
    """Tables of Delta on local file systems and on S3."""

    def __init__(self, sources: DataRoots) -> None:
        self._sources = sources

    def find_state(self, dataset: str) -> FileStates | None:
        newest = self._newest(place_of(dataset), self._sources.look())
        return None if newest is None else {f"version {newest[0]}": (newest[1].length, newest[1].modified)}

    def check(self, dataset: str) -> None:
        place = place_of(dataset)
        open_folder(place, dataset, self._sources)
        state = self._read(place)
        protocol, settings = state.protocol, state.metadata.get("configuration") or {}
        version = int(protocol.get("minWriterVersion") or 2)
        features = set(map(str, protocol.get("writerFeatures") or ()))
        if version > _NEWEST_WRITER or (unknown := sorted(features - _WRITER_FEATURES)):
            reason = f"its writers must be of version {version}" if version > _NEWEST_WRITER else f"it has the feature {unknown[0]}"
            raise refuse(dataset, reason, "A commit does not write such a table. Run the program with the corrected records instead.")
        if str(settings.get("delta.appendOnly", "false")).lower() == "true":
            raise refuse(dataset, "the table is append-only (delta.appendOnly)")
        if version == _IDENTITY or "delta.identity." in str(state.metadata.get("schemaString")):
            raise refuse(dataset, "it may have identity columns, whose next value only Delta's own writer keeps")

    def prepare(self, dataset: str, shadow: Path, replay: str, before: FileStates) -> CommittedFolder:
        place = place_of(dataset)
        folder = open_folder(place, dataset, self._sources)
        version = self._newest_version(place)
        state, new = self._read(place, version), self._read_shadow(place, shadow)
        _check_compatible(dataset, state, new)
        names = _new_files(shadow, new)
        for name in names:
            folder.put(name, shadow / name)
        return CommittedFolder(
            dataset=dataset, place=place, old=f"version {version}", kind="delta", before=before, files={},
            detail={"replay": replay, "version": version, "shadow": str(shadow), "files": names},
        )  # fmt: skip

    def shows_new(self, output: CommittedFolder) -> bool:
        return (self._own_commits(output) or [(0, False)])[-1][1]

    def is_unchanged(self, output: CommittedFolder, *, new: bool) -> bool:
        return self._unchanged_version(output, new=new) is not None

    def exchange(self, output: CommittedFolder, *, new: bool) -> None:
        version = self._unchanged_version(output, new=not new)
        if version is None:
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")
        place = output.place
        now = self._read(place, version)  # a later version of another program must make `create` fail
        committed = next((version for version, is_new in self._own_commits(output) if is_new), None)
        if not new:
            target = self._read(place, int(output.detail["version"]))
        elif committed is not None:
            target = self._read(place, committed)
        else:
            target = _moved(self._read_shadow(place, Path(output.detail["shadow"])), now, place, Path(output.detail["shadow"]))
        self._check_files(output.dataset, place, now, target)
        data = as_lines(_actions(now, target, place, f"{MARK}{output.detail['replay']}: {'new' if new else 'old'} data", new=new,
                                 last=read_commit(self._sources.look(), place, version)))  # fmt: skip
        folder = open_folder(place, output.dataset, self._sources)
        if not folder.create(f"_delta_log/{version + 1:020}.json", data):
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")

    def drop(self, output: CommittedFolder) -> None:
        if not self._own_commits(output):  # otherwise a version of the table names the files, and VACUUM removes them
            open_folder(output.place, output.dataset, self._sources).delete(list(output.detail["files"]))

    def remove_old(self, output: CommittedFolder) -> None:
        del output  # VACUUM does it

    def notes(self, output: CommittedFolder) -> list[str]:
        version = output.detail["version"]
        text = (
            f"{output.dataset} gets the rows of the replay as a new version after version {version}. VACUUM removes the files of version "
            f"{version} by the table's own retention time (7 days by default); an undo is refused then."
        )
        return [text]

    def _unchanged_version(self, output: CommittedFolder, *, new: bool) -> int | None:
        """Return the newest version if it has the new data (or the old data). None if another program wrote since."""
        own, newest = self._own_commits(output), self._newest(output.place, self._sources.look())
        if newest is None:
            return None
        version, block = newest
        if own and own[-1][1] is new:
            return version if version == own[-1][0] else None
        before = {name: tuple(state) for name, state in output.before.items()}
        return version if not new and not own and {f"version {version}": (block.length, block.modified)} == before else None

    def _own_commits(self, output: CommittedFolder) -> list[tuple[int, bool]]:
        """Return the versions that this commit and its undo made, in order, and whether each has the new data."""
        look, found = self._sources.look(), []
        mark = f"{MARK}{output.detail['replay']}: "
        for version in range(int(output.detail["version"]) + 1, self._newest_version(output.place) + 1):
            for action in read_commit(look, output.place, version):
                text = str((action.get("commitInfo") or {}).get("userMetadata") or "")
                if text.startswith(mark):
                    found.append((version, text == f"{mark}new data"))
        return found

    def _check_files(self, dataset: str, place: str, now: TableState, target: TableState) -> None:
        look, there = self._sources.look(), _by_key(place, now.entries)
        for key, entry in _by_key(place, target.entries).items():
            if key not in there:
                try:
                    look.block(locate_file(uri_of(place), entry["path"]))
                except FileNotFoundError:
                    raise UnsupportedError(
                        f"A file of that version of {dataset} is gone: {entry['path']}.", hint="VACUUM removed it. Nothing was replaced."
                    ) from None

    def _newest(self, place: str, look: Look) -> tuple[int, FileBlock] | None:
        log = {block.path: block for block in look.listed(f"{place}/_delta_log") or ()}
        commits = list_commits(log)
        return None if not commits else (max(commits), log[commits[max(commits)]])

    def _newest_version(self, place: str) -> int:
        newest = self._newest(place, self._sources.look())
        if newest is None:
            raise UnsupportedError(f"{place} is no table of Delta any more.")
        return newest[0]

    def _read(self, place: str, version: int | None = None) -> TableState:
        state = read_table_state(self._sources.look(), place, version)
        if state is None:
            raise UnsupportedError(f"{place} is no table of Delta any more.")
        return state

    def _read_shadow(self, place: str, shadow: Path) -> TableState:
        state = read_table_state(DataRoots.of([shadow]).look(), str(shadow))
        if state is None:
            raise UnsupportedError(f"The replay wrote no table of Delta in the place of {place}.")
        return state


def _check_compatible(dataset: str, real: TableState, new: TableState) -> None:
    """Check that the new table needs nothing of its readers and writers that the real table does not state."""
    for kind in ("readerFeatures", "writerFeatures"):
        if added := sorted(set(new.protocol.get(kind) or ()) - set(real.protocol.get(kind) or ()) - _legacy_features(real)):
            raise refuse(dataset, f"the replay's table has the feature {added[0]}, which the table has not", "Upgrade the table first.")
    settings = [dict(state.metadata.get("configuration") or {}) for state in (real, new)]
    lacking = sorted(name for name in settings[0] if name.startswith("delta.constraints.") and settings[1].get(name) != settings[0][name])
    if lacking:
        raise refuse(dataset, f"the replay did not check the constraint {lacking[0]}")
    if settings[0].get("delta.columnMapping.mode", "none") != settings[1].get("delta.columnMapping.mode", "none"):
        raise refuse(dataset, "the replay's table names its columns in another way (delta.columnMapping.mode)")


def _legacy_features(state: TableState) -> set[str]:
    """Return the features that an old version of writers implies."""
    version = int(state.protocol.get("minWriterVersion") or 2)
    features = {2: ("appendOnly", "invariants"), 3: ("checkConstraints",), 4: ("changeDataFeed", "generatedColumns"), 5: ("columnMapping",)}
    return {name for since, names in features.items() if since <= version < _NEWEST_WRITER for name in names}


def _new_files(shadow: Path, state: TableState) -> list[str]:
    """Return the files below a shadow folder that its table names: data files, and files of deletion vectors."""
    root = uri_of(shadow)
    named = set()
    for entry in state.entries:
        named.add(locate_file(root, entry["path"]))
        vector = entry.get("deletionVector") or {}
        if vector.get("storageType") in ("u", "p"):
            named.add(locate_vector(root, vector["storageType"], str(vector["pathOrInlineDv"])))
    return sorted(path.removeprefix(f"{root}/") for path in named if path.startswith(f"{root}/"))


def _moved(new: TableState, real: TableState, place: str, shadow: Path) -> TableState:
    """Return the state of a shadow table as the state of the real table, with its settings. Files of the real table get their entries."""
    known, roots = _by_key(place, real.entries), (uri_of(shadow), uri_of(place))
    entries = [known.get(_key(str(shadow), entry), _relocated(entry, *roots)) for entry in new.entries]
    settings = dict(real.metadata.get("configuration") or {})
    settings |= {name: text for name, text in (new.metadata.get("configuration") or {}).items() if name.startswith(_KEPT_SETTINGS)}
    schema = {name: new.metadata.get(name) for name in ("schemaString", "partitionColumns")}
    return TableState(real.version, real.protocol, {**real.metadata, **schema, "configuration": settings}, entries)


def _relocated(entry: Mapping[str, Any], shadow: str, place: str) -> Mapping[str, Any]:
    """Return the entry of a file whose relative paths are valid in the real table. Absolute paths into it become relative."""
    path = locate_file(shadow, entry["path"])
    if path.startswith(f"{place}/"):
        return {**entry, "path": quote(path.removeprefix(f"{place}/"), safe=SAFE)}
    return entry


def _by_key(table: str, entries: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {_key(table, entry): entry for entry in entries}


def _key(table: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the identity of an entry: the absolute paths of its file and of its deletion vector, however the log writes them."""
    vector, root = entry.get("deletionVector") or {}, uri_of(table)
    kind, text = vector.get("storageType"), str(vector.get("pathOrInlineDv", ""))
    place = text if kind not in ("u", "p") else f"{locate_vector(root, kind, text)}@{vector.get('offset') or 0}"
    return locate_file(root, entry["path"]), place


def _actions(
    now: TableState, target: TableState, place: str, mark: str, *, new: bool, last: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the actions that lead from a state to another."""
    instant = int(time.time() * 1000)
    parameters = {"mode": "Overwrite"} if new else {"version": str(target.version), "timestamp": None}
    info: dict[str, Any] = {
        "timestamp": instant, "operation": "WRITE" if new else "RESTORE", "operationParameters": parameters, "readVersion": now.version,
        "isolationLevel": "Serializable", "isBlindAppend": False, "engineInfo": "Headwater", "userMetadata": mark,
    }  # fmt: skip
    infos = [action.get("commitInfo") or {} for action in last]
    stated = [int(each["inCommitTimestamp"]) for each in infos if each.get("inCommitTimestamp")]
    if stated:
        info = {"inCommitTimestamp": max(instant, stated[0] + 1), **info}
    actions: list[Mapping[str, Any]] = [{"commitInfo": info}]
    if clean(now.metadata) != clean(target.metadata):
        actions.append({"metaData": clean(target.metadata)})
    there, wanted = _by_key(place, now.entries), _by_key(place, target.entries)
    for key in sorted(there.keys() - wanted.keys()):
        entry = clean(there[key])
        kept = {name: entry[name] for name in ("path", "partitionValues", "size", "deletionVector", "tags") if name in entry}
        actions.append({"remove": {**kept, "deletionTimestamp": instant, "dataChange": True, "extendedFileMetadata": True}})
    actions += [{"add": {**clean(wanted[key]), "dataChange": True}} for key in sorted(wanted.keys() - there.keys())]
    return actions
