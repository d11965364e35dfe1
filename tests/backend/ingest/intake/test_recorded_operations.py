"""Recorded operations: the lineage that follows from them, and that a small recording cannot ask for very much work."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.ingest.intake.recorded_operations import Operation, event_of, read_recording
from headwater.errors import InvalidInputError

_RUN = "3d3a5b2c-6f0d-4f53-9a53-0c0e2f8d7a11"
_SIDES = dict[str, Any]


def _read(name: str, *fields: str) -> _SIDES:
    return {"name": name, "inputs": {"endPoint": {"namespace": "n", "name": name}}, "outputs": {"fields": list(fields)}}


def _made(name: str, *taken: tuple[str, str], given: str = "x") -> _SIDES:
    fields = [{"origin": origin, "name": field} for origin, field in taken]
    return {"name": name, "inputs": {"fields": fields}, "outputs": {"fields": [given]}}


def _written(name: str, *taken: tuple[str, str]) -> _SIDES:
    return {**_made(name, *taken), "outputs": {"endPoint": {"namespace": "n", "name": "out"}}}


def _derived(operations: list[_SIDES]) -> dict[str, set[tuple[str, str, str]]]:
    """By field that is written: the dataset, the field and the description of each that it is made of."""
    recording = read_recording({"operations": operations})
    event = event_of(recording, namespace="j", application="a", program="p", kind="spark", run=_RUN)
    found: dict[str, set[tuple[str, str, str]]] = {}
    for output in event["outputs"]:
        for field, of in output["facets"]["columnLineage"]["fields"].items():
            made = {(one["name"], one["field"], one["transformations"][0]["description"]) for one in of["inputFields"]}
            found.setdefault(field, set()).update(made)
    return found


@given(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=6), st.randoms())
def test_what_a_field_is_made_of_is_what_its_operations_took(layers: list[list[int]], random: Any) -> None:
    """Against an oracle that follows each operation by itself; in whatever order they come."""
    reads = [_read(f"r{number}", "a", "b") for number in range(2)]
    places = [("r0", "a"), ("r0", "b"), ("r1", "a"), ("r1", "b")]
    made_of: dict[str, dict[tuple[str, str], list[str]]] = {}  # by operation: each source, and the operations on its way
    operations = []
    for number, chosen in enumerate(layers):
        taken = [(places + [(name, "x") for name in made_of])[each % (4 + len(made_of))] for each in chosen]
        name = f"t{number}"
        operations.append(_made(name, *taken))
        own: dict[tuple[str, str], list[str]] = {}
        for origin, field in taken:
            for source, way in made_of.get(origin, {(origin, field): []}).items():
                own[source] = sorted({*own.get(source, ()), *way})
        made_of[name] = {source: [*way, name] for source, way in own.items()}
    last = f"t{len(layers) - 1}"
    everything = [*reads, *operations, _written("w", (last, "x"))]
    random.shuffle(everything)
    expected = {(dataset, field, frozenset(way)) for (dataset, field), way in made_of[last].items()}
    told = _derived(everything)["x"]
    assert {(dataset, field, frozenset(way.split(", "))) for dataset, field, way in told} == expected


def _chain(steps: int, fields: int) -> list[_SIDES]:
    names = [f"f{number}" for number in range(fields)]
    reads = [_read("r", *names), _made("t0", *(("r", name) for name in names))]
    return [*reads, *(_made(f"t{number}", (f"t{number - 1}", "x")) for number in range(1, steps)), _written("w", (f"t{steps - 1}", "x"))]


def test_a_small_recording_of_very_many_steps_is_refused() -> None:
    """900 operations in a row over 9,000 fields: 8 million steps, in 300 kB."""
    assert len(_derived(_chain(200, 9_000))["x"]) == 9_000
    with pytest.raises(InvalidInputError, match="2,000,000 steps"):
        _derived(_chain(900, 9_000))


def test_more_fields_than_are_recorded_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("headwater.backend.ingest.intake.recorded_operations._made", lambda *given: made.append(given))
    names = [[f"f{number}" for number in range(9_000)] for _ in range(3)]
    reads = [_read(f"r{number}", *each) for number, each in enumerate(names)]
    taken = [_made(f"t{number}", *((f"r{number}", name) for name in each)) for number, each in enumerate(names)]
    everything = [*reads, *taken, _made("all", *((f"t{number}", "x") for number in range(3))), _written("w", ("all", "x"))]
    with pytest.raises(InvalidInputError, match="20,000 fields"):
        _derived(everything)
    assert made == []


def test_operations_are_put_in_order_without_looking_at_each_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def counted(operation: Operation) -> Any:
        looked_at.append(operation.name)
        return operation.inputs.fields or ()

    monkeypatch.setattr(Operation, "taken", property(counted))
    backward = _chain(300, 2)[::-1]
    recording = read_recording({"operations": backward})
    assert [operation.name for operation in recording.operations] == ["r", *(f"t{number}" for number in range(300)), "w"]
    assert len(looked_at) < 5 * len(backward)
