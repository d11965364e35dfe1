"""The map of a lake: groups of datasets or jobs, and how many jobs or datasets lead from one group to another. Pure; the stores keep it.

A lens divides the lake into groups, and each group is a node: namespaces (`platform:`), owners, tags and terms of datasets; pipelines of
jobs, and systems for jobs outside of pipelines. Data leads from a group of datasets to another through jobs, and from a pipeline to another
through datasets. A job or dataset in that place is a *hub*. The weight of a flow is the number of its hubs.

A store keeps for each hub the groups before and after it (its *sides*), with the number of members there. When an edge or a group changes,
only the hubs at this edge or this node are read. The cost of a change does not depend on the size of the lake.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from headwater.graph.model import Node, NodeKind, node_id


class Lens(StrEnum):
    """The rule that divides a lake into groups: of jobs by `pipeline`, of datasets by all others."""

    NAMESPACE = "namespace"
    PIPELINE = "pipeline"
    OWNER = "owner"
    TAG = "tag"
    TERM = "term"


class Way(IntEnum):
    """The side of a hub: data comes in from a group, or goes out to it."""

    IN = 0
    OUT = 1


# Pairs of groups around one hub that are drawn. A hub with more is only counted: a job that joins a hundred groups with a hundred others
# would cost as much as ten thousand jobs.
MOST_PAIRS = 4_096
# Groups in one answer, and members whose flows are read together.
MOST_GROUPS, MOST_MEMBERS = 1_000, 500
MOST_HUBS = 500  # of one member and way
_LENSES = {
    "platform": Lens.NAMESPACE, "pipeline": Lens.PIPELINE, "system": Lens.PIPELINE, "owner": Lens.OWNER, "tag": Lens.TAG, "term": Lens.TERM,
}  # fmt: skip
_LABELS = {"o": NodeKind.OWNER, "t": NodeKind.TAG, "g": NodeKind.TERM}
_WIDE = "wide"

# The sides of one hub: the number of members of each group there.
Sides = Mapping[tuple[Way, str], int]


def lens_of(group: str) -> str:
    """Return the lens of a group, from its id. The groups that count hubs with too many pairs have a lens of their own."""
    kind = group.partition(":")[0]
    return _LENSES[kind].value if kind in _LENSES else kind


def wide_group(lens: str) -> str:
    """Return the group that counts the hubs of a lens that have too many pairs."""
    return f"{_WIDE}:{lens}"


def groups_of(kind: str, namespace: str, pipeline: str, labels: str) -> tuple[str, ...]:
    """Return the groups of a dataset or job. `labels` are the labels of its entry in the index of words, as JSON."""
    if kind == NodeKind.JOB:
        return (pipeline or node_id(NodeKind.SYSTEM, namespace),)
    if kind != NodeKind.DATASET:
        return ()
    named = [node_id(_LABELS[label[0]], label[2:]) for label in json.loads(labels)] if labels else []
    return (node_id(NodeKind.PLATFORM, namespace), *named)


def hub_group(kind: str, namespace: str) -> str:
    """Return the group of the namespace of a hub, for callers who may read some namespaces only."""
    return node_id(NodeKind.SYSTEM if kind == NodeKind.JOB else NodeKind.PLATFORM, namespace)


@dataclass(slots=True)
class Sums:
    """The changes of a map, as sums: `sides` of hubs, `members` of groups, and `weights` (number of flows) of datasets and jobs."""

    sides: Counter[tuple[int | str, Way, str]] = field(default_factory=Counter)
    members: Counter[str] = field(default_factory=Counter)
    weights: Counter[int | str] = field(default_factory=Counter)

    def regroup(self, old: Collection[str], new: Collection[str]) -> None:
        """A dataset or job moves to other groups."""
        self.members.subtract(old)
        self.members.update(new)

    def connect(self, dataset: Any, job: Any, *, is_read: bool, groups: Mapping[Any, Sequence[str]]) -> None:
        """A job reads a dataset for the first time, or writes it."""
        self.weights[dataset] += 1
        self.weights[job] += 1
        self.move(job, (), groups.get(dataset, ()), way=way_of(is_read=is_read, is_dataset=True))
        self.move(dataset, (), groups.get(job, ()), way=way_of(is_read=is_read, is_dataset=False))

    def move(self, hub: Any, old: Collection[str], new: Collection[str], *, way: Way) -> None:
        """A neighbour of a hub moves to other groups. `way`: its side of the hub."""
        for group in old:
            self.sides[hub, way, group] -= 1
        for group in new:
            self.sides[hub, way, group] += 1


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Changes of a map to store: the new counts of `sides` of hubs (0: the side is gone), and the changes of the weights of `flows`.

    A flow has two groups, and the group of the namespace of its hubs.
    """

    sides: Mapping[Any, Mapping[tuple[Way, str], int]]
    flows: Mapping[tuple[str, str, str], int]

    def groups(self, sums: Sums) -> set[str]:
        """Return all groups that the changes name."""
        named = {group for group, count in sums.members.items() if count}
        named |= {group for sides in self.sides.values() for _, group in sides}
        return named | {group for flow in self.flows for group in flow}


def rewrite(sums: Sums, known: Mapping[Any, Sides], actors: Mapping[Any, str]) -> Rewritten:
    """Add sums to the `known` sides of hubs. `actors`: the group of the namespace of each hub; other hubs are left out."""
    changes: dict[Any, dict[tuple[Way, str], int]] = {}
    for (hub, way, group), change in sums.sides.items():
        if change and hub in actors:
            changes.setdefault(hub, {})[way, group] = known.get(hub, {}).get((way, group), 0) + change
    flows: Counter[tuple[str, str, str]] = Counter()
    for hub, sides in changes.items():
        before = known.get(hub, {})
        after = {side: count for side, count in {**before, **sides}.items() if count > 0}
        if after.keys() != before.keys():
            old, new = pairs_of(before), pairs_of(after)
            flows.update((*pair, actors[hub]) for pair in new - old)
            flows.subtract((*pair, actors[hub]) for pair in old - new)
    return Rewritten(changes, {flow: weight for flow, weight in flows.items() if weight})


def way_of(*, is_read: bool, is_dataset: bool) -> Way:
    """Return the side of a hub on which its neighbour is. `is_read`: the job reads the dataset. `is_dataset`: of the neighbour."""
    return Way.IN if is_dataset is is_read else Way.OUT


def pairs_of(sides: Iterable[tuple[Way, str]]) -> set[tuple[str, str]]:
    """Return the flows through one hub: each group before it with each group of the same lens after it."""
    by_lens: dict[str, tuple[list[str], list[str]]] = {}
    for way, group in sides:
        by_lens.setdefault(lens_of(group), ([], []))[way].append(group)
    found: set[tuple[str, str]] = set()
    for lens, (before, after) in by_lens.items():
        if len(before) * len(after) > MOST_PAIRS:
            found.add((wide_group(lens), wide_group(lens)))
        else:
            found.update((src, dst) for src in before for dst in after)
    return found


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the map, and the number of its datasets or jobs. `node` is bare if nothing states the group's node."""

    id: str
    members: int
    node: Node


@dataclass(frozen=True, slots=True)
class Flow:
    """Data flows from `src` to `dst` through `weight` jobs or datasets. Both ends can be the same group."""

    src: str
    dst: str
    weight: int


@dataclass(frozen=True, slots=True)
class LakeMap:
    """The groups of a lens, the largest first, and the flows among them.

    `total` and `members` count all groups and their members. A group that is not listed is part of the rest: `to_rest` and `from_rest` are
    the sums of the flows of listed groups with it. `wide` is the number of hubs that are not drawn (`MOST_PAIRS`).
    """

    groups: Sequence[Group]
    flows: Sequence[Flow]
    total: int
    members: int
    to_rest: Mapping[str, int]
    from_rest: Mapping[str, int]
    wide: int


@dataclass(frozen=True, slots=True)
class MemberFlows:
    """The flows of some datasets or jobs: with each other, and with other members of groups. An end is a node or a group.

    `is_whole` is false if a node has more hubs than are read: the weights are then lower bounds.
    """

    flows: Sequence[Flow]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class HubSides:
    """The hubs of each member by way, the groups of each hub by way with their numbers of members there, and the groups of each member."""

    hubs: Mapping[str, Mapping[Way, Collection[Any]]]
    sides: Mapping[Any, Mapping[Way, Mapping[str, int]]]
    groups: Mapping[str, Collection[str]]


def flows_of_members(known: HubSides) -> list[Flow]:
    """Return the flows of members.

    A flow ends at a group only if the hub has members there that are not among the given ones.
    """
    weights: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[Any, Way], list[str]] = {}  # members around each hub, by the side of the hub
    for member, by_way in known.hubs.items():
        for way, hubs in by_way.items():
            for hub in hubs:
                shown.setdefault((hub, way), []).append(member)
    for (hub, way), members in shown.items():
        other = Way.OUT if way is Way.IN else Way.IN
        there = shown.get((hub, other), [])
        covered = Counter(group for member in there for group in known.groups[member])
        rest = [group for group, count in known.sides.get(hub, {}).get(other, {}).items() if count > covered[group]]
        for member in members:
            ends = rest if way is Way.OUT else [*there, *rest]  # a pair of members is counted once
            weights.update((member, end) if way is Way.IN else (end, member) for end in ends)
    return [Flow(src, dst, weight) for (src, dst), weight in sorted(weights.items())]
