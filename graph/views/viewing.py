"""Views: lineage around a focus, zoomed to levels and masked.

Laws, each checked by a property test (docs/guide/views.md explains them):

1. Masks are exact. If every visible node is an atom, one visible node leads to another in the view exactly if it does in the graph within
   direction and depth.
2. Zooming loses nothing. If a member of X leads to a member of Y, X leads to Y in the view.
3. No link is made up. X → Y means that a member of X leads to a member of Y by a path on which all nodes in between are masked.
4. A node is upstream or downstream only if one of its members is.
5. A path of links whose inner nodes are passed wholly is a path of members.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count, repeat

import numpy as np

from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind, bare_name
from headwater.graph.model.bulk import made
from headwater.graph.stores.derivations import derivations
from headwater.graph.stores.paging import decode_cursor, encode_cursor
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views import link_members as ways
from headwater.graph.views.answer import Levels, Members, Sight, Totals, VisibleEdge, VisibleNode
from headwater.graph.views.atoms import Adjacency, Atoms, Reach
from headwater.graph.views.fetch import FLOWS, containers_of
from headwater.graph.views.former_flows import find_former_atoms
from headwater.graph.views.levels import Zoom, kind_of
from headwater.graph.views.links import MASKED, OUTSIDE, Links, bits_of
from headwater.graph.views.load import load
from headwater.graph.views.masked_counts import Through
from headwater.graph.views.masking import Hiding, hides, needs_names, needs_nodes
from headwater.graph.views.passage import entries, passed_wholly
from headwater.graph.views.request import ACTORS, MaskBy, ViewRequest
from headwater.graph.views.selection import asked_for, between, end_points, levels_of, not_there, refuse_missing_levels
from headwater.graph.views.times import time_of

_MANY_TESTS = 50_000


async def view(graph: GraphStore, tenant: str, request: ViewRequest, *, sight: Sight | None = None) -> View:
    """Compute a view. `sight` decides which masked nodes may be named; by default all may.

    Raises:
        NotFoundError: a node of the focus is not in the graph.
        InvalidQueryError: no node is at a requested level, or the cursor is invalid.
    """
    atoms = await load(graph, tenant, request)
    made = View(graph, tenant, request, atoms, sight)
    await made.mask()
    if request.ends_only and (cut := await made.cut()):
        made.add_note(f"{len(cut):,} of these nodes are no ends: the lineage goes on from there, beyond the depth or the limit.")
    return made


class View:
    """A computed view. Totals are ready; pages and members are computed when requested."""

    def __init__(self, graph: GraphStore, tenant: str, request: ViewRequest, atoms: Atoms, sight: Sight | None) -> None:
        self._graph, self._tenant, self._request, self._sight = graph, tenant, request, sight
        self._atoms = atoms
        self._zoom = Zoom(request, atoms.parents)
        self._reach = atoms.reach or Reach.of(atoms, request.direction, request.depth)
        self._distance = self._reach.distance()
        self._kept: Collection[int] = self._distance.keys()
        if request.between:
            self._kept = between(request, self._zoom, atoms.ids, self._distance, self._after, self._before)
        atoms.notes.extend(f"{each} is not in this lineage, so it is not opened." for each in not_there(request, self._zoom, atoms.ids))
        self._node_of = self._zoom.lift_all(atoms.ids, self._kept)
        refuse_missing_levels(request, self._zoom, (atoms.ids[atom] for atom in self._kept), set(self._node_of.values()))
        self._nodes: list[str] = []
        self._masked = 0
        self._former: frozenset[tuple[str, str]] | None = None
        self._cut: frozenset[str] | None = None
        self._links = Links(np.empty(0, dtype=np.int64), Atoms([], [], []).pairs(), list, 0)

    @cached_property
    def _after(self) -> Adjacency:
        return self._atoms.after()

    @cached_property
    def _before(self) -> Adjacency:
        return self._atoms.before()

    async def mask(self) -> None:
        """Hide nodes by the masks, and compute the links between the remaining nodes."""
        # There may be tens of thousands of atoms, so arrays by number hold their data.
        lifted = list(self._node_of.values())
        atoms = np.fromiter(self._node_of, dtype=np.int64, count=len(lifted))
        numbers = dict(zip(dict.fromkeys(lifted), count()))
        node_of = np.fromiter(map(numbers.__getitem__, lifted), dtype=np.int64, count=len(lifted))
        away = np.fromiter(map(self._distance.__getitem__, self._node_of), dtype=np.int64, count=len(lifted))
        hops = np.empty(len(numbers), dtype=np.int64)
        farthest_first = np.argsort(-away, kind="stable")
        hops[node_of[farthest_first]] = away[farthest_first]  # the last assignment stays, which is the nearest member's
        listed = list(numbers)
        nearest = dict(zip(listed, hops.tolist(), strict=True))
        asked = self._asked
        ends = await self._ends() if self._request.ends_only else None
        masks = self._request.masks
        above = self._zoom.above_all(listed) if any(mask.by is not MaskBy.KIND for mask in masks) else []
        known = await self._known(listed, above) if needs_nodes(masks) or needs_names(masks) else {}
        hiding = Hiding(masks, self._zoom.above, known, self._atoms.names)
        # Many patterns over many names take seconds. The event loop serves other callers in between.
        tests = len(listed) * sum(len(mask.values) for mask in masks)
        hidden = await asyncio.to_thread(hiding.hidden, listed, above) if tests > _MANY_TESTS else hiding.hidden(listed, above)
        if ends is not None:
            hidden = [hides or node not in ends for node, hides in zip(listed, hidden, strict=True)]
        shown_nodes = [node for node, hides in zip(listed, hidden, strict=True) if not hides or node in asked]
        self._masked = len(listed) - len(shown_nodes)
        self._nodes = sorted(shown_nodes, key=lambda node: (nearest[node], node))
        self._nearest = nearest
        self._numbers = {node: number for number, node in enumerate(self._nodes)}
        number_of = np.full(len(numbers), MASKED, dtype=np.int64)
        number_of[[numbers[node] for node in self._nodes]] = np.arange(len(self._nodes))
        self._node_numbers = np.zeros(len(self._atoms.ids), dtype=np.int64)
        self._node_numbers[atoms] = node_of
        shown = np.full(len(self._atoms.ids), OUTSIDE, dtype=np.int64)
        shown[atoms] = number_of[node_of]
        self._links = Links(shown, self._atoms.pairs(), lambda: self._after, len(self._nodes))

    async def _ends(self) -> set[str]:
        """Return the ends of the current lineage. Ends to which only former flows lead are not among them, and a note counts them."""
        ids = self._atoms.ids
        former = set() if self._request.as_of else await find_former_atoms(self._graph, self._tenant, set(ids))
        if not former:
            return end_points(self._node_of, self._after, self._before)
        pairs = [(src, dst) for src, dst in self._atoms.pairs().tolist() if (ids[src], ids[dst]) not in former]
        atoms = Atoms(ids, np.array(pairs, dtype=np.int64).reshape(-1, 2), self._atoms.focus)
        reached = Reach.of(atoms, self._request.direction, self._request.depth).distance()
        node_of = {atom: node for atom, node in self._node_of.items() if atom in reached}
        ends = end_points(node_of, atoms.after(), atoms.before())
        if left := end_points(self._node_of, self._after, self._before) - set(node_of.values()):
            self._atoms.notes.append(f"Ends to which only former links lead are left out: {len(left):,}.")
        return ends

    @property
    def notes(self) -> Sequence[str]:
        """Return sentences about nodes that are missing from the answer, or too many."""
        return self._atoms.notes

    def add_note(self, note: str) -> None:
        self._atoms.notes.append(note)

    @cached_property
    def totals(self) -> Totals:
        beyond = max(self._atoms.beyond, self._reach.beyond)
        return Totals(len(self._nodes), self._links.total(), len(self._node_of), self._masked, beyond)

    async def levels(self) -> Levels:
        ids = {self._atoms.ids[atom] for atom in self._kept}
        if self._atoms.parents:
            return levels_of(ids, self._zoom)
        actors = sorted(identifier for identifier in ids if kind_of(identifier) in ACTORS)
        return levels_of(ids, Zoom(self._request, await containers_of(self._graph, self._tenant, actors)))

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """Return the number of the first node of this page, and of the first node of the next page."""
        start = 0
        if self._request.after is not None:
            hops, identifier = decode_cursor(self._request.after)
            place = (int(hops) if hops.isdigit() else -1, identifier)
            start = sum(1 for node in self._nodes if (self._nearest[node], node) <= place)
        return start, self._page_end(start)

    @property
    def cursor(self) -> str | None:
        """Return the cursor for the next page. None on the last page."""
        end = self.bounds[1]
        if end >= len(self._nodes):
            return None
        last = self._nodes[end - 1]
        return encode_cursor(str(self._nearest[last]), last)

    def node_ids(self) -> list[str]:
        return list(self._nodes)

    def all_edges(self) -> set[tuple[str, str]]:
        return self._named(self._links)

    def _named(self, links: Links) -> set[tuple[str, str]]:
        return {(self._nodes[src], self._nodes[dst]) for src in range(len(self._nodes)) for dst in links.of(src)}

    async def nodes(self) -> list[VisibleNode]:
        start, end = self.bounds
        ids = self._nodes[start:end]
        found = await self._read(ids)
        asked, members = self._asked, self._members()
        upstream, downstream = self._led(self._reach.upstream), self._led(self._reach.downstream)
        return [
            VisibleNode(
                node=found.get(node) or _bare(node),
                distance=self._nearest[node],
                members=members[number],
                focus=node in asked,
                upstream=node in upstream,
                downstream=node in downstream,
            )
            for number, node in enumerate(ids, start)
        ]

    def _members(self) -> list[int]:
        ids = self._atoms.ids
        if len(set(ids)) == len(ids):
            shown = self._links.numbers
            counts: list[int] = np.bincount(shown[shown >= 0], minlength=len(self._nodes)).tolist()
            return counts
        return [len({ids[atom] for atom in members}) for members in self._links.members]

    def _led(self, reached: Mapping[int, int]) -> Collection[str]:
        """Return the visible nodes with a member in `reached`."""
        if not reached:
            return ()
        if len(reached) >= len(self._node_of) and reached.keys() >= self._node_of.keys():
            return self._nearest
        return {node for atom, node in self._node_of.items() if atom in reached}

    async def containers(self, nodes: Iterable[str]) -> dict[str, list[Node]]:
        """Return the containers of some visible nodes, innermost first. Containers that the masks hide are left out."""
        chain = self._zoom.chain
        above = {node: chain(node)[1:] for node in nodes}
        ids = {container for containers in above.values() for container in containers}
        known = await self._read(ids)
        shown = {each: known.get(each) or _bare(each) for each in ids if not hides(self._request.masks, each, chain, known)}
        return {node: [shown[each] for each in containers if each in shown] for node, containers in above.items()}

    async def cut(self) -> frozenset[str]:
        """Return the visible nodes of this page from which the lineage goes on beyond the depth or the limit. Such a node is no end.

        Only datasets, jobs and columns are looked at, not versions and runs.
        """
        if self._cut is None:
            self._cut = frozenset(await self._find_cut()) if self.totals.beyond else frozenset()
        return self._cut

    async def _find_cut(self) -> set[str]:
        start, end = self.bounds
        page, ids, found = set(self._nodes[start:end]), self._atoms.ids, set[str]()
        known = {ids[atom] for atom in self._distance}
        for way, reached in ((Direction.UPSTREAM, self._reach.upstream), (Direction.DOWNSTREAM, self._reach.downstream)):
            drawn = {ids[atom]: self._node_of[atom] for atom in reached if self._node_of.get(atom) in page}
            columns = [identifier for identifier in drawn if kind_of(identifier) is NodeKind.COLUMN]
            others = [identifier for identifier in drawn if kind_of(identifier) in (NodeKind.DATASET, NodeKind.JOB)]
            edges = await derivations(self._graph, self._tenant, columns, direction=way) if columns else []
            edges += await self._graph.neighbours(self._tenant, others, direction=way, kinds=FLOWS) if others else []
            for edge in edges:
                near, far = (edge.dst, edge.src) if way is Direction.UPSTREAM else (edge.src, edge.dst)
                if far not in known and near in drawn and not (self._request.as_of and time_of(edge.first) > self._request.as_of):
                    found.add(drawn[near])
        return found

    def wholly(self, node: str) -> bool:
        """Return whether data that enters a visible node leaves it by every link (see `passage`)."""
        number = self._numbers[node]
        return passed_wholly(self._links, number, self._entries[number])

    async def former(self) -> frozenset[tuple[str, str]]:
        """Return the links without a path of current flows. In a view as of an instant, all flows are current."""
        if self._former is None:
            self._former = frozenset() if self._request.as_of else await self._find_former()
        return self._former

    async def _find_former(self) -> frozenset[tuple[str, str]]:
        ids = self._atoms.ids
        former = await find_former_atoms(self._graph, self._tenant, set(ids))
        if not former:
            return frozenset()
        pairs = self._atoms.pairs()
        current = np.array([(ids[src], ids[dst]) not in former for src, dst in pairs.tolist()], dtype=bool)
        atoms = Atoms(ids, pairs[current], [])
        links = Links(self._links.numbers, atoms.pairs(), atoms.after, len(self._nodes))
        return frozenset(self.all_edges() - self._named(links))

    def edges(self) -> list[VisibleEdge]:
        """Return the links between nodes of this page and the pages before. At least one end of each link is on this page."""
        start, end = self.bounds
        src, dst, weights = self._links.all()
        here = (src < end) & (dst < end) & ((src >= start) | (dst >= start))
        src, dst, weights = src[here], dst[here], weights[here]
        through = Through(self._links, self._node_of, self._node_numbers, self._atoms.before) if self._masked else None
        counts = through.counts(src, dst) if through else repeat(0)
        names = self._nodes
        leaving, arriving = [names[node] for node in src.tolist()], [names[node] for node in dst.tolist()]
        return made(VisibleEdge, len(src), (leaving, arriving, weights.tolist(), self._links.are_direct(src, dst), counts))

    async def members(self, src: str, dst: str, *, first: int = 100, after: str | None = None) -> Members:
        """Return the members of the link from `src` to `dst`.

        Raises:
            InvalidQueryError: there is no such link.
        """
        if src not in self._numbers or dst not in self._numbers or not self._links.out[self._numbers[src]] >> self._numbers[dst] & 1:
            raise InvalidQueryError(f"The view has no link from {src} to {dst}.", field="src", hint="Take the ends from its edges.")
        ends = self._numbers[src], self._numbers[dst]
        ids = self._atoms.ids
        pairs = sorted({(ids[a], ids[b]) for a, b in ways.pairs(self._links, *ends)})
        masked = sorted({self._node_of[atom] for atom in ways.via(self._links, *ends)})
        known = [node for node in masked if node in set(await self._sight(masked))] if self._sight else masked
        place = decode_cursor(after)
        page = [pair for pair in pairs if pair > place][:first]
        named = await self._graph.get(self._tenant, known[:first])
        more = bool(page) and page[-1] != pairs[-1]
        return Members(page, len(pairs), named, len(masked), len(masked) - len(known), encode_cursor(*page[-1]) if more else None)

    @cached_property
    def _entries(self) -> list[set[int]]:
        return entries(self._links)

    def _page_end(self, start: int) -> int:
        """Return the end of the page: `first` nodes, or fewer if they have more links among them than `edges`; at least one node."""
        end = min(len(self._nodes), start + self._request.first)
        if self._links.total() <= self._request.edges:
            return end
        later = [0] * len(self._nodes)  # number of links by the later of their ends
        for src, bits in enumerate(self._links.out):
            later[src] += (bits & ((1 << src) - 1)).bit_count()
            for dst in bits_of(bits >> src << src):
                later[dst] += 1
        room = self._request.edges
        for number in range(start, end):
            room -= later[number]
            if room < 0 and number > start:
                return number
        return end

    @cached_property
    def _asked(self) -> set[str]:
        return asked_for(self._request, self._zoom, self._atoms, self._node_of)

    async def _known(self, nodes: Sequence[str], above: Sequence[tuple[str, ...]]) -> dict[str, Node]:
        names = self._atoms.names
        ids = {node for node in nodes if node not in names} if names else set(nodes)
        ids |= {container for containers in set(above) for container in containers if container not in names}
        return await self._read(ids)

    async def _read(self, ids: Collection[str]) -> dict[str, Node]:
        """Return nodes with their properties. Nodes that do not exist are left out."""
        known = dict(self._atoms.known(ids))
        missing = sorted(identifier for identifier in ids if identifier not in known)
        return known | {node.id: node for node in await self._graph.get(self._tenant, missing)} if missing else known


def _bare(identifier: str) -> Node:
    """Return a node for a container that ids contain and no event has stated."""
    return Node(identifier, NodeKind(kind_of(identifier)), bare_name(identifier))
