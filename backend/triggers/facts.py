"""The facts in entries of the log: states of runs, new versions of datasets, and failed checks.

Only the names in an event are parsed, because most entries fulfil no condition. Ids are the same as in the projection. A version counts
when its run completes. A version of a stream counts when the stream has written for the first time. Captures, declarations and PROV
documents contain no new versions: the event of the same run reports the version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headwater.backend.ingest.log import Entry, EntryKind
from headwater.backend.ingest.log.model import REDACTED
from headwater.backend.projection.dataset_names import name_of
from headwater.backend.projection.event import has_written_batches
from headwater.backend.projection.facets import mapping, objects, required, text
from headwater.backend.triggers.model import Fact, FactKind
from headwater.errors import InvalidInputError
from headwater.graph.model import NodeKind, node_id, run_key

_STATES = {"START": "started", "COMPLETE": "completed", "FAIL": "failed", "ABORT": "aborted"}
_CHECKS = ("dataQualityAssertions", "greatExpectations_assertions")


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """The facts of one log entry. `parents` are runs that may be executions of triggers.

    `is_bare` is true if a run completed without naming its outputs. Its earlier events then name them.
    """

    offset: int
    facts: Sequence[Fact]
    parents: Sequence[str] = ()
    is_bare: bool = False
    run: str = ""
    at: float = 0.0


@dataclass(slots=True)
class _Reader:
    run: str
    at: float
    facts: list[Fact] = field(default_factory=list)

    def add(self, kind: FactKind, subject: str, identifier: str, **details: str) -> None:
        self.facts.append(Fact(kind, subject, identifier, self.at, run=self.run, details=details))


def facts_of(entry: Entry) -> EntryFacts:
    """Return the facts of a log entry. An entry that the projection refuses has none, nor has one that replaces an erased entry."""
    at = datetime.fromisoformat(entry.received).timestamp()
    if entry.kind is EntryKind.EVENT:
        with suppress(InvalidInputError, ValueError, TypeError, KeyError, AttributeError):
            event = json.loads(entry.body)
            if isinstance(event, dict) and "run" in event and REDACTED not in mapping(event["run"].get("facets")):
                return _of_run(entry.offset, event, at)
    return EntryFacts(entry.offset, ())


def version_fact(version: str, dataset: str, run: str, at: float, capture: str | None = None) -> Fact:
    """Return the fact that a run completed a version. `capture` is the id of the version's record capture, if it exists."""
    return Fact(FactKind.VERSION, dataset, version, at, run=run, details={"capture": capture} if capture else {})


def _of_run(offset: int, event: Mapping[str, Any], at: float) -> EntryFacts:
    key = run_key(required(event["run"], "runId", "$.run"))
    run = node_id(NodeKind.RUN, key)
    facets = mapping(event["run"].get("facets"))
    namespace, name = required(event.get("job"), "namespace", "$.job"), required(event["job"], "name", "$.job")
    state = (text(event.get("eventType")) or "OTHER").upper()
    reader = _Reader(run, at)
    if state in _STATES:
        job = node_id(NodeKind.JOB, namespace, name)
        reader.add(FactKind.RUN, job, f"{run} {_STATES[state]}", state=_STATES[state])
    inputs, outputs = objects(event.get("inputs")), objects(event.get("outputs"))
    if state == "COMPLETE" or has_written_batches(event):
        capture = text(mapping(facets.get("headwater_capture")).get("capture"))
        for index, output in enumerate(outputs):
            named = name_of(output, f"$.outputs[{index}]")
            reader.facts.append(version_fact(node_id(NodeKind.VERSION, *named, key), node_id(NodeKind.DATASET, *named), run, at, capture))
    for dataset in (*inputs, *outputs):
        for check in _failed_checks(dataset):
            subject = node_id(NodeKind.DATASET, *name_of(dataset, "$"))
            reader.add(FactKind.CHECK, subject, f"{run} {subject} {check}", check=check.partition(" ")[0])
    parent = mapping(facets.get("parent"))
    parents = [text(mapping(one.get("run")).get("runId")) for one in (parent, mapping(parent.get("root")))]
    is_bare = state == "COMPLETE" and not inputs and not outputs
    return EntryFacts(offset, reader.facts, [one.lower() for one in parents if one], is_bare, run, at)


def _failed_checks(dataset: Mapping[str, Any]) -> Iterator[str]:
    seen = set()
    for holder in (mapping(dataset.get("facets")), mapping(dataset.get("inputFacets")), mapping(dataset.get("outputFacets"))):
        for facet in _CHECKS:
            for assertion in objects(mapping(holder.get(facet)).get("assertions")):
                name = text(assertion.get("assertion")) or text(assertion.get("expectationType"))
                if name and assertion.get("success") is False:
                    seen.add(f"{name} {text(assertion.get('column')) or ''}".strip())
    yield from sorted(seen)
