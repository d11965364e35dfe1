"""The entry of a node in the index of words: the words that find it, and its values of the facets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from headwater.graph.model import Node, NodeKind, parse_id, run_uuid
from headwater.graph.model.descriptions import CURATED, descriptions_of
from headwater.graph.search.words import codes, facet_code, words_of

# Kinds that have entries. Versions, files, stages and tasks are found through their containers: they have no names of their own.
SEARCHED = (
    NodeKind.DATASET, NodeKind.JOB, NodeKind.PIPELINE, NodeKind.COLUMN, NodeKind.RUN, NodeKind.PLATFORM, NodeKind.SYSTEM,
    NodeKind.OWNER, NodeKind.TAG, NodeKind.TERM, NodeKind.ACTOR, NodeKind.DATA, NodeKind.TYPE,
)  # fmt: skip
# Kinds that are put in order together, so that a thousand columns do not keep a dataset out.
RANKED_TOGETHER = (
    (NodeKind.DATASET,), (NodeKind.JOB, NodeKind.PIPELINE), (NodeKind.COLUMN,), (NodeKind.RUN,),
    (NodeKind.PLATFORM, NodeKind.SYSTEM, NodeKind.OWNER, NodeKind.TAG, NodeKind.TERM, NodeKind.ACTOR, NodeKind.DATA, NodeKind.TYPE),
)  # fmt: skip
LISTED = tuple(kind for kind in SEARCHED if kind not in {NodeKind.COLUMN, NodeKind.RUN})  # kinds of a search without a text
_NAMESPACED = frozenset({NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.COLUMN, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB})
_OF_DATA = frozenset({NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.COLUMN})
_DESCRIBED = frozenset({
    NodeKind.DATASET, NodeKind.COLUMN, NodeKind.JOB, NodeKind.PIPELINE, NodeKind.ACTOR, NodeKind.DATA, NodeKind.PLATFORM, NodeKind.SYSTEM,
    NodeKind.TERM, NodeKind.TAG, NodeKind.OWNER, NodeKind.TYPE,
})  # fmt: skip
# Properties that describe a node. Most nodes have none, and to read descriptions takes longer than everything else.
_STATED, _STATED_AS = frozenset({"ownership", "tags", "documentation", "description"}), (CURATED, "tag:")
_OF_NAME, _OF_TEXT, _OF_PLACE = 24, 48, 24  # words, at most
_MOST_LABELS = 50  # owners, tags or terms of one node in the facets
_FAILED = ("FAIL", "ABORT")
_RUNNING = ("START", "RUNNING")
BREAK = "|"  # between the words of a name and those of descriptions


@dataclass(frozen=True, slots=True)
class Activity:
    """The last run of a dataset or job: its state, its last event, the namespace of its job, and the pipeline around the job."""

    state: str = ""
    at: str = ""
    actor: str = ""
    pipeline: str = ""


NO_ACTIVITY = Activity()


class Entry(NamedTuple):  # a frozen dataclass takes ten times as long to make
    """An entry. `own` has the codes of the node's own words, `place` those of its containers, `facet` those of its facets.

    `labels` are the owners, tags and terms of the node, each with the first letter of its facet and a colon.
    """

    kind: NodeKind
    name: str
    namespace: str
    platform: str
    activity: Activity
    labels: tuple[str, ...]
    own: str
    place: str
    facet: str

    @property
    def urgency(self) -> int:
        """The place in the order "failed first"."""
        return urgency_of(self.activity.state)


def urgency_of(state: str) -> int:
    """0 for a failed run, 1 for a run under way, 2 for everything else."""
    return 0 if state in _FAILED else 1 if state in _RUNNING else 2


def platform_of(namespace: str) -> str:
    """Return the platform in a namespace of datasets: `s3` of `s3://bucket`."""
    return namespace.partition("://")[0].partition(":")[0].lower()[:100]


def entry_of(node: Node, activity: Activity = NO_ACTIVITY, *, within: str = "", tenant: str = "") -> Entry:
    """Return the entry of a node. `within` is the job of a run."""
    kind = node.kind
    parts = parse_id(node.id)[1]
    holder = parse_id(within)[1] if within else ()
    namespace = parts[0] if kind in _NAMESPACED else holder[0] if holder else ""
    platform = platform_of(namespace) if kind in _OF_DATA else ""
    labels, text = _descriptions(node)
    own = uuid.replace("-", "") if kind is NodeKind.RUN and (uuid := run_uuid(node.name)) else _name(node.name)
    if more := codes(words_of(text, _OF_TEXT)):
        own += f" {BREAK} {more}"
    above = [*holder, namespace] if kind is NodeKind.RUN else [parts[1], namespace] if kind is NodeKind.COLUMN else [namespace]
    place = _place(" ".join(above))
    facet = _facets(tenant, kind.value, namespace, platform, activity.state, activity.pipeline)
    if labels:
        facet = " ".join([facet, *(facet_code(label[0], label[2:]) for label in labels)])
    return Entry(kind, node.name, namespace, platform, activity, labels, own, place, facet)


@lru_cache(1 << 12)  # many columns share a name
def _name(name: str) -> str:
    return codes(words_of(name, _OF_NAME))


@lru_cache(1 << 12)  # the columns of a namespace share theirs
def _facets(tenant: str, kind: str, namespace: str, platform: str, state: str, pipeline: str) -> str:
    named = (("n", namespace), ("p", platform), ("s", state), ("l", pipeline))
    return " ".join([facet_code("x", tenant), f"k{kind}", *(facet_code(name, value) for name, value in named if value)])


@lru_cache(1 << 12)  # the columns of a dataset share theirs
def _place(text: str) -> str:
    return codes(words_of(text, _OF_PLACE))


def state_of(properties: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state of a run, and the time of its last event, as far as its properties have them."""
    state, at = properties.get("state"), properties.get("endedAt") or properties.get("updatedAt")
    return (state if isinstance(state, str) else "OTHER"), (at if isinstance(at, str) else "")


def _descriptions(node: Node) -> tuple[tuple[str, ...], str]:
    """Return the labels of a node, and the text of its descriptions."""
    if node.kind not in _DESCRIBED or not any(name in _STATED or name.startswith(_STATED_AS) for name in node.properties):
        return (), ""
    about = descriptions_of(node)
    owners = tuple(dict.fromkeys((*about.owners, *about.stewards)))
    labels = (*_labels("o", owners), *_labels("t", about.tags), *_labels("g", about.terms))
    return labels, " ".join([*owners, *about.tags, *about.tag_values, *about.terms, about.description or ""])


def _labels(letter: str, values: Iterable[str]) -> list[str]:
    return [f"{letter}:{value[:200]}" for value in list(values)[:_MOST_LABELS]]
