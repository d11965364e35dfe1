"""A statement that would break a constraint is made in the weaker form that holds."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.prov.buffer import StatementBuffer
from headwater.graph.prov.constraints import check
from headwater.graph.prov.model import Document, Kind, Name, Statement
from headwater.graph.prov.statements import Statements
from headwater.graph.prov.terms import NODE

IDS = [f"version:file:/d{number}:0" for number in range(6)]
PAIRS = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(IDS)), max_size=20)


def found(said: Statements, kind: Kind) -> set[tuple[str, ...]]:
    return {tuple(str(arg).removeprefix(NODE) for arg in item.args[:2]) for item in said.buffer if item.kind is kind}


def test_a_second_maker_of_an_entity_influenced_it():
    said = Statements()
    said.entity("partition:/a:1:2", "Partition", "a")
    for run in ("run:1", "run:2"):
        said.activity(run, "Run", run, None, None)
        said.generated("partition:/a:1:2", run, None)
    said.close()
    assert found(said, Kind.GENERATION) == {("partition:/a:1:2", "run:1")}
    assert found(said, Kind.INFLUENCE) == {("partition:/a:1:2", "run:2")}
    assert said.weakened == 1


def test_what_is_more_than_a_little_is_kept_in_a_file_in_its_order():
    said = StatementBuffer()
    statements = [Statement(Kind.ENTITY, f"urn:{number}", (), (("label", Name("é" * 50)),)) for number in range(23_456)]
    for statement in statements:
        said.append(statement)
    assert len(said._last) < 5_000  # the rest is not in memory
    assert list(said) == statements
    assert [type(statement.attributes[0][1]) for statement in said] == [Name] * len(statements), "reading twice"


@given(PAIRS, st.sets(st.tuples(st.sampled_from(IDS[:3]), st.sampled_from(IDS[3:]))))
def test_no_set_of_derivations_makes_an_export_circular_or_forgets_one(stated, specializations):
    said = Statements()
    for identifier in IDS:
        said.entity(identifier, "Version", identifier, types=["Collection"])
    for special, general in specializations:
        said.specializes(special, general)
    for entity, source in stated:
        said.derived(entity, source, None)
    said.close()
    assert check(Document.of(said.buffer)) == []
    kept, weakened = found(said, Kind.DERIVATION), found(said, Kind.INFLUENCE)
    assert kept | weakened == {pair for pair in stated if pair[0] != pair[1]}
    assert not kept & weakened


def test_derivations_without_a_circle_are_all_kept():
    said = Statements()
    for identifier in IDS:
        said.entity(identifier, "Version", identifier)
    wanted = {(IDS[low], IDS[high]) for low in range(6) for high in range(low + 1, 6)}
    for entity, source in sorted(wanted):
        said.derived(entity, source, None)
    said.close()
    assert found(said, Kind.DERIVATION) == wanted
    assert said.weakened == 0
