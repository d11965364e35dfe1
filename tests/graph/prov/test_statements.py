"""What would break a constraint is said in the weaker form that holds."""

from hypothesis import given
from hypothesis import strategies as st
from prov.model import ProvDerivation, ProvDocument, ProvGeneration, ProvInfluence

from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import NAMESPACES, qname
from tests.graph.prov.validity import assert_valid, pairs

IDS = [f"version:file:/d{number}:0" for number in range(6)]


def statements() -> Statements:
    return Statements(ProvDocument(namespaces=list(NAMESPACES)).bundle(qname("bundle:x")))


def test_a_second_maker_of_an_entity_influenced_it():
    said = statements()
    said.entity("partition:/a:1:2", "Partition", "a")
    for run in ("run:1", "run:2"):
        said.activity(run, "Run", run, None, None)
        said.generated("partition:/a:1:2", run, None)
    said.close()
    assert pairs(said._bundle, ProvGeneration) == {("partition:/a:1:2", "run:1")}
    assert pairs(said._bundle, ProvInfluence) == {("partition:/a:1:2", "run:2")}
    assert said.weakened == 1


@given(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=20))
def test_no_set_of_derivations_makes_an_export_circular_or_forgets_one(stated):
    said = statements()
    for identifier in IDS:
        said.entity(identifier, "Version", identifier, types=["Collection"])
    for entity, source in stated:
        said.derived(entity, source, None)
    said.close()
    assert_valid(said._bundle)
    kept, weakened = pairs(said._bundle, ProvDerivation), pairs(said._bundle, ProvInfluence)
    assert kept | weakened == {pair for pair in stated if pair[0] != pair[1]}
    assert not kept & weakened


def test_derivations_without_a_circle_are_all_kept():
    said = statements()
    for identifier in IDS:
        said.entity(identifier, "Version", identifier)
    wanted = {(IDS[low], IDS[high]) for low in range(6) for high in range(low + 1, 6)}
    for entity, source in sorted(wanted):
        said.derived(entity, source, None)
    said.close()
    assert pairs(said._bundle, ProvDerivation) == wanted
    assert said.weakened == 0
