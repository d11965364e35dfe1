"""The lineage of a committed replay, delivered under the real names of its outputs.

The programs of the replay captured their records into a home of their own, next to the shadow. After the commit, `LineageDelivery` renames
the paths of the shadow, and sends events and captures to the log. Files of a committed output become the real files: the commit copied
them with their names, lengths and times. A capture that names other files is refused, because the program could write to the spool, too.

An output that was not committed, for example between two programs, gets a name of its own with the id of the replay. Its records stay in
the shadow. The committed version replaces a version at the time of the commit, and the run of the replay is not the last run of its job.

`lineage.json` in the replay's folder records the progress. A killed delivery is finished by the next commit, undo or start of a service.
"""

from __future__ import annotations

import fcntl
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

from headwater.backend.rerun.replay.model import Commit, CommitState, CommittedFolder, Replay, Step
from headwater.backend.rerun.replay.runner import HOME
from headwater.backend.rerun.shadow_lineage import map_texts, with_files
from headwater.errors import InvalidCaptureError, InvalidEventError, InvalidInputError, UnavailableError
from headwater.graph.associations.references import ALTERNATE
from headwater.graph.files.table_folders import table_kind
from headwater.graph.model import NodeKind, node_id, parse_id, run_key
from headwater.graph.records import ReplacedData
from headwater.graph.records.atomic_files import write_durably
from headwater.paths import split_root
from headwater.spark_listener.delivery.leftovers import Delivery, deliver_leftovers
from headwater.spark_listener.shadow_paths import ShadowPaths
from headwater.spark_listener.spool import Item, SpoolFolder, applications
from headwater.spark_listener.spool.log import ItemKind

FILE = "lineage.json"
_FOLDER = "folder"  # the kind of place whose files keep their lengths and times in a commit
_FACET = "headwater_replay"
_BLOCK = "headwater_block"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"
_END = r"(?![^/,\]})\s\"'])"  # after a path: the name does not go on
_MOST_EDITS = 10_000  # edited records that a capture lists
_MALFORMED = (AttributeError, LookupError, TypeError, ValueError)  # what a body without the form of its kind raises
_log = logging.getLogger("headwater.replay")


class LineageState(StrEnum):
    """The state of a commit's lineage: `waiting` → `delivered` → `undone`."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    UNDONE = "undone"


class WritingRun(BaseModel):
    """A run of the replay that wrote a committed output."""

    namespace: str
    job: str
    run: str
    dataset: str


class Lineage(BaseModel):
    """The lineage of one commit.

    `replaced` maps outputs to the versions that the commit replaced. `through` maps runs to the datasets that they read through outputs
    that were not committed. `first` maps outputs to the capture that wrote them first. `ranks` has the later runs that wrote an output,
    each with its number among them: it adds to the data of the runs before it, so its block comes a millisecond later.
    """

    state: LineageState = LineageState.WAITING
    at: str
    uncommitted: list[str] = []
    replaced: dict[str, str] = {}
    through: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    ranks: dict[str, dict[str, int]] = {}
    writers: list[WritingRun] = []
    refused: list[str] = []


def load_lineage(folder: Path) -> Lineage | None:
    try:
        return Lineage.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return None


def can_deliver(steps: Iterable[Step], places: Mapping[str, str]) -> bool:
    """Whether the lineage of a replay can be delivered after a commit: all outputs are local folders, and no program writes a table.

    `places` are the kinds of the places of outputs.
    """
    written = {dataset for step in steps for dataset in step.writes}
    local = [Path(parse_id(dataset)[1][1]) for dataset in written if parse_id(dataset)[1][0] == "file"]
    return set(places.values()) <= {_FOLDER} and all(table_kind(place) is None for place in local)


def is_waiting(replay: Replay, made: Commit | None, folder: Path) -> bool:
    """Whether a commit has lineage that is not delivered, or an undo that the graph does not know."""
    if not replay.captures or made is None or not made.folders or any(one.kind != _FOLDER for one in made.folders):
        return False
    states = {one.state for one in made.folders}
    known = load_lineage(folder)
    if states <= {CommitState.DONE, CommitState.EXPIRED}:
        return known is None or known.state is LineageState.WAITING
    return states == {CommitState.UNDONE} and known is not None and known.state is not LineageState.UNDONE


class CommitLineage:
    """Delivers the lineage of the commits of one home. `replaced_data` lists where traces find the values of replaced files."""

    def __init__(self, make_delivery: Callable[[str], Delivery], replaced_data: ReplacedData | None) -> None:
        self._make_delivery = make_delivery
        self._replaced_data = replaced_data

    def deliver(self, replay: Replay, made: Commit, folder: Path, replaced: Mapping[str, str]) -> Lineage:
        """Deliver the lineage of a commit, or its undo. Can be repeated. `replaced` are the versions before the commit.

        Raises:
            UnavailableError: the log does not answer. The next call delivers the rest.
        """
        with _locked(folder.parent):
            lineage = load_lineage(folder)
            if lineage is None:
                lineage = _prepare(replay, made, folder, replaced)
                _save(lineage, folder)
            delivery = self._make_delivery(replay.tenant)
            if lineage.state is LineageState.WAITING:
                self._keep_values(replay, made, lineage)
                renamed = LineageDelivery(delivery, replay, made, lineage)
                found = deliver_leftovers(folder / HOME / "spool", renamed, patience=10.0)
                lineage.refused += found.refused
                lineage.state = LineageState.DELIVERED
                _save(lineage, folder)
            if made.folders and all(one.state is CommitState.UNDONE for one in made.folders) and lineage.state is LineageState.DELIVERED:
                _state_undo(lineage, delivery, folder)
                self._forget_values(replay, made, lineage)
                lineage.state = LineageState.UNDONE
                _save(lineage, folder)
            return lineage

    def forget(self, replay: Replay, made: Commit | None, folder: Path) -> None:
        """Remove a replay from the list of replaced data, before its folder is removed."""
        if self._replaced_data is None or (lineage := load_lineage(folder)) is None:
            return
        with _locked(folder.parent):
            self._forget_values(replay, made, lineage)

    def _keep_values(self, replay: Replay, made: Commit, lineage: Lineage) -> None:
        if self._replaced_data is None:
            return
        for folder, old in _replaced_places(replay, made, lineage):
            self._replaced_data.add(folder, old)

    def _forget_values(self, replay: Replay, made: Commit | None, lineage: Lineage) -> None:
        if self._replaced_data is None:
            return
        for _, old in _replaced_places(replay, made, lineage):
            self._replaced_data.remove(old)


class LineageDelivery:
    """Delivers items after renaming the paths of a shadow, and adding the commit."""

    def __init__(self, delivery: Delivery, replay: Replay, made: Commit, lineage: Lineage) -> None:
        self._delivery = delivery
        self._replay = replay
        self._lineage = lineage
        self._folders = {_name_of(one): one for one in made.folders}
        self._names = ShadowNames(replay, lineage.uncommitted)

    def send(self, item: Item, folder: SpoolFolder) -> None:
        try:
            body = self._event(item.body) if item.kind is ItemKind.EVENT else self._capture(item, folder)
        except _MALFORMED as error:  # the program could write to the spool, too
            kind = InvalidEventError if item.kind is ItemKind.EVENT else InvalidCaptureError
            raise kind(f"The replay spooled a malformed {item.kind.value} ({type(error).__name__}: {error}).") from error
        self._delivery.send(replace(item, body=body), folder)

    def _event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        outputs = event.get("outputs") or ()
        if outside := [output["name"] for output in outputs if not self._names.is_shadow(str(output["name"]))]:
            raise InvalidEventError(f"The replay wrote {outside[0]}, which is outside of its shadow.", field="$.outputs")
        read = event.get("inputs") or ()
        inputs = [one for one in read if self._names.real(_root(one)) not in self._lineage.uncommitted]
        kept = [output for output in outputs if self._names.real(_root(output)) in self._folders]
        body: dict[str, Any] = map_texts({**event, "inputs": inputs, "outputs": kept}, self._names.real)
        run = run_key(str(event["run"]["runId"]))
        is_end = str(event.get("eventType")).upper() == "COMPLETE"
        for output in body["outputs"]:
            dataset = node_id(NodeKind.DATASET, str(output["namespace"]), _root(output))
            output.setdefault("facets", {})[_BLOCK] = {
                **_facet(body), "mode": "delta" if self._rank(dataset, run) else "base",
                **({"writtenAt": self._written_at(dataset, run)} if is_end else {}),
                "replaces": self._lineage.replaced.get(dataset), "replay": self._replay.id,
            }  # fmt: skip
        replaced = [self._lineage.replaced.get(node_id(NodeKind.DATASET, str(one["namespace"]), _root(one))) for one in body["outputs"]]
        body["run"].setdefault("facets", {})[_FACET] = {
            **_facet(body), "replay": self._replay.id, "kind": self._replay.kind, "committedAt": self._lineage.at,
            "replaces": sorted({parse_id(version)[1][2] for version in replaced if version}),
            "through": self._lineage.through.get(run, []) if body["outputs"] else [],
            "alsoReads": self._datasets_of(one for one in read if one not in inputs),
            "alsoWrites": self._datasets_of(one for one in outputs if one not in kept) if kept else [],
            "excluded": sum(map(len, self._replay.exclude.values())), "edited": sum(map(len, self._replay.edits.values())),
        }  # fmt: skip
        return body

    def _datasets_of(self, stated: Iterable[Mapping[str, Any]]) -> list[str]:
        return sorted({node_id(NodeKind.DATASET, str(one["namespace"]), self._names.real(_root(one))) for one in stated})

    def _capture(self, item: Item, folder: SpoolFolder) -> dict[str, Any]:
        body = dict(with_files(item, folder))
        sink = body.get("sink")
        if sink is not None and not self._names.is_shadow(str(sink["dataset"]["name"])):
            raise InvalidCaptureError(f"The replay wrote {sink['dataset']['name']}, which is outside of its shadow.", field="$.sink")
        for index, source in enumerate(body.get("sources") or ()):
            self._check_files(source.get("files") or (), source["dataset"], f"$.sources[{index}].files")
        committed = None if sink is None else self._folders.get(self._names.real(_root(sink["dataset"])))
        if sink is not None and committed is not None:
            for entry in body["segments"]:
                self._check_files(entry.get("files") or (), sink["dataset"], "$.segments")
        renamed: dict[str, Any] = map_texts(body, self._names.unique)
        renamed["replay"] = {"id": self._replay.id, "kind": self._replay.kind, **self._changes(body.get("sources") or ())}
        for source in renamed.get("sources") or ():
            if ALTERNATE + self._names.suffix in str(source["dataset"]["name"]):
                source["uncommitted"] = True
        if sink is None:
            return renamed
        if committed is None:
            renamed["sink"]["uncommitted"] = True
            return renamed
        written_at = self._written_at(committed.dataset, run_key(str(body["run"]["runId"])))
        is_first = self._lineage.first.get(committed.dataset) == body["capture"]
        renamed["replay"] |= {"started": body["started"], "ended": body["ended"]}
        renamed["sink"] |= {"block": "base", "mode": "overwrite"} if is_first else {"block": "delta", "mode": "append"}
        renamed["sink"] |= {"replaces": self._lineage.replaced.get(committed.dataset), "writtenAt": written_at}
        renamed["ended"] = written_at
        return renamed

    def _rank(self, dataset: str, run: str) -> int:
        return self._lineage.ranks.get(dataset, {}).get(run, 0)

    def _written_at(self, dataset: str, run: str) -> str:
        rank = self._rank(dataset, run)
        if not rank:
            return self._lineage.at
        return _instant((datetime.fromisoformat(self._lineage.at) + timedelta(milliseconds=rank)).isoformat())

    def _changes(self, sources: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the excluded and edited records of the files that a capture read."""
        files = {_file_key(file["path"]) for source in sources for file in source.get("files") or ()}
        excluded = {file: len(rows) for file, rows in self._replay.exclude.items() if file in files}
        edited = {file: rows for file, rows in self._replay.edits.items() if file in files}
        if sum(map(len, edited.values())) > _MOST_EDITS:
            return {"excluded": excluded, "editedFiles": {file: len(rows) for file, rows in edited.items()}}
        return {"excluded": excluded, "edited": edited}

    def _check_files(self, files: Iterable[Mapping[str, Any]], dataset: Mapping[str, Any], field: str) -> None:
        """Check that files of a committed output are the files that the commit put in place."""
        committed = self._folders.get(self._names.real(_root(dataset))) if self._names.is_shadow(str(dataset["name"])) else None
        for file in files:
            path = _plain(str(file["path"]))
            if committed is None:
                if self._names.is_in_committed(path, self._folders):
                    raise InvalidCaptureError(f"{file['path']} is named as a file of another dataset.", field=field)
                continue
            state = committed.files.get(self._names.real(path).removeprefix(f"{committed.place}/"))
            if state is None or (state[0], state[1] // 1_000_000) != (file["length"], file["modified"]):
                raise InvalidCaptureError(f"{file['path']} is no file that the commit put in place.", field=field)


class ShadowNames:
    """The names of a shadow's paths: the real ones (`real`), or those of outputs that were not committed (`unique`)."""

    def __init__(self, replay: Replay, uncommitted: Iterable[str]) -> None:
        self.suffix = replay.id[:12]
        self._shadows = tuple(dict.fromkeys([replay.shadow, quote(replay.shadow)]))
        names = sorted(uncommitted, key=len, reverse=True)
        self._renamed = [
            (re.compile(re.escape(f"{shadow}{spelt}") + _END), f"{spelt}{ALTERNATE}{self.suffix}")
            for name in names
            for shadow in self._shadows
            for spelt in dict.fromkeys([name, quote(name)])
        ]

    def is_shadow(self, path: str) -> bool:
        return any(_plain(path).startswith(f"{shadow}/") for shadow in self._shadows)

    def is_in_committed(self, path: str, folders: Iterable[str]) -> bool:
        real = self.real(path)
        return real != path and any(real.startswith(f"{folder}/") for folder in folders)

    def real(self, text: str) -> str:
        for shadow in self._shadows:
            text = text.replace(f"{shadow}/", "/")
        return text

    def unique(self, text: str) -> str:
        for pattern, name in self._renamed:
            text = pattern.sub(name.replace("\\", r"\\"), text)
        return self.real(text)


@dataclass(frozen=True, slots=True)
class _Flow:
    """The datasets that a run of the replay read and wrote, by the names of the shadow."""

    run: str
    job: tuple[str, str]
    inputs: Sequence[tuple[str, str]]
    outputs: Sequence[tuple[str, str]]


def _prepare(replay: Replay, made: Commit, folder: Path, replaced: Mapping[str, str]) -> Lineage:
    lineage = Lineage(at=_instant(made.at), replaced=dict(replaced))
    names = ShadowNames(replay, ())
    committed = {_name_of(one): one.dataset for one in made.folders}
    flows: dict[str, _Flow] = {}
    starts: dict[str, tuple[str, str]] = {}
    of_runs: dict[str, dict[str, str]] = {}  # by output: when each run that wrote it began
    for item in _items(folder / HOME / "spool"):
        body = item.body
        try:
            if item.kind is ItemKind.EVENT:
                flow = _flow(body)
                flows[flow.run] = flow if flow.outputs or flow.run not in flows else flows[flow.run]
            elif body.get("sink") and (dataset := committed.get(names.real(_root(body["sink"]["dataset"])))):
                started, run = str(body["started"]), run_key(str(body["run"]["runId"]))
                starts[dataset] = min(starts.get(dataset, ("~", "")), (started, str(body["capture"])))
                begins = of_runs.setdefault(dataset, {})
                begins[run] = min(begins.get(run, "~"), started)
        except (*_MALFORMED, InvalidInputError) as error:  # the delivery refuses it
            _log.warning("an item of the replay %s is invalid: %s", replay.id, error)
    lineage.first = {dataset: capture for dataset, (_, capture) in starts.items()}
    for dataset, begins in of_runs.items():
        later = sorted(begins, key=lambda run: (begins[run], run))[1:]
        lineage.ranks[dataset] = {run: rank for rank, run in enumerate(later, 1)}
    written = {output for flow in flows.values() for output in flow.outputs if names.is_shadow(output[1])}
    lineage.uncommitted = sorted({names.real(name) for _, name in written} - committed.keys())
    for flow in flows.values():
        for _, name in flow.outputs:
            if dataset := committed.get(names.real(name)):
                lineage.writers.append(WritingRun(namespace=flow.job[0], job=flow.job[1], run=flow.run, dataset=dataset))
                lineage.through[flow.run] = _inputs_through(flow, flows, names, set(lineage.uncommitted))
    return lineage


def _inputs_through(flow: _Flow, flows: Mapping[str, _Flow], names: ShadowNames, uncommitted: set[str]) -> list[str]:
    """Return the datasets that a run read through outputs that were not committed."""
    writers: dict[str, list[_Flow]] = {}
    for other in flows.values():
        for _, name in other.outputs:
            writers.setdefault(name, []).append(other)
    found: dict[str, None] = {}
    waiting, seen = [flow], {flow.run}
    while waiting:
        for namespace, name in waiting.pop().inputs:
            if names.is_shadow(name) and names.real(name) in uncommitted:
                fresh = [other for other in writers.get(name, ()) if other.run not in seen]
                seen.update(other.run for other in fresh)
                waiting += fresh
            else:
                found[node_id(NodeKind.DATASET, namespace, names.real(name))] = None
    direct = {node_id(NodeKind.DATASET, namespace, names.real(name)) for namespace, name in flow.inputs}
    return sorted(found.keys() - direct)


def _flow(event: Mapping[str, Any]) -> _Flow:
    ends = [[(str(one["namespace"]), _root(one)) for one in event.get(part) or ()] for part in ("inputs", "outputs")]
    return _Flow(run_key(str(event["run"]["runId"])), (str(event["job"]["namespace"]), str(event["job"]["name"])), *ends)


def _items(spool: Path) -> Iterator[Item]:
    for path in applications(spool):
        folder = SpoolFolder.take(path)
        if folder is None:
            raise UnavailableError(f"Another process delivers {path}.", hint="The next commit or undo delivers the rest.")
        try:
            yield from folder.pending()
        finally:
            folder.close(remove_if_done=False)


def _state_undo(lineage: Lineage, delivery: Delivery, folder: Path) -> None:
    """State that versions are not current any more. Can be repeated."""
    for writer in lineage.writers:
        namespace, name = parse_id(writer.dataset)[1]
        event: dict[str, Any] = {
            "eventType": "OTHER", "eventTime": _instant(""), "producer": "headwater:/replay",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": writer.run}, "job": {"namespace": writer.namespace, "name": writer.job}, "inputs": [],
            "outputs": [{"namespace": namespace, "name": name}],
        }  # fmt: skip
        event["run"]["facets"] = {_FACET: {**_facet(event), "replay": folder.name}}
        event["outputs"][0]["facets"] = {_BLOCK: {**_facet(event), "undoneAt": event["eventTime"]}}
        spool = SpoolFolder.create(folder / HOME / "undo", writer.run, limit=1 << 20)
        try:
            delivery.send(Item(1, ItemKind.EVENT, event), spool)
        finally:
            spool.close()


def _replaced_places(replay: Replay, made: Commit | None, lineage: Lineage) -> Iterator[tuple[str, str]]:
    """Return folders and the places of their files: old data of committed outputs, and outputs that were not committed."""
    names = ShadowNames(replay, lineage.uncommitted)
    paths = ShadowPaths(replay.shadow)
    for name in lineage.uncommitted:
        yield f"{name}{ALTERNATE}{names.suffix}", str(paths.folder(name))
    for one in made.folders if made is not None else ():
        yield one.place, one.old


def _facet(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"_producer": event.get("producer"), "_schemaURL": _SCHEMA}


def _root(dataset: Mapping[str, Any]) -> str:
    return str(split_root(str(dataset["name"])).root)


def _name_of(one: CommittedFolder) -> str:
    return parse_id(one.dataset)[1][1]


def _plain(path: str) -> str:
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


def _file_key(path: str) -> str:
    return f"file:{_plain(path)}" if path.startswith(("/", "file:")) else path


def _instant(text: str) -> str:
    at = datetime.fromisoformat(text) if text else datetime.now(UTC)
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _save(lineage: Lineage, folder: Path) -> None:
    write_durably(folder / FILE, lineage.model_dump_json(indent=1).encode())


@contextmanager
def _locked(replays: Path) -> Iterator[None]:
    with (replays / ".lineage.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
