"""Makes checkpoints and evidence bundles. `verify.py` describes the format."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import rfc8785

from headwater.backend.evidence.keys import SigningKey, now
from headwater.backend.evidence.tree import Leaf, Tree
from headwater.backend.evidence.verify import (
    CHECKPOINT,
    CONSISTENCY,
    EARLIER,
    FORMAT,
    KEYS,
    MOST_BYTES,
    PROV,
    STAMPED,
    STAMPED_CONSISTENCY,
    STATEMENT,
    STATEMENT_NOTE,
    TOKEN,
    TRACE,
    Checkpoint,
    EvidenceError,
    PublicKey,
    commitment,
    open_note,
    pack,
    statement_note,
)
from headwater.backend.evidence.witness import make_request
from headwater.backend.ingest.log import IngestLog
from headwater.errors import DamagedError, InvalidInputError, NotFoundError

_MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a bundle: the question, the runs on the path of the answer, and the documents with the answer."""

    question: Mapping[str, Any]
    runs: Collection[str]
    trace: Mapping[str, Any]
    provenance: bytes


def make_checkpoint(tree: Tree, log: IngestLog, key: SigningKey) -> tuple[Checkpoint, str]:
    """Add new entries of the log to the tree, and sign its state. Return the checkpoint and its note."""
    size = tree.extend(log)
    checkpoint = Checkpoint(key.name, size, tree.root(size))
    note = key.sign(checkpoint.text)
    tree.save_checkpoint(size, note, now())
    return checkpoint, note


def make_bundle(tree: Tree, log: IngestLog, tenant: str, key: SigningKey, subject: Subject, earlier: str | None = None) -> bytes:
    """Return a bundle. `earlier` is the note of an earlier checkpoint. The bundle then proves that the log only grew since.

    If an authority has stamped a checkpoint with all entries of the bundle, the bundle has the first such token.

    Raises:
        NotFoundError: a run is not in the log.
        DamagedError: an entry of the log differs from the evidence.
        InvalidInputError: `earlier` is not a checkpoint of this log, or the runs have too many entries.
    """
    checkpoint, note = make_checkpoint(tree, log, key)
    members = {CHECKPOINT: note.encode(), KEYS: _keys(tree), TRACE: _text_of(subject.trace)}
    members[PROV] = subject.provenance
    if earlier is not None:
        members |= _growth(tree, key, checkpoint, earlier, (EARLIER, CONSISTENCY))
    leaves = list(tree.leaves_of(subject.runs, checkpoint.size))
    if len(leaves) > _MOST_ENTRIES:
        raise InvalidInputError(f"The runs of this answer have {len(leaves):,} entries in the log.", hint="Ask about fewer records.")
    if missing := sorted(set(subject.runs) - {json.loads(leaf.leaf)["run"] for leaf in leaves}):
        raise NotFoundError(f"The log has no entry of the run {missing[0]}.", hint="It may have been pruned, or imported without events.")
    stamp = tree.first_stamp(max((leaf.number + 1 for leaf in leaves), default=0))
    if stamp is not None:
        members |= {**_growth(tree, key, checkpoint, stamp[0], (STAMPED, STAMPED_CONSISTENCY)), TOKEN: stamp[1]}
    for leaf in leaves:
        members |= _entry(tree, log, tenant, leaf, checkpoint.size)
    statement = rfc8785.dumps(
        {
            "format": FORMAT,
            "made": now(),
            "members": {name: sha256(content).hexdigest() for name, content in members.items()},
            "question": json.loads(_text_of(subject.question)),
        }
    )
    members[STATEMENT] = statement
    members[STATEMENT_NOTE] = key.sign(statement_note(sha256(statement).hexdigest())).encode()
    bundle = pack(members)
    if len(bundle) > MOST_BYTES:
        raise InvalidInputError(f"The bundle would have {len(bundle):,} bytes, more than {MOST_BYTES:,}.", hint="Ask about fewer records.")
    return bundle


def _keys(tree: Tree) -> bytes:
    return rfc8785.dumps([{"key": public, "made": made, "note": note} for public, note, made in tree.public_keys()])


def make_grown_checkpoint(tree: Tree, log: IngestLog, key: SigningKey, earlier: str) -> str:
    """Return a new checkpoint with the proof that the log only grew since an earlier one. Raises as `make_bundle`."""
    checkpoint, note = make_checkpoint(tree, log, key)
    first = _read_earlier(tree, earlier)
    return make_request(note, first.size, tree.consistency(first.size, checkpoint.size))


def _read_earlier(tree: Tree, earlier: str) -> Checkpoint:
    try:
        first = Checkpoint.parse(open_note(earlier, [PublicKey.parse(public) for public, _, _ in tree.public_keys()]))
    except EvidenceError as error:
        raise InvalidInputError(f"The earlier checkpoint is not of this home: {error}", field="since") from error
    tree.check(first)
    return first


def _growth(tree: Tree, key: SigningKey, checkpoint: Checkpoint, earlier: str, names: tuple[str, str]) -> dict[str, bytes]:
    first = _read_earlier(tree, earlier)
    note = earlier + ("" if key.signature(first.text) in earlier else key.signature(first.text))
    proof = tree.consistency(first.size, checkpoint.size)
    return {names[0]: note.encode(), names[1]: rfc8785.dumps([base64.b64encode(node).decode() for node in proof])}


def _entry(tree: Tree, log: IngestLog, tenant: str, leaf: Leaf, size: int) -> dict[str, bytes]:
    proof = [base64.b64encode(node).decode() for node in tree.inclusion(leaf.number, size)]
    stem = f"entries/{leaf.number}"
    members = {f"{stem}.leaf": leaf.leaf, f"{stem}.proof": rfc8785.dumps(proof)}
    if leaf.salt is None:
        return members
    entry = log.entry_at(tenant, leaf.offset)
    if entry is None or commitment(leaf.salt, entry.body) != json.loads(leaf.leaf)["commitment"]:
        raise DamagedError(
            f"Entry {leaf.offset} of the log was changed after it was added to the evidence.", hint="`headwater doctor` checks the log."
        )
    return {**members, f"{stem}.salt": leaf.salt, f"{stem}.body": entry.body}


def _text_of(value: Mapping[str, Any]) -> bytes:
    """Return JSON. Types that JSON lacks, like dates and decimals, become text."""
    return json.dumps(value, default=str, sort_keys=True, ensure_ascii=False, indent=1).encode()
