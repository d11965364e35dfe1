"""The tree has the roots and the proofs that RFC 9162 defines."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from headwater.backend.evidence.tree import Tree
from headwater.backend.evidence.verify import is_consistent, leaf_hash, root_of
from headwater.backend.ingest.log.model import Draft, EntryKind
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.errors import DamagedError, NotFoundError

TENANT = "default"
_COUNT = 70


def _draft(number: int) -> Draft:
    body = json.dumps({"run": {"runId": f"run-{number // 3}"}, "number": number}).encode()
    return Draft(EntryKind.EVENT, sha256(body).digest(), body)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    opened = SqliteLog(tmp_path / "ingest.db")
    yield opened
    opened.close()


@pytest.fixture
def tree(tmp_path: Path, log: SqliteLog) -> Iterator[Tree]:
    log.append(TENANT, [_draft(number) for number in range(_COUNT)]).result()
    opened = Tree(tmp_path / "evidence.db", TENANT)
    opened.extend(log)
    yield opened
    opened.close()


def _root(leaves: Sequence[bytes]) -> bytes:
    """Compute the root as RFC 9162 defines it (2.1.1)."""
    if len(leaves) < 2:
        return sha256(b"\x00" + leaves[0]).digest() if leaves else sha256(b"").digest()
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return sha256(b"\x01" + _root(leaves[:half]) + _root(leaves[half:])).digest()


def _leaves(tree: Tree) -> list[bytes]:
    return [leaf.leaf for leaf in tree.leaves_of({f"run-{number}" for number in range(_COUNT)}, tree.size)]


def test_roots_are_those_of_the_standard(tree: Tree) -> None:
    leaves = _leaves(tree)
    assert tree.size == len(leaves) == _COUNT
    assert [tree.root(size) for size in range(_COUNT + 1)] == [_root(leaves[:size]) for size in range(_COUNT + 1)]


def test_each_leaf_of_each_size_has_a_proof_that_no_other_leaf_has(tree: Tree) -> None:
    leaves = _leaves(tree)
    for size in range(1, _COUNT + 1):
        for number in range(size):
            proof = tree.inclusion(number, size)
            assert root_of(leaf_hash(leaves[number]), number, size, proof) == tree.root(size)
            assert root_of(leaf_hash(b"other"), number, size, proof) != tree.root(size)
            assert root_of(leaf_hash(leaves[number]), number, size, [*proof, b"\0" * 32]) is None
            assert not proof or root_of(leaf_hash(leaves[number]), number, size, proof[:-1]) != tree.root(size)
            assert root_of(leaf_hash(leaves[number]), size, size, proof) is None


def test_each_size_grew_from_each_smaller_one(tree: Tree) -> None:
    for second in range(1, _COUNT + 1):
        for first in range(1, second + 1):
            proof = tree.consistency(first, second)
            assert is_consistent(first, second, tree.root(first), tree.root(second), proof)
            assert not is_consistent(first, second, b"\1" * 32, tree.root(second), proof)
            assert not is_consistent(first, second, tree.root(first), b"\1" * 32, proof)
            assert not proof or not is_consistent(first, second, tree.root(first), tree.root(second), proof[:-1])


def test_later_entries_are_added_once(tree: Tree, log: SqliteLog) -> None:
    before = tree.root(_COUNT)
    log.append(TENANT, [_draft(number) for number in range(_COUNT, _COUNT + 5)]).result()
    assert tree.extend(log) == tree.extend(log) == _COUNT + 5
    assert tree.root(_COUNT) == before


def test_two_processes_may_extend_one_tree(tmp_path: Path, tree: Tree, log: SqliteLog) -> None:
    other = Tree(tmp_path / "evidence.db", TENANT)
    log.append(TENANT, [_draft(_COUNT)]).result()
    assert other.extend(log) == tree.extend(log) == _COUNT + 1
    other.close()


def test_erased_entries_keep_their_leaf(tree: Tree) -> None:
    root = tree.root(_COUNT)
    [first, *_] = tree.leaves_of({"run-0"}, tree.size)
    tree.forget([first.offset])
    [erased, *_] = tree.leaves_of({"run-0"}, tree.size)
    assert (erased.leaf, erased.salt) == (first.leaf, None)
    assert tree.root(_COUNT) == root
    with pytest.raises(NotFoundError):
        tree.forget([10_000])


def test_a_missing_hash_is_named(tmp_path: Path) -> None:
    empty = Tree(tmp_path / "empty.db", TENANT)
    for size in (3, 300):
        with pytest.raises(DamagedError, match=r"(leaf|hash) .* missing"):
            empty.root(size)
    empty.close()


def test_bodies_of_any_form_become_leaves(tmp_path: Path, log: SqliteLog) -> None:
    bodies = [b"{}", b"[]", b'{"run": 3}', b'{"run": {"runId": 7}}', b"\xff", b'{"run": {"runId": "' + b"x" * 5_000 + b'"}}']
    log.append(TENANT, [Draft(EntryKind.EVENT, sha256(body).digest(), body) for body in bodies]).result()
    tree = Tree(tmp_path / "odd.db", TENANT)
    assert tree.extend(log) == len(bodies)
    assert len(list(tree.leaves_of({""}, tree.size))) == len(bodies)
    tree.close()


def test_a_tree_of_many_portions_is_the_tree_of_the_standard(tmp_path: Path, log: SqliteLog) -> None:
    drawn = random.Random(5)
    count = 0
    while count < 2_700:
        portion = drawn.choice((1, 2, 255, 256, 257, 1_100))
        log.append(TENANT, [_draft(number) for number in range(count, count + portion)]).result()
        tree = Tree(tmp_path / "evidence.db", TENANT)
        before = tree.size
        old = tree.root(before)
        count = tree.extend(log)
        leaves = [leaf.leaf for leaf in tree.leaves_of({f"run-{number}" for number in range(count)}, count)]
        assert len(leaves) == count
        assert tree.root(count) == _root(leaves)
        assert is_consistent(before, count, old, tree.root(count), tree.consistency(before, count))
        for number in drawn.sample(range(count), min(count, 20)):
            assert root_of(leaf_hash(leaves[number]), number, count, tree.inclusion(number, count)) == tree.root(count)
        assert all(rfc8785.dumps(json.loads(leaf)) == leaf for leaf in leaves[before:])
        tree.close()


@pytest.mark.parametrize(
    "document",
    [
        {"run": {"runId": "a"}}, {"parent": {"run": {"runId": "b"}}, "run": {"runId": "a"}}, {"x": [{"run": {"runId": "b"}}]},
        {"run": {"facets": {"parent": {"run": {"runId": "b"}}}, "runId": "a"}}, {"run": {"namespace": "n", "job": "j", "runId": "a"}},
        {"x": '"run":{"runId":"b"}', "run": {"runId": "a"}}, {"x": "{[", "run": {"runId": "a"}}, {"x": "}", "y": {"run": {"runId": "b"}}},
        {"run": {"runId": "\u00e9"}}, {"run": {"runId": "a\\"}}, {"run": {"x": {"runId": "b"}}}, {"run": {"runId": ""}},
        [{"run": {"runId": "b"}}],
        {"x": "a\\", "y": {"run": {"runId": "b"}}}, {"run": {"runId": "\ud800"}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_the_run_of_a_leaf_is_that_of_the_whole_document(document: Any, indent: int | None, tmp_path: Path, log: SqliteLog) -> None:
    run = document.get("run", {}).get("runId", "") if isinstance(document, dict) else ""
    body = json.dumps(document, indent=indent, ensure_ascii=run == "\ud800").encode()
    log.append(TENANT, [Draft(EntryKind.EVENT, sha256(body).digest(), body)]).result()
    tree = Tree(tmp_path / "evidence.db", TENANT)
    tree.extend(log)
    wanted = "" if run == "\ud800" else run
    [leaf] = tree.leaves_of({wanted}, 1)
    assert json.loads(leaf.leaf)["run"] == wanted
    tree.close()
