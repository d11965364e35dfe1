"""Has a time-stamp authority stamp a checkpoint, and keeps the token with the evidence."""

from __future__ import annotations

import secrets

from headwater.backend.evidence.bundle import make_checkpoint
from headwater.backend.evidence.keys import SigningKey
from headwater.backend.evidence.timestamp_token import (
    INTEGER,
    SEQUENCE,
    Node,
    Stamp,
    TokenError,
    encode,
    imprint_of,
    integer,
    read_authorities,
    read_stamp,
    verify_token,
)
from headwater.backend.evidence.tree import Tree
from headwater.backend.evidence.verify import Checkpoint
from headwater.backend.ingest.log import IngestLog
from headwater.backend.targets.timestamp import TimestampTarget, ask_authority
from headwater.errors import HeadwaterError, UnsupportedError

_TRUE = bytes.fromhex("0101ff")
_GRANTED = (b"\0", b"\1")
_LONGEST = 200


class StampError(HeadwaterError):
    """A time-stamp authority refused a request, or sent a token that does not hold."""


def stamp_checkpoint(tree: Tree, log: IngestLog, key: SigningKey, target: TimestampTarget) -> tuple[Checkpoint, str]:
    """Have an authority stamp the present state of the log. Return the checkpoint, and the time in ISO 8601.

    Raises:
        StampError: the authority refused, or its token does not hold. Nothing is stored.
        UnavailableError: the authority does not answer.
        UnsupportedError: the log is empty.
    """
    checkpoint, note = make_checkpoint(tree, log, key)
    if not checkpoint.size:
        raise UnsupportedError("The log is empty, so there is nothing to stamp.")
    text, nonce = checkpoint.text.encode(), secrets.randbits(63)
    answer = ask_authority(target, encode(SEQUENCE, integer(1) + imprint_of(text) + integer(nonce) + _TRUE))
    try:
        stamp = _read_answer(answer, text, nonce, target)
    except (TokenError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, TokenError) else "it has another form."
        raise StampError(
            f"The answer of the time-stamp authority {target.name} does not hold: {reason}",
            hint="Compare certificate_file in targets.toml with the certificate of the authority.",
        ) from error
    at = stamp.at.isoformat(timespec="seconds")
    tree.save_stamp(checkpoint.size, note, stamp.token, at)
    return checkpoint, at


def _read_answer(answer: bytes, text: bytes, nonce: int, target: TimestampTarget) -> Stamp:
    whole = Node(SEQUENCE, answer).parts()
    if len(whole) != 1 or whole[0].tag != SEQUENCE:
        raise TokenError("It has another form.")
    status, *tokens = whole[0].parts()
    code, *more = status.parts()
    if code.tag != INTEGER or code.content not in _GRANTED or len(tokens) != 1:
        words = [each.content.decode("utf-8", "replace") for node in more if node.tag == SEQUENCE for each in node.parts()]
        said = "".join(letter for letter in " ".join(words) if letter.isprintable())[:_LONGEST]
        raise StampError(
            f"The time-stamp authority {target.name} refused the request: {said or 'it gave no reason'}.",
            hint="Look at the url in targets.toml.",
        )  # fmt: skip
    authorities = read_authorities(target.certificate)
    stamp = read_stamp(tokens[0].raw, text, authorities, drops_trusted=True)
    if stamp.nonce != nonce:
        raise TokenError("The token is the answer to another request.")
    verify_token(stamp.token, text, authorities)
    return stamp
