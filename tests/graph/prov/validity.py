"""The constraints of PROV-CONSTRAINTS that an export could break, checked on a document that was read back."""

from collections import Counter
from graphlib import TopologicalSorter
from typing import Any

from prov.model import (
    ProvActivity,
    ProvAgent,
    ProvBundle,
    ProvDerivation,
    ProvDocument,
    ProvEntity,
    ProvGeneration,
    ProvMembership,
    ProvRecord,
    ProvSpecialization,
)

# What the formal attributes of each relation must be (typing constraints 50 to 53). Influence takes anything.
_TYPES: dict[str, tuple[str, ...]] = {
    "Generation": ("entity", "activity"),
    "Usage": ("activity", "entity"),
    "Derivation": ("entity", "entity", "activity"),
    "Communication": ("activity", "activity"),
    "Association": ("activity", "agent", "entity"),
    "Delegation": ("agent", "agent"),
    "Specialization": ("entity", "entity"),
    "Membership": ("entity", "entity"),
}


def read_back(document: ProvDocument) -> ProvBundle:
    """The one bundle of the document as another program reads it from its JSON."""
    parsed = ProvDocument.deserialize(content=document.serialize(), format="json")
    assert parsed == document
    (bundle,) = parsed.bundles
    assert len(parsed.get_record(bundle.identifier)) == 1, "the bundle has no provenance of its own"
    return bundle


def assert_valid(bundle: ProvBundle) -> None:
    kinds = _kinds(bundle)
    for record in bundle.get_records():
        assert_typed(record, kinds)
    makers = Counter(ends(record)[0] for record in bundle.get_records(ProvGeneration))
    assert not [entity for entity, number in makers.items() if number > 1], "an entity has two generations"
    order: TopologicalSorter[Any] = TopologicalSorter()
    for record in bundle.get_records(ProvDerivation):
        order.add(*ends(record)[:2])
    order.prepare()  # raises CycleError for a circle of derivations
    assert all(special != general for special, general in pairs(bundle, ProvSpecialization))
    collections = {
        entity.identifier.localpart
        for entity in bundle.get_records(ProvEntity)
        if "prov:Collection" in map(str, entity.get_asserted_types())
    }
    assert {collection for collection, _ in pairs(bundle, ProvMembership)} <= collections


def assert_typed(record: ProvRecord, kinds: dict[str, str]) -> None:
    expected = _TYPES.get(record.get_type().localpart)
    if expected is None:
        return
    for value, kind in zip(ends(record), expected, strict=False):
        if value is not None:
            assert kinds.get(value) == kind, f"{record} names {value}, which is {kinds.get(value)} and not {kind}"


def ends(record: ProvRecord) -> list[str | None]:
    """What the relation joins, as node ids."""
    named = [None if value is None else value.localpart for name, value in record.formal_attributes if name.localpart != "time"]
    return named[:3]


def pairs(bundle: ProvBundle, relation: type[ProvRecord]) -> set[tuple[str | None, str | None]]:
    """The first two ends of all relations of a kind, as node ids."""
    return {(found[0], found[1]) for found in map(ends, bundle.get_records(relation))}


def _kinds(bundle: ProvBundle) -> dict[str, str]:
    """Each element once, and of one kind (impossibility 55: entity and activity are disjoint)."""
    kinds: dict[str, str] = {}
    for name, kind in (("entity", ProvEntity), ("activity", ProvActivity), ("agent", ProvAgent)):
        for element in bundle.get_records(kind):
            assert element.identifier.localpart not in kinds, f"{element.identifier} is declared twice"
            kinds[element.identifier.localpart] = name
    return kinds
