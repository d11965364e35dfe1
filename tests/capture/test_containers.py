"""Actors inside actors: archetype links are among those of one nearest container, and a container is one node at each level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.capture import Actor, Session
from headwater.graph.dataflow import Dataflow, LinkKind
from tests.capture.captured import reconstructed


def _archetypes(found: Dataflow) -> set[tuple[str, str, bool]]:
    return {(link.src, link.dst, link.inferred) for link in found.links if link.kind is LinkKind.ARCHETYPE}


def _names(found: Dataflow) -> list[list[str]]:
    return [sorted(name.rpartition(".")[2] for name in generation) for generation in found.generations]


def _jobs(session: Session, *, flows: bool = False) -> None:
    """Two jobs of two maps and two reduces each; with `flows`, the second one's maps read what the first one's reduces wrote."""
    session.declare("mrjob")
    session.declare("map", within=["mrjob"])
    session.declare("reduce", within=["mrjob"], after=["map"])
    for number in (1, 2):
        job = session.register(f"mrjob{number}", "mrjob")
        maps = [session.register(f"map{number}{part}", "map", [job]) for part in "ab"]
        reduces = [session.register(f"reduce{number}{part}", "reduce", [job]) for part in "ab"]
        if flows:
            maps[0].capture(session.stream(f"s{number}")[0], session.stream(f"mid{number}")[0])
            reduces[0].capture(session.stream(f"mid{number}")[0], session.stream(f"s{number + 1}")[0])
            maps[0].commit()
            reduces[0].commit()


@pytest.mark.parametrize("namespace", ["default", "team a"])
def test_jobs_of_one_type_are_linked_each_within_itself(tmp_path: Path, namespace: str):
    for run in range(2):  # another run of the pipeline adds runs, no actors
        with Session("p", home=tmp_path, namespace=namespace) as session:
            _jobs(session)
            if run:
                session.register("map1a", "map", [session.register("mrjob1", "mrjob")])  # a retry
    space = namespace.replace(" ", "%20")
    prefix = "" if namespace == "default" else f"{space}:"
    found = reconstructed(tmp_path, f"pipeline:{space}:p")
    assert (found.links, found.generations) == ([], [[f"actor:mrjob:{prefix}p.mrjob1", f"actor:mrjob:{prefix}p.mrjob2"]])
    for number in (1, 2):
        found = reconstructed(tmp_path, f"actor:mrjob:{prefix}p.mrjob{number}")
        assert _names(found) == [[f"map{number}a", f"map{number}b"], [f"reduce{number}a", f"reduce{number}b"]]
        assert _archetypes(found) == {
            (f"job:{space}:p.map{number}{one}", f"job:{space}:p.reduce{number}{other}", False) for one, other in product("ab", "ab")
        }


def test_what_flows_between_parts_of_containers_flows_between_these(tmp_path: Path):
    with Session("p", home=tmp_path) as session:
        _jobs(session, flows=True)
    found = reconstructed(tmp_path, "pipeline:default:p")
    assert [(link.src, link.dst, link.kind, link.via) for link in found.links] == [
        ("actor:mrjob:p.mrjob1", "actor:mrjob:p.mrjob2", LinkKind.IMPLICIT, ("dataset:stream:s2",))
    ]


def test_sessions_of_one_name_in_two_namespaces_share_no_container(tmp_path: Path):
    for namespace in ("a", "b"):
        with Session("p", home=tmp_path, namespace=namespace) as session:
            _jobs(session)
    for namespace in "ab":
        found = reconstructed(tmp_path, f"actor:mrjob:{namespace}:p.mrjob1")
        assert {name.split(":")[1] for generation in found.generations for name in generation} == {namespace}


def test_links_are_inferred_among_siblings_alone_and_say_so(tmp_path: Path):
    with Session("p", home=tmp_path) as session:
        for number in (1, 2):
            job = session.register(f"mrjob{number}", "mrjob")
            one, _ = (session.register(f"map{number}{part}", "map", [job]) for part in "ab")
            other = session.register(f"reduce{number}", "reduce", [job])
            one.flow_link(other)
    assert _archetypes(reconstructed(tmp_path, "pipeline:default:p")) == set()
    for number in (1, 2):
        assert _archetypes(reconstructed(tmp_path, f"actor:mrjob:p.mrjob{number}")) == {
            (f"job:default:p.map{number}b", f"job:default:p.reduce{number}", True)
        }


Tree = Mapping[int, int | None]  # the parent of each actor, a smaller number; None: the pipeline


@st.composite
def _trees(draw: st.DrawFn) -> tuple[Tree, Sequence[str]]:
    size = draw(st.integers(1, 9))
    tree = {number: draw(st.sampled_from([None, *range(number)])) for number in range(size)}
    return tree, [draw(st.sampled_from("abc")) for _ in range(size)]


@settings(max_examples=6)
@given(_trees())
def test_archetypes_link_the_pairs_of_siblings(given_tree: tuple[Tree, Sequence[str]]):
    _check_tree(*given_tree)


@pytest.mark.torture
@settings(max_examples=150)
@given(_trees())
def test_archetypes_link_the_pairs_of_siblings_in_many_trees(given_tree: tuple[Tree, Sequence[str]]):
    _check_tree(*given_tree)


def _check_tree(tree: Tree, types: Sequence[str]) -> None:
    """From each container, by brute force: all pairs of children whose types follow each other."""
    after = {"b": "a", "c": "b"}
    with TemporaryDirectory() as folder:
        with Session("p", home=Path(folder)) as session:
            for name in "abc":
                session.declare(name, after=list(after.get(name, "")))
            actors: list[Actor] = []
            for number, parent in tree.items():
                actors.append(session.register(str(number), types[number], [] if parent is None else [actors[parent]]))
        holders = {parent for parent in tree.values() if parent is not None}

        def shown(number: int) -> str:
            return f"actor:{types[number]}:p.{number}" if number in holders else f"job:default:p.{number}"

        for container in (None, *sorted(holders)):
            children = [number for number, parent in tree.items() if parent == container]
            found = reconstructed(Path(folder), "pipeline:default:p" if container is None else shown(container))
            assert sorted(name for generation in found.generations for name in generation) == sorted(map(shown, children))
            assert _archetypes(found) == {
                (shown(one), shown(other), False) for one, other in _pairs(children) if after.get(types[other]) == types[one]
            }


def _pairs(numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
    return product(numbers, repeat=2)
