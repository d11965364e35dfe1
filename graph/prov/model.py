"""Statements of PROV as plain values: what writers write, readers read and the validator checks.

For streams of millions of them, so a statement is a tuple and knows nothing of any notation. Names are whole IRIs; a prefix is a matter of
the notation. A document is a sequence of statements and bundles; a bundle holds statements alone (PROV-DM 5.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from headwater.errors import InvalidProvenanceError

PROV = "http://www.w3.org/ns/prov#"
XSD = "http://www.w3.org/2001/XMLSchema#"
_MOST_NAMESPACES = 1_000


class Kind(StrEnum):
    """The types and relations of PROV-DM, named as in PROV-N and PROV-JSON."""

    ENTITY = "entity"
    ACTIVITY = "activity"
    AGENT = "agent"
    GENERATION = "wasGeneratedBy"
    USAGE = "used"
    COMMUNICATION = "wasInformedBy"
    START = "wasStartedBy"
    END = "wasEndedBy"
    INVALIDATION = "wasInvalidatedBy"
    DERIVATION = "wasDerivedFrom"
    ATTRIBUTION = "wasAttributedTo"
    ASSOCIATION = "wasAssociatedWith"
    DELEGATION = "actedOnBehalfOf"
    INFLUENCE = "wasInfluencedBy"
    SPECIALIZATION = "specializationOf"
    ALTERNATE = "alternateOf"
    MEMBERSHIP = "hadMember"
    MENTION = "mentionOf"


class Shape(NamedTuple):
    """The parts of a statement of a kind: its formal arguments in the order of PROV-N, the number of required ones, and the times."""

    arguments: tuple[str, ...]
    required: int
    times: frozenset[int] = frozenset()
    section: str = ""  # of PROV-DM


ELEMENTS = frozenset({Kind.ENTITY, Kind.ACTIVITY, Kind.AGENT})
# Specialization, alternate, membership and mention have neither an identifier nor attributes (PROV-DM 5.5, 5.6).
BARE = frozenset({Kind.SPECIALIZATION, Kind.ALTERNATE, Kind.MEMBERSHIP, Kind.MENTION})

SHAPES: Mapping[Kind, Shape] = {
    Kind.ENTITY: Shape((), 0, section="5.1.1"),
    Kind.ACTIVITY: Shape(("startTime", "endTime"), 0, frozenset({0, 1}), "5.1.2"),
    Kind.AGENT: Shape((), 0, section="5.3.1"),
    Kind.GENERATION: Shape(("entity", "activity", "time"), 1, frozenset({2}), "5.1.3"),
    Kind.USAGE: Shape(("activity", "entity", "time"), 1, frozenset({2}), "5.1.4"),
    Kind.COMMUNICATION: Shape(("informed", "informant"), 2, section="5.1.5"),
    Kind.START: Shape(("activity", "trigger", "starter", "time"), 1, frozenset({3}), "5.1.6"),
    Kind.END: Shape(("activity", "trigger", "ender", "time"), 1, frozenset({3}), "5.1.7"),
    Kind.INVALIDATION: Shape(("entity", "activity", "time"), 1, frozenset({2}), "5.1.8"),
    Kind.DERIVATION: Shape(("generatedEntity", "usedEntity", "activity", "generation", "usage"), 2, section="5.2.1"),
    Kind.ATTRIBUTION: Shape(("entity", "agent"), 2, section="5.3.2"),
    Kind.ASSOCIATION: Shape(("activity", "agent", "plan"), 1, section="5.3.3"),
    Kind.DELEGATION: Shape(("delegate", "responsible", "activity"), 2, section="5.3.4"),
    Kind.INFLUENCE: Shape(("influencee", "influencer"), 2, section="5.3.5"),
    Kind.SPECIALIZATION: Shape(("specificEntity", "generalEntity"), 2, section="5.5.1"),
    Kind.ALTERNATE: Shape(("alternate1", "alternate2"), 2, section="5.5.2"),
    Kind.MEMBERSHIP: Shape(("collection", "entity"), 2, section="5.6.2"),
    Kind.MENTION: Shape(("specificEntity", "generalEntity", "bundle"), 3),
}


class Name(str):
    """The value of an attribute that names something: an IRI."""

    __slots__ = ()


class Literal(NamedTuple):
    """A value with a datatype (an IRI), or a text with a language."""

    text: str
    datatype: str | None = None
    language: str | None = None


Value = str | bool | int | float | Name | Literal
Attributes = tuple[tuple[str, Value], ...]


class Statement(NamedTuple):
    """One statement. `args` has the places of the kind's shape, None where nothing is said; times are texts of ISO 8601.

    `line` is where a reader found it, from 1; 0 where it was never written down.
    """

    kind: Kind
    id: str | None
    args: tuple[str | None, ...] = ()
    attributes: Attributes = ()
    line: int = 0


class Opened(NamedTuple):
    """The begin of a bundle in a document."""

    id: str
    line: int = 0


class Closed(NamedTuple):
    """The end of a bundle in a document."""

    id: str


Item = Statement | Opened | Closed


@dataclass(slots=True)
class Document:
    """A whole document that was read. `namespaces` are the declared ones by prefix; "" is the default."""

    statements: list[Statement] = field(default_factory=list)
    bundles: dict[str, list[Statement]] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)

    def declare(self, own: Mapping[str, str]) -> None:
        """Add the namespaces of a bundle. A prefix that the document already uses for another namespace gets another name.

        Raises:
            InvalidProvenanceError: the document declares too many namespaces.
        """
        for prefix, base in own.items():
            name = prefix or "ns"
            if self.namespaces.get(name, base) != base:
                if base in self.namespaces.values():
                    continue
                name = f"{name}_{len(self.namespaces)}"
                while name in self.namespaces:
                    name += "_"
            self.namespaces[name] = base
            self.check_namespaces()

    def check_namespaces(self) -> None:
        """Refuse a document that declares too many namespaces: each name is looked up among them.

        Raises:
            InvalidProvenanceError: it declares too many.
        """
        if len(self.namespaces) > _MOST_NAMESPACES:
            raise InvalidProvenanceError(
                f"the document declares more than {_MOST_NAMESPACES:,} namespaces.",
                clause="PROV-DM 5.7.1",
                hint="Declare those that it uses, or send it in parts.",
            )

    def instances(self) -> Iterator[tuple[str | None, Sequence[Statement]]]:
        """Return the top level (None) and each bundle. PROV-CONSTRAINTS checks them one by one (section 7.2)."""
        yield None, self.statements
        yield from self.bundles.items()

    @classmethod
    def of(cls, items: Iterable[Item]) -> Document:
        document = cls()
        current = document.statements
        for item in items:
            if isinstance(item, Statement):
                current.append(item)
            else:
                current = document.bundles.setdefault(item.id, []) if isinstance(item, Opened) else document.statements
        return document
