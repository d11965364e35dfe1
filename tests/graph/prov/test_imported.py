"""The statements of an imported document return in an export; inferred versions are marked so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prov.model import ProvDerivation, ProvUsage

from headwater.backend.projection import event_stamp, fold, project_event
from headwater.backend.projection.prov import project_prov, prov_stamp
from headwater.graph.model import EdgeKind
from headwater.graph.prov import Export, ProvFormat, export_dataset, export_run, write
from headwater.graph.prov.constraints import check
from headwater.graph.prov.model import Document, Kind, Literal, Name
from headwater.graph.prov.read import read
from headwater.graph.stores import Direction
from headwater.graph.stores.sqlite import SqliteStore
from tests.graph.prov.validity import ends, pairs, read_back
from tests.stated import TENANT, event

EX = "https://example.org/"
DOCUMENT = {
    "prefix": {"ex": EX},
    "entity": {
        "ex:raw": {"ex:license": "CC-BY", "ex:size": 12, "prov:type": {"$": "ex:Table", "type": "prov:QUALIFIED_NAME"}},
        "ex:clean": {"ex:license": ["CC-BY", {"$": "frei", "lang": "de"}], "ex:checked": True},
        "ex:recipe": {"prov:type": {"$": "prov:Plan", "type": "prov:QUALIFIED_NAME"}, "ex:language": "R"},
    },
    "activity": {"ex:run1": {"prov:startTime": "2026-01-01T10:00:00Z", "prov:endTime": "2026-01-01T10:05:00Z", "ex:host": "h1"}},
    "agent": {
        "ex:tool": {"prov:type": {"$": "prov:SoftwareAgent", "type": "prov:QUALIFIED_NAME"}, "ex:release": "4.2"},
        "ex:ann": {"ex:mail": "ann@example.org"},
    },
    "used": {"_:u": {"prov:activity": "ex:run1", "prov:entity": "ex:raw"}},
    "wasGeneratedBy": {"_:g": {"prov:entity": "ex:clean", "prov:activity": "ex:run1", "prov:time": "2026-01-01T10:05:00Z"}},
    "wasAssociatedWith": {"_:a": {"prov:activity": "ex:run1", "prov:agent": "ex:tool", "prov:plan": "ex:recipe"}},
    "wasAttributedTo": {"_:t": {"prov:entity": "ex:clean", "prov:agent": "ex:ann"}},
}
BROUGHT = {
    (f"{EX}license", "CC-BY"), (f"{EX}license", Literal("frei", None, "de")),
    (f"{EX}size", 12), (f"{EX}checked", True), (f"{EX}language", "R"), (f"{EX}host", "h1"), (f"{EX}release", "4.2"),
    (f"{EX}mail", "ann@example.org"), ("http://www.w3.org/ns/prov#type", Name(f"{EX}Table")),
}  # fmt: skip
CLEANED = "dataset:https%3A//example.org/:clean"


async def take(store: SqliteStore, document: Document) -> None:
    await fold(store, TENANT, [project_prov(document, prov_stamp(document, "document"))[0]])


def exported(export: Export) -> tuple[bytes, Document]:
    written = b"".join(write(export.items(), ProvFormat.JSON, export.namespaces))
    document = read(written)
    assert check(document) == []
    return written, document


def brought(document: Document) -> set[tuple[str, Any]]:
    """Attributes of elements in the namespace of the document that was imported, or with values in it."""
    elements = [s for _, statements in document.instances() for s in statements if s.kind in (Kind.ENTITY, Kind.ACTIVITY, Kind.AGENT)]
    pairs = {(name, value) for element in elements for name, value in element.attributes}
    return {(name, _same(value)) for name, value in pairs if name.startswith(EX) or (str(value).startswith(EX) and isinstance(value, Name))}


def _same(value: Any) -> Any:
    return Literal(value.text, None, value.language) if isinstance(value, Literal) and value.language else value


async def test_attributes_of_an_imported_document_are_exported_again_and_again(tmp_path: Any) -> None:
    document = read(json.dumps(DOCUMENT).encode())
    wanted = {(name, _same(value)) for name, value in BROUGHT}
    assert brought(document) == wanted
    for number in range(2):
        store = SqliteStore(tmp_path / f"graph{number}.db")
        await store.open()
        await take(store, document)
        _, document = exported(await export_dataset(store, TENANT, CLEANED))
        assert brought(document) == wanted
        names = {value for name, value in _attributes(document) if name.endswith(":iri")}
        assert {f"{EX}raw", f"{EX}clean", f"{EX}run1", f"{EX}recipe", f"{EX}tool", f"{EX}ann"} <= names
        await store.close()


def _attributes(document: Document) -> set[tuple[str, Any]]:
    return {(name, value) for _, statements in document.instances() for s in statements for name, value in s.attributes}


RUN = "0198a1b2-0000-7000-8000-00000000000{}"


@pytest.fixture
async def by_events(tmp_path: Any) -> Any:
    """Three runs that events alone tell of: two wrote `middle`, the third read it between them."""
    store = SqliteStore(tmp_path / "graph.db")
    await store.open()
    for number, (minute, reads, writes) in enumerate([(1, "/raw", "/middle"), (5, "/middle", "/out"), (9, "/raw", "/middle")], 1):
        for kind, second in (("START", 0), ("COMPLETE", 30)):
            stated = event(RUN.format(number), f"job{number}", kind, f"2026-01-31T10:{minute:02}:{second:02}Z", reads, writes)
            await fold(store, TENANT, [project_event(stated, event_stamp(stated, f"{number}{kind}"))])
    yield store
    await store.close()


@pytest.mark.parametrize("of_run", [True, False])
async def test_a_run_used_the_version_that_was_there_when_it_began(by_events: SqliteStore, of_run: bool) -> None:
    first, last = (f"version:file:/middle:{RUN.format(number)}" for number in (1, 3))
    asked = export_run(by_events, TENANT, f"run:{RUN.format(2)}") if of_run else export_dataset(by_events, TENANT, "dataset:file:/out")
    found = read_back(await asked)
    (usage,) = [record for record in found.get_records(ProvUsage) if ends(record)[:2] == [f"run:{RUN.format(2)}", first]]
    assert [str(name) for name, _ in usage.extra_attributes] == ["hw:inferred"]
    used = pairs(found, ProvUsage)
    assert (f"run:{RUN.format(2)}", first) in used
    assert not {(f"run:{RUN.format(2)}", other) for other in (last, "dataset:file:/middle")} & used
    assert (f"version:file:/out:{RUN.format(2)}", first) in pairs(found, ProvDerivation)
    assert of_run or (f"run:{RUN.format(1)}", "dataset:file:/raw") in used  # what the inferred version came from is followed


async def test_an_inferred_version_is_not_certain_after_an_import(by_events: SqliteStore, tmp_path: Any) -> None:
    written, document = exported(await export_dataset(by_events, TENANT, "dataset:file:/out"))
    store = SqliteStore(tmp_path / "again.db")
    await store.open()
    await take(store, document)
    edges = await store.neighbours(TENANT, [f"run:{RUN.format(2)}"], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
    assert [edge.src for edge in edges] == []
    assert b"inferred" in written
    await store.close()
