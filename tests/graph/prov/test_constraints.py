"""PROV-CONSTRAINTS, clause by clause: what satisfies each and what breaks it, in PROV-N as the Recommendation writes its examples."""

import json

import pytest

from headwater.errors import InvalidProvenanceError
from headwater.graph.prov.constraints import CONSTRAINTS, check, require_valid
from headwater.graph.prov.read.json import read_json
from headwater.graph.prov.read.provn import read_provn

# (constraint, what is valid, what breaks it)
CASES = {
    "22: an activity has one start time": (
        22,
        "activity(a1, 2011-11-16T16:05:00, 2011-11-16T16:06:00) activity(a1, -, 2011-11-16T16:06:00, [prov:label='l'])",
        "activity(a1, 2011-11-16T16:05:00, 2011-11-16T16:06:00) activity(a1, 2011-11-16T16:05:01, -)",
    ),
    "22: two spellings of one instant are one time": (
        22,
        "activity(a1, 2011-11-16T16:05:00Z, -) activity(a1, 2011-11-16T17:05:00+01:00, -)",
        "activity(a1, 2011-11-16T16:05:00Z, -) activity(a1, 2011-11-16T16:05:00+01:00, -)",
    ),
    "23: one identifier, one generation": (
        23,
        "wasGeneratedBy(g; e, a, -) wasGeneratedBy(g; e, -, 2011-11-16T16:05:00)",
        "wasGeneratedBy(g; e1, a, -) wasGeneratedBy(g; e2, a, -)",
    ),
    "23: one identifier, one usage": (23, "used(u; a, e, -) used(u; a, -, 2011-11-16T16:05:00)", "used(u; a, e1, -) used(u; a, e2, -)"),
    "23: one identifier, one communication": (
        23, 'wasInformedBy(c; a2, a1) wasInformedBy(c; a2, a1, [prov:label="x"])', "wasInformedBy(c; a2, a1) wasInformedBy(c; a3, a1)",
    ),
    "23: an association with a plan is another than one without": (
        23, "wasAssociatedWith(s; a, ag, p) wasAssociatedWith(s; a, -, p)", "wasAssociatedWith(s; a, ag, p) wasAssociatedWith(s; a, ag, -)",
    ),
    "23: one identifier, one delegation": (
        23, "actedOnBehalfOf(d; x, y, -) actedOnBehalfOf(d; x, y, a)", "actedOnBehalfOf(d; x, y, a1) actedOnBehalfOf(d; x, y, a2)",
    ),
    "23: one identifier, one attribution": (23, "wasAttributedTo(t; e, x)", "wasAttributedTo(t; e, x) wasAttributedTo(t; e, y)"),
    "23: a derivation without an activity is another than one with": (
        23,
        "wasDerivedFrom(d; e2, e1, a, -, -) wasDerivedFrom(d; e2, e1, a, g, u)",
        "wasDerivedFrom(d; e2, e1) wasDerivedFrom(d; e2, e1, a, -, -)",
    ),
    "23: every relation is an influence (inference 15)": (
        23, "used(i; a, e, -) wasInfluencedBy(i; a, e)", "used(i; a, e, -) wasInfluencedBy(i; a, e2)",
    ),
    "23: two merged generations have one time": (
        23,
        "wasGeneratedBy(e, a, 2011-11-16T16:05:00) wasGeneratedBy(e, a, -)",
        "wasGeneratedBy(e, a, 2011-11-16T16:05:00) wasGeneratedBy(e, a, 2011-11-16T16:05:01)",
    ),
    "23: a derivation's generation is that of its entity (inference 11)": (
        23, "wasDerivedFrom(e2, e1, a, g, -) wasGeneratedBy(g; e2, a, -)", "wasDerivedFrom(e2, e1, a, g, -) wasGeneratedBy(g; e3, a, -)",
    ),
    "23: a derivation's usage is of its source (inference 11)": (
        23, "wasDerivedFrom(e2, e1, a, -, u) used(u; a, e1, -)", "wasDerivedFrom(e2, e1, a, -, u) used(u; a, e3, -)",
    ),
    "24: one generation by one activity": (
        24, "wasGeneratedBy(g1; e, a, -) wasGeneratedBy(g2; e, b, -)", "wasGeneratedBy(g1; e, a, -) wasGeneratedBy(g2; e, a, -)",
    ),
    "24: through a derivation (inference 11)": (
        24, "wasDerivedFrom(e, e1, a, -, -) wasGeneratedBy(g2; e, a, -)", "wasDerivedFrom(e, e1, a, g1, -) wasGeneratedBy(g2; e, a, -)",
    ),
    "25: one invalidation by one activity": (
        25, "wasInvalidatedBy(i1; e, a, -) wasInvalidatedBy(i2; e, b, -)", "wasInvalidatedBy(i1; e, a, -) wasInvalidatedBy(i2; e, a, -)",
    ),
    "26: one start by one starter": (
        26, "wasStartedBy(s1; a, e, b, -) wasStartedBy(s2; a, e, c, -)", "wasStartedBy(s1; a, e1, b, -) wasStartedBy(s2; a, e2, b, -)",
    ),
    "27: one end by one ender": (
        27, "wasEndedBy(s1; a, e, b, -) wasEndedBy(s2; a, e, c, -)", "wasEndedBy(s1; a, e1, b, -) wasEndedBy(s2; a, e2, b, -)",
    ),
    "28: the start time is that of the start": (
        28,
        "activity(a, 2011-11-16T16:05:00, -) wasStartedBy(a, e, -, 2011-11-16T16:05:00)",
        "activity(a, 2011-11-16T16:05:00, -) wasStartedBy(a, e, -, 2011-11-16T16:05:01)",
    ),
    "28: two starts of an activity have one time": (
        28,
        "activity(a) wasStartedBy(a, e, -, 2011-11-16T16:05:00) wasStartedBy(a, f, -, 2011-11-16T16:05:00)",
        "activity(a) wasStartedBy(a, e, -, 2011-11-16T16:05:00) wasStartedBy(a, f, -, 2011-11-16T16:05:01)",
    ),
    "29: the end time is that of the end": (
        29,
        "activity(a, -, 2011-11-16T16:05:00) wasEndedBy(a, e, -, 2011-11-16T16:05:00)",
        "activity(a, -, 2011-11-16T16:05:00) wasEndedBy(a, e, -, 2011-11-16T16:05:01)",
    ),
    "42: a derivation takes time": (
        42,
        "entity(e1) entity(e2) entity(e3) wasDerivedFrom(e2, e1) wasDerivedFrom(e3, e2) wasDerivedFrom(e3, e1)",
        "entity(e1) entity(e2) entity(e3) wasDerivedFrom(e2, e1) wasDerivedFrom(e3, e2) wasDerivedFrom(e1, e3)",
    ),
    "42: nothing derives from itself": (42, "entity(e) entity(f) wasDerivedFrom(e, f)", "entity(e) wasDerivedFrom(e, e)"),
    "42 with 45: nor from what is a specialization of it": (
        42,
        "entity(e) entity(v) specializationOf(v, e) wasDerivedFrom(v, e)",
        "entity(e) entity(v) specializationOf(v, e) wasDerivedFrom(e, v)",
    ),
    "42 with 43 and 34: nor from what an activity made that it started": (
        42,
        "entity(e) entity(f) activity(a) wasStartedBy(a, e, -, -) wasGeneratedBy(f, a, -) wasDerivedFrom(f, e)",
        "entity(e) entity(f) activity(a) wasStartedBy(a, e, -, -) wasGeneratedBy(f, a, -) wasDerivedFrom(e, f)",
    ),
    "42 with 43, 9 and 34: also through the starter's starter": (
        42,
        ("entity(e) entity(f) activity(a) activity(b) wasStartedBy(a, e, -, -) wasStartedBy(b, -, a, -) wasGeneratedBy(f, b, -)"
         " wasDerivedFrom(f, e)"),
        ("entity(e) entity(f) activity(a) activity(b) wasStartedBy(a, e, -, -) wasStartedBy(b, -, a, -) wasGeneratedBy(f, b, -)"
         " wasDerivedFrom(e, f)"),
    ),
    "42 with 37 and 41: a usage lies between": (
        42,
        "entity(e1) entity(e2) entity(e3) wasDerivedFrom(e2, e1, a, g, u) used(u; a, e1, -) wasDerivedFrom(e3, e2)",
        "entity(e1) entity(e2) entity(e3) wasDerivedFrom(e2, e1, a, g, u) used(u; a, e1, -) wasDerivedFrom(e1, e3) wasDerivedFrom(e3, e2)",
    ),
    "42 with 48: what an agent answers for is not its source": (
        42,
        "entity(x) entity(e) wasAttributedTo(e, x) wasDerivedFrom(e, x)",
        "entity(x) entity(e) wasAttributedTo(e, x) wasDerivedFrom(x, e)",
    ),
    "42 with 39: two generations are simultaneous": (
        42,
        "entity(e) entity(f) activity(a) wasStartedBy(a, f, -, -) wasGeneratedBy(g1; e, a, -) wasGeneratedBy(g2; e, b, -)",
        ("entity(e) entity(f) activity(a) wasStartedBy(a, f, -, -) wasGeneratedBy(g1; e, a, -) wasGeneratedBy(g2; e, b, -)"
         " wasDerivedFrom(f, e)"),
    ),
    "51: a generation without its activity": (
        51, "wasDerivedFrom(e2, e1, a, g, -)", "wasDerivedFrom(e2, e1, -, g, -)",
    ),
    "51: a usage without its activity": (51, "wasDerivedFrom(e2, e1, a, -, u)", "wasDerivedFrom(e2, e1, -, -, u)"),
    "52: no specialization of itself": (52, "specializationOf(e1, e2)", "specializationOf(e1, e1)"),
    "52: not through others either (inference 19)": (
        52,
        "specializationOf(e1, e2) specializationOf(e2, e3)",
        "specializationOf(e1, e2) specializationOf(e2, e3) specializationOf(e3, e1)",
    ),
    "53: one identifier, one kind of relation": (
        53,
        "used(i; a, e, -) wasGeneratedBy(j; e, a, -)",
        "used(i; a, x, -) wasAssociatedWith(i; a, x, -)",
    ),
    "54: a relation is no object": (54, "used(i; a, e, -) entity(j)", "used(i; a, e, -) entity(i)"),
    "55: an entity is no activity": (55, "entity(e) activity(a) agent(a) agent(e)", "entity(e) activity(e)"),
    "55: by the types of arguments (constraint 50)": (55, "used(a, e, -) wasGeneratedBy(e, a, -)", "used(a, e, -) wasGeneratedBy(a, e, -)"),
    "55: a plan is an entity (constraint 50)": (55, "wasAssociatedWith(a, ag, p) entity(p)", "wasAssociatedWith(a, ag, p) activity(p)"),
    "56: an empty collection has no member": (
        56,
        "entity(c, [prov:type='prov:Collection']) hadMember(c, e)",
        "entity(c, [prov:type='prov:EmptyCollection']) hadMember(c, e)",
    ),
    "56: nor has a specialization of one (inference 21)": (
        56,
        "entity(c, [prov:type='prov:EmptyCollection']) specializationOf(d, c) hadMember(b, e)",
        "entity(c, [prov:type='prov:EmptyCollection']) specializationOf(d, c) hadMember(d, e)",
    ),
}  # fmt: skip

# Nothing that these order can be followed by a generation, so no instance breaks them by itself (PROV-CONSTRAINTS 6.2).
UNBREAKABLE = {30, 31, 32, 35, 36, 38, 40, 44, 46, 47, 49}
WITH_42 = {33, 34, 37, 39, 41, 43, 45, 48}
WITH_55 = {50}


def violations(statements: str):
    one_a_line = "\n".join(f"{part})" for part in statements.split(")") if part.strip())
    return check(read_provn(f"document\ndefault <http://example.org/>\n{one_a_line}\nendDocument"))


@pytest.mark.parametrize("name", CASES)
def test_what_satisfies_a_constraint_is_valid(name):
    assert violations(CASES[name][1]) == []


@pytest.mark.parametrize("name", CASES)
def test_what_breaks_a_constraint_is_named_by_its_number_and_line(name):
    constraint, _, broken = CASES[name]
    found = violations(broken)
    assert {violation.constraint for violation in found} == {constraint}
    lines = broken.count(")")
    assert all(3 <= violation.line < 3 + lines for violation in found)
    assert found[0].clause == f"Constraint {constraint} ({CONSTRAINTS[constraint]})"


def test_every_constraint_is_accounted_for():
    assert {constraint for constraint, _, _ in CASES.values()} | UNBREAKABLE | WITH_42 | WITH_55 == set(CONSTRAINTS)


@pytest.mark.parametrize(
    "statements",
    [
        "activity(a, 2012-01-01T00:00:00, 2011-01-01T00:00:00)",  # 30: events are ordered, not clocks
        "activity(a) wasStartedBy(s1; a, e1, -, -) wasStartedBy(s2; a, e2, -, -)",
        "entity(e) wasInvalidatedBy(i1; e, a1, -) wasInvalidatedBy(i2; e, a2, -) used(b, e, -)",
        "activity(a1) activity(a2) wasInformedBy(a1, a2) wasInformedBy(a2, a1)",
        "entity(e) entity(v) specializationOf(v, e) wasInvalidatedBy(e, a, -) wasInvalidatedBy(v, b, -)",
        "activity(a) agent(x) agent(y) wasAssociatedWith(a, x, -) actedOnBehalfOf(x, y, -) actedOnBehalfOf(y, x, -)",
        "entity(e) wasDerivedFrom(e, f) wasDerivedFrom(f, e)",  # 42 wants generations, and nothing says that f is an entity
        "wasInfluencedBy(x, y) wasInfluencedBy(y, x) alternateOf(e, f) alternateOf(f, e)",
    ],
)
def test_what_only_looks_wrong_is_valid(statements):
    assert violations(statements) == []


def test_each_bundle_is_looked_at_by_itself():
    text = """document
prefix ex <http://example.org/>
entity(ex:e1)
entity(ex:e2)
wasDerivedFrom(ex:e1, ex:e2)
bundle ex:b
entity(ex:e1)
entity(ex:e2)
wasDerivedFrom(ex:e2, ex:e1)
endBundle
bundle ex:c
specializationOf(ex:e2, ex:e2)
endBundle
endDocument"""
    (found,) = check(read_provn(text))
    assert (found.constraint, found.line, found.bundle) == (52, 12, "http://example.org/c")


def test_a_circle_says_by_which_constraints_it_closes():
    (found,) = violations(CASES["42 with 37 and 41: a usage lies between"][2])[:1]
    assert "http://example.org/e" in found.message
    assert "constraint" in found.message


BUNDLE = "document\nprefix ex <http://example.org/>\n{top}\nbundle ex:b\n{within}\nendBundle\nendDocument"


@pytest.mark.parametrize("top", ["activity(ex:b)", "used(ex:b, ex:e, -)", "wasGeneratedBy(ex:e, ex:b, -)", "wasInformedBy(ex:b, ex:a)"])
def test_a_bundle_is_an_entity_and_so_no_activity(top):
    (found,) = check(read_provn(BUNDLE.format(top=top, within="entity(ex:x)")))
    assert (found.constraint, found.line, found.bundle) == (55, 3, None)
    assert "http://example.org/b is an entity in the bundle of that name and an activity" in found.message
    (found,) = check(read_provn(BUNDLE.format(top="entity(ex:e)", within="activity(ex:b)")))
    assert (found.constraint, found.line, found.bundle) == (55, 5, "http://example.org/b")


def test_provenance_of_a_bundle_is_valid():
    top = "entity(ex:b, [prov:type='prov:Bundle'])\nagent(ex:b)\nwasGeneratedBy(ex:b, ex:a, -)\nwasAttributedTo(ex:b, ex:g)"
    assert check(read_provn(BUNDLE.format(top=top, within="entity(ex:x)"))) == []


@pytest.mark.parametrize(
    "statement",
    ['entity(e, [prov:colour="red"])', "used(a, e, -, [prov:startTime=1])", 'agent(g, [p:Value="x"])', 'hadMember(c, e, [prov:of="x"])'],
)
def test_an_attribute_of_provs_namespace_must_be_one_that_prov_defines(statement):
    text = f"document\ndefault <http://example.org/>\nprefix p <http://www.w3.org/ns/prov#>\n{statement}\nendDocument"
    (found,) = check(read_provn(text))
    assert (found.line, found.clause) == (4, "PROV-DM 5.7.2 (attribute)")
    assert "its own are prov:label, prov:location, prov:role, prov:type, prov:value" in found.message
    with pytest.raises(InvalidProvenanceError, match=r"is no attribute of PROV") as raised:
        require_valid(read_provn(text))
    assert raised.value.clause == "PROV-DM 5.7.2"


def test_attributes_that_prov_defines_and_those_of_others_are_valid():
    own = 'prov:label="x", prov:type=\'ex:T\', prov:location="here", prov:value=1'
    others = 'ex:colour="red", provx:type="x"'
    text = f"""document
prefix ex <http://example.org/>
prefix provx <http://www.w3.org/ns/prov-extended#>
entity(ex:e, [{own}, {others}])
used(ex:a, ex:e, -, [prov:role="x", {others}])
endDocument"""
    assert check(read_provn(text)) == []


AGREEING = [
    'entity(e, [prov:label="x"]) entity(e, [prov:label="x"])',
    "entity(e, [prov:type='t']) entity(e, [prov:label=\"x\"])",
    "wasGeneratedBy(g; e, a, 2026-01-01T00:00:00Z) wasGeneratedBy(e, a, -)",
    "wasGeneratedBy(e, a, 2026-01-01T00:00:00Z) wasGeneratedBy(e, a, 2026-01-01T01:00:00+01:00)",
    "wasGeneratedBy(g; e, a, 2026-01-01T24:00:00Z) wasGeneratedBy(g; e, a, 2026-01-02T00:00:00Z)",
    "wasGeneratedBy(g; e, a, 2026-12-31T23:30:00-01:00) wasGeneratedBy(g; e, a, 2027-01-01T00:30:00.0Z)",
    "wasGeneratedBy(g; e, a, 12026-02-28T00:00:00.5Z) wasGeneratedBy(g; e, a, 12026-02-28T00:00:00.50Z)",
    "wasInvalidatedBy(e, a, -) wasInvalidatedBy(i; e, a, 2026-01-01T00:00:00Z)",
    "wasDerivedFrom(d; e, f, a, g, -) wasDerivedFrom(d; e, f, a, -, u)",
]


@pytest.mark.parametrize("statements", AGREEING)
def test_two_statements_about_one_entity_that_agree_are_one(statements):
    assert violations(statements) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.1234568Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00"),
        ("12026-01-01T00:00:00Z", "12026-01-01T00:00:00+01:00"),
    ],
)
def test_two_statements_about_one_entity_that_differ_in_time_are_not(one, other):
    (found, *_) = violations(f"wasGeneratedBy(g; e, a, {one}) wasGeneratedBy(g; e, a, {other})")
    assert found.constraint == 23


def test_two_statements_under_one_name_of_prov_json_agree_or_not():
    said = {"prov:entity": "ex:e", "prov:activity": "ex:a"}
    for second, constraints in (({"prov:time": "2026-01-01T00:00:00Z"}, set()), ({"prov:activity": "ex:b"}, {23})):
        document = {
            "prefix": {"ex": "http://example.org/"},
            "entity": {"ex:e": [{"prov:label": "x"}, {"ex:size": 3}]},
            "wasGeneratedBy": {"ex:g": [said, {**said, **second}]},
        }
        assert {found.constraint for found in check(read_json(json.dumps(document)))} == constraints
