"""The lineage of a program that wrote to a separate folder (the shadow). Paths in the shadow become the paths of the real data.

For tasks of workflows and for compactions. The lineage stays in a spool of the run until the run is committed, so a failed run has no
lineage. The name of the shadow is unique. Removing it from a path gives the real path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from headwater.errors import InvalidCaptureError, InvalidInputError
from headwater.graph.associations import Manifest
from headwater.graph.associations.segment import Segment
from headwater.paths import split_root
from headwater.spark_listener.delivery.leftovers import Delivery, deliver_leftovers
from headwater.spark_listener.spool import Item, SpoolFolder, applications
from headwater.spark_listener.spool.log import ItemKind

_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetFacet"


class MakeDelivery(Protocol):
    def __call__(self) -> Delivery: ...


def deliver_lineage(
    home: Path, shadow: Path, modes: Mapping[str, str], make_delivery: MakeDelivery, *, merges: bool = False,
    note_outputs: Callable[[Sequence[str]], None] = lambda _: None, note_refusal: Callable[[str], None] = lambda _: None,
) -> list[str]:  # fmt: skip
    """Deliver the spooled lineage of a committed run, and return why parts were refused. Can be repeated after a crash.

    `modes` has the mode of the new block of each dataset, by the dataset's path. `merges`: the blocks contain the records of the blocks
    before them, and no others. `note_outputs` is called with the names of the outputs of each event, before the event is delivered.
    `note_refusal` is called with the reason of each refusal, before the item leaves the spool.

    Raises:
        UnavailableError: the log does not answer. Undelivered lineage stays in the spool.
    """
    if not applications(home / "spool"):
        return []
    delivery = _BlockDelivery(make_delivery(), shadow, modes, note_outputs, note_refusal, merges=merges)
    return deliver_leftovers(home / "spool", delivery, patience=10.0).refused


class _BlockDelivery:
    """Delivers items after removing the shadow's name from their texts and adding the modes of blocks."""

    def __init__(
        self, delivery: Delivery, shadow: Path, modes: Mapping[str, str], note_outputs: Callable[[Sequence[str]], None],
        note_refusal: Callable[[str], None], *, merges: bool,
    ) -> None:  # fmt: skip
        self._delivery = delivery
        self._note_outputs = note_outputs
        self._note_refusal = note_refusal
        self._modes = modes
        self._sink = {"merges": True} if merges else {}
        self._names = (f"{shadow.name}/", f"{shadow.name}%2F")

    def send(self, item: Item, folder: SpoolFolder) -> None:
        try:
            self._send(item, folder)
        except InvalidInputError as error:
            self._note_refusal(str(error))
            raise

    def _send(self, item: Item, folder: SpoolFolder) -> None:
        body = with_files(item, folder) if item.kind is ItemKind.CAPTURE else item.body
        body = map_texts(body, self._place)
        if item.kind is ItemKind.EVENT:
            self._note_outputs([_dataset_name(output) for output in body.get("outputs") or ()])
        self._delivery.send(replace(item, body=self._with_modes(body, item.kind)), folder)

    def _with_modes(self, body: dict[str, Any], kind: ItemKind) -> dict[str, Any]:
        if kind is ItemKind.CAPTURE:
            sink = body.get("sink")
            if sink and (mode := self._modes.get(sink["dataset"]["name"])):
                return {**body, "sink": {**sink, "block": mode, **self._sink}}
            return body
        for output in body.get("outputs") or ():
            if mode := self._modes.get(_dataset_name(output)):
                facets = output.setdefault("facets", {})
                facets["headwater_block"] = {"_producer": body.get("producer"), "_schemaURL": _SCHEMA, "mode": mode}
        return body

    def _place(self, text: str) -> str:
        for name in self._names:
            text = text.replace(name, "")
        return text


def with_files(item: Item, folder: SpoolFolder) -> Mapping[str, Any]:
    """Return a manifest in which each segment of the sink names its files. Before, only the footers of segments name them."""
    manifest = Manifest.from_json(item.body)
    if manifest.sink is None:
        return item.body
    entries = []
    for stated, entry in zip(item.body["segments"], manifest.segments, strict=True):
        if entry.boundary != manifest.sink.boundary or entry.files is not None:
            entries.append(stated)
            continue
        try:
            footer = Segment.open(entry.name, folder.segments / manifest.capture / entry.name).footer
        except OSError as error:
            raise InvalidCaptureError(f"Segment {entry.name} cannot be read: {error}.", field="$.segments") from error
        entries.append({**stated, "files": [file.to_json() for file in footer.files], "runs": [list(run) for run in footer.runs]})
    return {**item.body, "segments": entries}


def _dataset_name(output: Mapping[str, Any]) -> str:
    return split_root(str(output.get("name"))).root


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(name): map_texts(child, change) for name, child in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(child, change) for child in value]
    return value
