"""An export as others read it, and as the validator judges it."""

from typing import Any

from prov.model import ProvBundle, ProvDocument, ProvRecord

from headwater.graph.prov import Export, ProvFormat, write
from headwater.graph.prov.constraints import check
from headwater.graph.prov.read import read


def document_of(export: Export) -> ProvDocument:
    """The whole document, as the `prov` package reads its JSON; valid by every constraint."""
    written = b"".join(write(export.items(), ProvFormat.JSON, export.namespaces))
    assert check(read(written)) == []
    return ProvDocument.deserialize(content=written.decode(), format="json")


def read_back(export: Export) -> ProvBundle:
    """The one bundle of an export."""
    document = document_of(export)
    (bundle,) = document.bundles
    assert len(document.get_record(bundle.identifier)) == 1, "the bundle has no provenance of its own"
    return bundle


def ends(record: ProvRecord) -> list[str | None]:
    """The nodes that the relation joins."""
    named = [None if value is None else value.localpart for name, value in record.formal_attributes if name.localpart != "time"]
    return named[:3]


def pairs(bundle: ProvBundle, relation: type[ProvRecord]) -> set[tuple[Any, Any]]:
    """The first two ends of all relations of a kind, as node ids."""
    return {(found[0], found[1]) for found in map(ends, bundle.get_records(relation))}
