"""Every notation, read back by a reader that is not ours: the `prov` package, and rdflib."""

import json
from collections import Counter
from importlib.resources import files

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prov.model import ProvDocument
from rdflib import Dataset, Graph, URIRef

from headwater.errors import InvalidProvenanceError, UnsupportedError
from headwater.graph.prov.constraints import check
from headwater.graph.prov.model import PROV, SHAPES, XSD, Closed, Document, Kind, Literal, Name, Opened, Statement
from headwater.graph.prov.read import read
from headwater.graph.prov.terms import LABEL, TYPE, iri, term
from headwater.graph.prov.write import NOTATIONS, ProvFormat, write

# rdflib's own parsers, and the package's, use what rdflib means to remove.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated.*:DeprecationWarning")

BUNDLE = iri("bundle:x:2026-01-31T10%3A00")
A, B, C = (iri(f"dataset:file:/data/a%20b/({name})=c,d+~@'.") for name in "abc")
RUN, OTHER, AGENT, BOSS = iri("run:0198"), iri("run:0199"), iri("pipeline:local:flights"), iri("system:local")
TEXT = 'he said "no"\\ <&> \n\t é €'

EVERYTHING = [
    Opened(BUNDLE),
    Statement(Kind.ENTITY, A, (), ((TYPE, Name(term("Dataset"))), (TYPE, Name(f"{PROV}Collection")), (LABEL, TEXT), (term("rows"), 3))),
    Statement(Kind.ENTITY, B, (), ((term("ms"), 1_700_000_000_000), (term("ratio"), 0.5), (term("ok"), True), (term("none"), False))),
    Statement(Kind.ENTITY, C, (), ((LABEL, Literal("Wetter", None, "de")), (term("day"), Literal("2026-01-31", f"{XSD}date")))),
    Statement(Kind.ACTIVITY, RUN, ("2026-01-31T10:00:00Z", "2026-01-31T10:01:00.25Z"), ((TYPE, Name(term("Run"))),)),
    Statement(Kind.ACTIVITY, OTHER, (None, None)),
    Statement(Kind.AGENT, AGENT, (), ((TYPE, Name(f"{PROV}SoftwareAgent")),)),
    Statement(Kind.AGENT, BOSS),
    Statement(Kind.GENERATION, None, (A, RUN, "2026-01-31T10:01:00Z")),
    Statement(Kind.GENERATION, iri("g:1"), (B, RUN, None)),
    Statement(Kind.USAGE, None, (RUN, C, None)),
    Statement(Kind.USAGE, iri("u:1"), (RUN, C, None)),
    Statement(Kind.COMMUNICATION, None, (RUN, OTHER), ((term("link"), "implicit"),)),
    Statement(Kind.START, None, (RUN, C, OTHER, None)),
    Statement(Kind.END, None, (RUN, C, OTHER, "2026-01-31T10:01:00.25Z")),
    Statement(Kind.INVALIDATION, None, (C, OTHER, None)),
    Statement(Kind.DERIVATION, None, (A, C, RUN, None, None)),
    Statement(Kind.DERIVATION, None, (B, C, RUN, iri("g:1"), iri("u:1")), ((TYPE, Name(f"{PROV}Revision")),)),
    Statement(Kind.ATTRIBUTION, None, (A, BOSS)),
    Statement(Kind.ASSOCIATION, None, (RUN, AGENT, C)),
    Statement(Kind.DELEGATION, None, (AGENT, BOSS, RUN)),
    Statement(Kind.INFLUENCE, None, (A, B), ((TYPE, Name(term("Replay"))),)),
    Statement(Kind.SPECIALIZATION, None, (A, C)),
    Statement(Kind.ALTERNATE, None, (A, B)),
    Statement(Kind.MEMBERSHIP, None, (A, C)),
    Closed(BUNDLE),
    Statement(Kind.ENTITY, BUNDLE, (), ((TYPE, Name(f"{PROV}Bundle")), (term("where"), "a = 'b' AND c < 1"))),
    Statement(Kind.GENERATION, None, (BUNDLE, None, "2026-01-31T10:02:00Z")),
]
_READERS = {
    ProvFormat.JSON: {"format": "json"},
    ProvFormat.N: {"format": "provn"},
    ProvFormat.XML: {"format": "xml"},
    ProvFormat.TURTLE: {"format": "rdf", "rdf_format": "turtle"},
    ProvFormat.TRIG: {"format": "rdf", "rdf_format": "trig"},
    ProvFormat.JSONLD: {"format": "jsonld"},
}


def written(items, notation: ProvFormat) -> str:
    return b"".join(write(items, notation)).decode()


def by_the_package(items, notation: ProvFormat) -> ProvDocument:
    return ProvDocument.deserialize(content=written(items, notation), **_READERS[notation])


def said(statements) -> Counter:
    """Statements, whatever their order and that of their attributes."""
    return Counter((s.kind, s.id, s.args, tuple(sorted((name, repr(value)) for name, value in s.attributes))) for s in statements)


def told(document: Document):
    return said(document.statements), {name: said(statements) for name, statements in document.bundles.items()}


def test_everything_is_a_statement_of_every_kind_but_mention():
    assert {item.kind for item in EVERYTHING if isinstance(item, Statement)} == set(Kind) - {Kind.MENTION}
    assert check(Document.of(EVERYTHING)) == []


@pytest.mark.parametrize("notation", [ProvFormat.N, ProvFormat.XML, ProvFormat.JSONLD])
def test_the_package_reads_the_same_document_from_every_notation(notation):
    assert by_the_package(EVERYTHING, notation) == by_the_package(EVERYTHING, ProvFormat.JSON)


def test_the_package_reads_every_statement_from_json():
    document = by_the_package(EVERYTHING, ProvFormat.JSON)
    (bundle,) = document.bundles
    assert bundle.identifier.uri == BUNDLE
    kinds = Counter(record.get_type().localpart for record in bundle.get_records())
    assert sum(kinds.values()) == len(EVERYTHING) - 4
    (entity,) = [record for record in bundle.get_records() if record.identifier and record.identifier.uri == A and not record.is_relation()]
    assert entity.label == TEXT
    assert {str(kind) for kind in entity.get_asserted_types()} == {"hw:Dataset", "prov:Collection"}


def _says(record, other):
    """Whether a record of the package says at least what another does."""
    alike = record.get_type() == other.get_type() and record.identifier == other.identifier
    return record == other or (alike and bool(other.attributes) and set(other.attributes) <= set(record.attributes))


def test_what_is_said_in_trig_is_said_in_json_too():
    """PROV-O has the plain property next to the qualified one, which the package reads as a statement of its own."""
    (graph,) = by_the_package(EVERYTHING, ProvFormat.TRIG).bundles
    (bundle,) = by_the_package(EVERYTHING, ProvFormat.JSON).bundles
    spoken = graph.get_records()
    # The package reads `wasRevisionOf`, next to `wasDerivedFrom`, as one more attribute of the entity.
    lost = [record for record in bundle.get_records() if not any(_says(other, record) for other in spoken)]
    assert [str(record) for record in lost if record.get_type().localpart not in ("Influence", "Start", "End")] == []
    added = [record for record in spoken if not any(_says(record, other) for other in bundle.get_records())]
    assert all(not record.attributes[2:] or record.get_type().localpart in ("Influence", "Start", "End") for record in added)


def triples(graph) -> set[tuple[str, str, str]]:
    return {(str(s), str(p).rsplit("#", 1)[-1], str(o)) for s, p, o in graph if isinstance(o, URIRef)}


PLAIN = {
    Kind.GENERATION: "wasGeneratedBy", Kind.USAGE: "used", Kind.COMMUNICATION: "wasInformedBy", Kind.START: "wasStartedBy",
    Kind.END: "wasEndedBy", Kind.INVALIDATION: "wasInvalidatedBy", Kind.DERIVATION: "wasDerivedFrom",
    Kind.ATTRIBUTION: "wasAttributedTo", Kind.ASSOCIATION: "wasAssociatedWith", Kind.DELEGATION: "actedOnBehalfOf",
    Kind.INFLUENCE: "wasInfluencedBy", Kind.SPECIALIZATION: "specializationOf", Kind.ALTERNATE: "alternateOf",
    Kind.MEMBERSHIP: "hadMember",
}  # fmt: skip


@pytest.mark.parametrize("notation", [ProvFormat.TURTLE, ProvFormat.TRIG])
def test_rdflib_finds_every_relation_as_a_triple(notation):
    text = written(EVERYTHING, notation)
    if notation is ProvFormat.TRIG:
        graph = Dataset().parse(data=text, format="trig").graph(URIRef(BUNDLE))
    else:
        graph = Graph().parse(data=text, format="turtle")
    expected = {
        (item.args[0], PLAIN[item.kind], item.args[1])
        for item in EVERYTHING[: EVERYTHING.index(Closed(BUNDLE))]
        if isinstance(item, Statement) and item.kind in PLAIN
    }
    assert expected <= triples(graph)
    times = {str(o) for _, p, o in graph if str(p).endswith(("atTime", "startedAtTime", "endedAtTime"))}
    assert {"2026-01-31T10:00:00+00:00", "2026-01-31T10:01:00+00:00"} <= {time.replace("Z", "+00:00") for time in times}


def test_json_ld_is_the_rdf_that_its_context_says():
    """By a JSON-LD processor and the context of the submission: the qualified relations of the TriG document."""
    document = json.loads(written(EVERYTHING, ProvFormat.JSONLD))
    context = json.loads(files("prov.serializers").joinpath("prov-jsonld-context.jsonld").read_text())["@context"]
    document["@context"][1] = context
    graph = Dataset().parse(data=json.dumps(document), format="json-ld").graph(URIRef(BUNDLE))
    trig = Dataset().parse(data=written(EVERYTHING, ProvFormat.TRIG), format="trig").graph(URIRef(BUNDLE))

    def qualified(found):
        named = {p for _, p, _ in found if str(p).startswith(f"{PROV}qualified")}
        return {
            (str(s), str(p), frozenset((str(q), str(v)) for q, v in found.predicate_objects(o) if str(q).startswith(PROV)))
            for s, p, o in found
            if p in named
        }

    there = qualified(trig)
    assert len(there) > 8
    assert there <= qualified(graph)


@pytest.mark.parametrize("notation", [ProvFormat.JSON, ProvFormat.N])
def test_our_own_readers_give_back_what_was_written(notation):
    assert told(read(written(EVERYTHING, notation).encode())) == told(Document.of(EVERYTHING))


@pytest.mark.parametrize("notation", [ProvFormat.XML, ProvFormat.JSONLD, ProvFormat.TRIG])
def test_the_other_notations_are_read_through_the_package(notation):
    found = read(written(EVERYTHING, notation).encode())
    assert set(found.bundles) == {BUNDLE}
    kinds = Counter(s.kind for s in found.bundles[BUNDLE])
    expected = Counter(s.kind for s in Document.of(EVERYTHING).bundles[BUNDLE])
    assert all(kinds[kind] >= number for kind, number in expected.items())


def test_a_mention_has_no_term_in_json_ld():
    with pytest.raises(UnsupportedError, match="mentionOf"):
        written([Statement(Kind.MENTION, None, (A, B, BUNDLE))], ProvFormat.JSONLD)


NAMES = st.text(st.sampled_from("ab/._-~=+,@%2A:'()"), min_size=1, max_size=8).map(
    lambda text: iri("dataset:" + text.replace("%", "%25").replace("'", "%27").replace("(", "%28").replace(")", "%29") + "x")
)
VALUES = st.one_of(
    st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="".join(map(chr, range(32)))), max_size=20),
    st.integers(-(2**70), 2**70), st.booleans(), st.floats(allow_nan=False), NAMES.map(Name),
)  # fmt: skip


@st.composite
def statements(draw):
    kind = draw(st.sampled_from([kind for kind in Kind if kind not in (Kind.MENTION, Kind.ENTITY, Kind.AGENT, Kind.ACTIVITY)]))
    shape = SHAPES[kind]
    args = tuple(
        draw(NAMES)
        if place < max(shape.required, 2)
        else None
        if place in shape.times or kind is Kind.DERIVATION
        else draw(NAMES | st.none())
        for place in range(len(shape.arguments))
    )
    bare = kind in (Kind.SPECIALIZATION, Kind.ALTERNATE, Kind.MEMBERSHIP)
    return Statement(kind, None, args, () if bare else tuple(draw(st.lists(st.tuples(st.just(term("x")), VALUES), max_size=2))))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(statements(), max_size=6))
def test_whatever_is_stated_comes_back_from_json_and_provn(stated):
    for notation in (ProvFormat.JSON, ProvFormat.N):
        assert said(read(written(stated, notation).encode(), notation).statements) == said(stated)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(statements(), max_size=5))
def test_the_package_reads_whatever_is_stated(stated):
    number = len(by_the_package(stated, ProvFormat.JSON).get_records())
    assert number == len(stated)
    for notation in (ProvFormat.N, ProvFormat.XML, ProvFormat.JSONLD):
        assert len(by_the_package(stated, notation).get_records()) == number


@pytest.mark.parametrize("text", ["hello", "42", "no PROV at all"])
def test_what_begins_like_no_notation_is_not_taken_for_one(text):
    with pytest.raises(InvalidProvenanceError, match="begins like no notation") as raised:
        read(f"\n{text}\n".encode())
    assert raised.value.line == 2


def test_every_notation_has_a_media_type_of_its_own():
    assert len({notation.media_type for notation in NOTATIONS.values()}) == len(ProvFormat)
