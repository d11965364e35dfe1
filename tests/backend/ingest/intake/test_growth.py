"""No reader of a body takes much more than twice the time when the body doubles, however the body is made."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from headwater.backend.ingest.intake.bodies import unpack
from headwater.backend.ingest.intake.captures import read_manifest
from headwater.backend.ingest.intake.declarations import read_packed_declaration
from headwater.backend.ingest.intake.documents import read_document
from headwater.backend.ingest.intake.event_namespaces import EventNamespaces
from headwater.backend.ingest.intake.prov import read_provenance
from headwater.backend.ingest.intake.receive import read_events
from headwater.backend.ingest.intake.recordings import ProgramRun, read_packed_recording
from headwater.backend.ingest.intake.scan import QUERY
from headwater.graph.access.patterns import Namespaces
from tests.backend.ingest.intake.families import PROV
from tests.backend.ingest.intake.growth import MOST, Make, Read, growth
from tests.backend.ingest.intake.json_families import DECLARATIONS, EVENTS, MANIFESTS, PACKED, RECORDINGS

_LAWFUL = {name: EVENTS[name] for name in ("inputs", "columns", "columns made of columns", "a column of many columns")}
_RUN = ProgramRun("n", "a", "p", "spark", "0196e6a0-0000-7000-8000-000000000000")
_LIMIT = 1 << 25
_TABLE: dict[str, tuple[Read, Mapping[str, Make]]] = {
    "PROV": (read_provenance, PROV),
    "event": (read_events, EVENTS),
    "event of one who sends for some namespaces": (lambda body: EventNamespaces(Namespaces(["n"]), ())(json.loads(body), "$"), _LAWFUL),
    "manifest": (read_manifest, MANIFESTS),
    "declaration": (lambda body: read_packed_declaration(body, None, _LIMIT), DECLARATIONS),
    "recording": (lambda body: read_packed_recording(body, None, _LIMIT, _RUN), RECORDINGS),
    "query": (lambda body: read_document(body, QUERY), EVENTS),
    "gzip": (lambda body: unpack(body, encoding="gzip", limit=_LIMIT), PACKED),
}
READERS: dict[str, tuple[Read, Make]] = {
    f"{kind}: {name}": (read, make) for kind, (read, families) in _TABLE.items() for name, make in families.items()
}
_SIZE = 3_000  # bytes of the smaller body
# Each of these took four times as long when it doubled, for a cause of its own. `make torture` tries the others, too.
_TELLING = {
    "event: names that differ in their secrets", "gzip: members without content",
    "PROV: one record, other attributes", "PROV: a chain of specialized entities", "PROV: a star of makers and readers",
    "PROV: a text that does not end", "PROV: comments that do not end", "PROV: bundles", "PROV: some prefixes, many bundles",
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in _TELLING else pytest.mark.torture) for name in READERS])
def test_twice_the_input_takes_about_twice_the_time(name: str) -> None:
    assert growth(*READERS[name], _SIZE) <= MOST


def test_the_quick_selection_names_families() -> None:
    assert READERS.keys() >= _TELLING


def test_a_reader_that_grows_with_the_square_is_noticed() -> None:
    def read(body: bytes) -> int:
        return sum(one == other for one in body[::6] for other in body[::6])

    assert growth(read, PROV["a long name"], _SIZE) > MOST
