"""The request for a view: focus, direction, levels, masks, time, and the size of a page.

Requests are plain values, so the command line, GraphQL and REST use the same ones. All errors that can be found without a graph are raised
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind
from headwater.graph.model.instants import instant_of
from headwater.graph.stores.protocol import Direction

# Outermost first. Containers that users declare (`data`, `actor`) group datasets and pipelines, and are outside of them.
DATA = (NodeKind.DATA, NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.VERSION, NodeKind.PARTITION, NodeKind.COLUMN)
ACTORS = (
    NodeKind.SYSTEM, NodeKind.ACTOR, NodeKind.PIPELINE, NodeKind.JOB, NodeKind.RUN, NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR,
)  # fmt: skip
MAX_REACHED = 500_000
# Limits for names in a list, masks of a view, patterns of its masks, and characters of patterns: each node is compared with each.
MAX_NAMES, MAX_MASKS, MAX_PATTERNS, MAX_PATTERN_TEXT = 1_000, 50, 50, 2_000


class MaskBy(StrEnum):
    """The property that a mask matches. `kind` matches the node itself; all others also match the content of a container."""

    KIND = "kind"
    NAME = "name"  # a pattern for the name
    NAMESPACE = "namespace"  # a pattern
    TAG = "tag"
    OWNER = "owner"
    LAYER = "layer"
    NODE = "node"  # an id


@dataclass(frozen=True, slots=True)
class Mask:
    """Hides nodes with one of the values. If `negated`, it hides nodes with none of them."""

    by: MaskBy
    values: tuple[str, ...]
    negated: bool = False

    def __post_init__(self) -> None:
        if not self.values or not all(self.values):
            raise InvalidQueryError(f"The mask by {self.by} has no value.", field="mask", hint="Write it as kind=run or name=tmp_*.")
        known = {kind.value for kind in NodeKind}
        unknown = [value for value in self.values if self.by is MaskBy.KIND and value not in known]
        if unknown:
            raise InvalidQueryError(f"{unknown[0]!r} is no kind of node.", field="mask", hint=f"The kinds are: {', '.join(NodeKind)}.")

    @classmethod
    def parse(cls, text: str) -> Mask:
        """Parse a mask such as `kind=run`, `name=tmp_*` or `tag!=pii`.

        Raises:
            InvalidQueryError: the text is not a mask.
        """
        by, sign, value = text.partition("=")
        negated = by.endswith("!")
        try:
            chosen = MaskBy(by.removesuffix("!").strip())
        except ValueError:
            chosen = None
        if chosen is None or not sign:
            raise InvalidQueryError(
                f"{text!r} is no mask.", field="mask", hint=f"Write {', '.join(f'{each}=…' for each in MaskBy)}; != hides all others."
            )
        return cls(chosen, (value.strip(),), negated)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """The request for a view. `data` and `actors` are the levels shown; `open` shows containers (by id) at a finer level.

    - `ends_only`: hide all nodes but the focus and the ends of the lineage.
    - `between`: show only nodes on a path between a node of the first list and a node of the second, in either direction.
    - `as_of`: show the lineage at an instant. `since` and `until`: show flows stated in a window. A date means the whole day, in UTC.
    - `limit`: most nodes that are reached. `first` and `edges`: most nodes and edges of a page, which begins at `after`.
    """

    focus: tuple[str, ...] = ()
    direction: Direction = Direction.BOTH
    depth: int = 20
    data: NodeKind = NodeKind.DATASET
    actors: NodeKind = NodeKind.JOB
    open: Mapping[str, NodeKind] = field(default_factory=dict)
    masks: tuple[Mask, ...] = ()
    ends_only: bool = False
    between: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    as_of: str | None = None
    since: str | None = None
    until: str | None = None
    limit: int = 100_000
    first: int = 2_000
    edges: int = 20_000
    after: str | None = None

    def __post_init__(self) -> None:
        self._check_lengths()
        _member("data", self.data, DATA)
        _member("actors", self.actors, ACTORS)
        for identifier, level in self.open.items():
            kind = identifier.partition(":")[0]
            if kind not in (*DATA, *ACTORS):
                raise InvalidQueryError(
                    f"{identifier!r} is neither data nor an actor.",
                    field="open",
                    hint="Open a container by its id, as dataset:NAMESPACE:NAME.",
                )
            _member("open", level, DATA if kind in DATA else ACTORS)
        if self.as_of and (self.since or self.until):
            raise InvalidQueryError("as_of and a window are both given.", field="as_of", hint="Ask for an instant, or for since and until.")
        for name in ("as_of", "since", "until"):
            if instant := getattr(self, name):
                object.__setattr__(self, name, instant_of(instant, name, end=name != "since"))
        for name, low, high in (("depth", 0, 1_000), ("limit", 1, MAX_REACHED), ("first", 1, MAX_REACHED), ("edges", 1, 1_000_000)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidQueryError(f"{name} is {value:,}.", field=name, hint=f"It may be from {low:,} to {high:,}.")
        if not self.focus:
            if self.between is None:
                raise InvalidQueryError("The view has no focus.", field="focus", hint="Name at least one node, or two to look between.")
            object.__setattr__(self, "focus", (*self.between[0], *self.between[1]))

    def _check_lengths(self) -> None:
        at_most(len(self.focus), MAX_NAMES, "nodes", "focus")
        at_most(len(self.open), MAX_NAMES, "containers", "open")
        for ends in self.between or ():
            at_most(len(ends), MAX_NAMES, "nodes", "between")
        at_most(len(self.masks), MAX_MASKS, "masks", "masks")
        at_most(sum(len(mask.values) for mask in self.masks), MAX_NAMES, "values", "masks")
        patterns = [value for mask in self.masks if mask.by in (MaskBy.NAME, MaskBy.NAMESPACE) for value in mask.values]
        at_most(len(patterns), MAX_PATTERNS, "patterns", "masks")
        at_most(sum(map(len, patterns)), MAX_PATTERN_TEXT, "characters of patterns", "masks")

    @property
    def timed(self) -> bool:
        return bool(self.as_of or self.since or self.until)


def at_most(count: int, limit: int, what: str, name: str) -> None:
    """Check that a request names at most `limit` things.

    Raises:
        InvalidQueryError: there are more.
    """
    if count > limit:
        raise InvalidQueryError(f"{name} has {count:,} {what}.", field=name, hint=f"It may have {limit:,}.")


def _member(name: str, level: NodeKind, levels: tuple[NodeKind, ...]) -> None:
    if level not in levels:
        raise InvalidQueryError(f"{level} is no level of {name}.", field=name, hint=f"The levels are: {', '.join(levels)}.")
