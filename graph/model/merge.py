"""Merges facts, so that every store reaches the same content from the same statements, in whatever order and number they arrive.

A fact is a property of one element (or a node's name). It has the value with the greatest (rank, stamp), and between equal stamps the value
whose JSON is greater. This is a join of a semilattice, so merging is commutative, associative and idempotent. The `stamps` of each element
make later merges correct, and readers never see them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.errors import InvalidInputError
from headwater.graph.model.elements import Stamp

NAME = ""  # the fact with a node's name, so no property may have an empty name

Precedence = tuple[int, str, str]  # rank, time, key

_quoted = json.encoder.encode_basestring_ascii


def _encoder() -> Callable[[Any], str]:
    """Return an encoder like `json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)` that keeps its inner encoder.

    Making the inner encoder costs more than encoding the two or three properties of most elements.
    """
    whole = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
    make = getattr(json.encoder, "c_make_encoder", None)  # written in C; not every Python has it
    if make is None:
        return whole.encode
    inner = make(None, whole.default, _quoted, None, ":", ",", True, False, False)
    return lambda value: "".join(inner(value, 0))


_encode = _encoder()


def canonical(value: Any) -> str:
    """Return JSON text that is the same for equal values: keys sorted, no spaces, ASCII.

    Raises:
        InvalidInputError: the value contains a NaN, an infinity or an object that JSON lacks.
    """
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"A property is not JSON: {error}.", field="properties", hint="Write it as a text or a null.") from error


@dataclass(slots=True)
class Facts:
    """The facts of one element. `values` has None for a fact that was retracted."""

    values: dict[str, Any] = field(default_factory=dict)
    precedence: dict[str, Precedence] = field(default_factory=dict)
    _texts: tuple[str, str] | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.precedence)

    def state(self, name: str, value: Any, precedence: Precedence) -> None:
        """Add a value, unless a value with precedence is known."""
        known = self.precedence.get(name)
        if known is not None and (known > precedence or (known == precedence and canonical(self.values[name]) >= canonical(value))):
            return
        self.values[name] = value
        self.precedence[name] = precedence
        self._texts = None

    def copy(self) -> Facts:
        """Return facts of another element that begin with the same statements."""
        return Facts(dict(self.values), dict(self.precedence), self._texts)

    def state_all(self, properties: Mapping[str, Any], ranks: Mapping[str, int], stamp: Stamp) -> None:
        """Add the statements of a batch about the element.

        Raises:
            InvalidInputError: a property has no name.
        """
        if NAME in properties:
            raise InvalidInputError("A property has no name.", field="properties", hint="Give it one, or leave it out.")
        plain = (0, stamp.time, stamp.key)
        if not ranks and (not self.precedence or self.precedence.keys().isdisjoint(properties)):
            self.values.update(properties)
            self.precedence.update(dict.fromkeys(properties, plain))
            self._texts = None
            return
        for name, value in properties.items():
            self.state(name, value, (ranks[name], stamp.time, stamp.key) if name in ranks else plain)

    def absorb(self, other: Facts) -> None:
        for name, precedence in other.precedence.items():
            self.state(name, other.values[name], precedence)

    def visible(self) -> dict[str, Any]:
        """Return the properties that a reader sees."""
        return {name: value for name, value in self.values.items() if value is not None and name != NAME}

    def dump(self) -> tuple[str, str]:
        """Return properties and stamps as the texts that a store keeps. The properties' text is canonical."""
        if self._texts is None:
            self._texts = self._dumped()
        return self._texts

    def _dumped(self) -> tuple[str, str]:
        visible = self.visible()
        groups: dict[Precedence, list[str]] = {}
        for name, precedence in self.precedence.items():
            groups.setdefault(precedence, []).append(name)
        # Inlined from `canonical`: this runs for every element, and takes a fifth of the time.
        stamps = [
            f"[{rank},{_quoted(time)},{_quoted(key)},[{','.join(map(_quoted, sorted(names)))}]]"
            for (rank, time, key), names in sorted(groups.items())
        ]
        return canonical(visible) if visible else "{}", f"[{','.join(stamps)}]"

    def alone(self) -> tuple[Precedence, list[str]] | None:
        """Return the precedence and the sorted names of facts that one statement made. None if there were several statements."""
        precedences = set(self.precedence.values())
        return (precedences.pop(), sorted(self.precedence)) if len(precedences) == 1 else None

    @classmethod
    def load(cls, name: str, properties: str, stamps: str) -> Facts:
        """Parse the texts of `dump`. `name` is the node's name; an edge has none, and any text is accepted."""
        return cls.read(name, json.loads(properties), json.loads(stamps))

    @classmethod
    def read(cls, name: str, values: Mapping[str, Any], stamps: Iterable[tuple[int, str, str, list[str]]]) -> Facts:
        """Return facts as `load` does, from the parsed texts."""
        facts = cls()
        for rank, time, key, names in stamps:
            for fact in names:
                facts.values[fact] = name if fact == NAME else values.get(fact)
                facts.precedence[fact] = (rank, time, key)
        return facts


NO_FACTS = Facts()  # facts of an edge without properties; never changed


def merged(name: str, properties: str, stamps: str, stated: Facts) -> tuple[str, str, str] | None:
    """Return a stored element (name, properties, stamps) after merging facts. None if nothing changes."""
    known = json.loads(stamps)
    if len(known) == 1 and (alone := stated.alone()) is not None:
        # One statement replaces another about the same facts, as when a job states its datasets again. The values need no look.
        (rank, time, key, names), (precedence, restated) = known[0], alone
        if names == restated and (rank, time, key) != precedence:
            return (stated.values.get(NAME, name), *stated.dump()) if (rank, time, key) < precedence else None
    facts = Facts.read(name, json.loads(properties), known)
    facts.absorb(stated)
    after = (facts.values.get(NAME, name), *facts.dump())
    return None if after == (name, properties, stamps) else after
