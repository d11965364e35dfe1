"""The failed inputs of an actor with their reasons, before they are kept.

They become records of a separate table with one key for each reason. A trace of an input then shows the actor and the reason, and a trace
of the table shows the failed inputs. A key has only the type of an exception, because a reason may hold values, which masks hide. An input
that was captured again before the commit has not failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.graph.associations.references import FAILED_INPUTS
from headwater.spark_listener.redact import REDACTED, redact

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.capture.associations import Associations
    from headwater.capture.data import Table

_MOST = 10_000  # inputs of one commit
_MOST_REASONS = 1_000  # of one actor
_LONGEST = 300  # characters of a reason
_SEARCHED = 2_000  # characters of a reason that are searched for secrets
_MOST_SECRET = 1_000  # characters at the end of the searched text: a secret may be cut there
_LONGEST_TYPE = 80  # characters of the type of an exception
_TEXT = "reason"  # instead of a type, if the program gives a text


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason of failed inputs. `number` distinguishes the reasons of one actor."""

    kind: str
    number: int
    text: str

    def key(self, run: str) -> str:
        return f"{self.kind} {self.number} of {run}"


_OTHER = Reason(_TEXT, 0, "another reason")


class Failures:
    """The failed inputs of one actor."""

    def __init__(self) -> None:
        self.left_out = 0  # inputs beyond the limit
        self._reasons: dict[int, Reason] = {}  # by the reference to an input
        self._known: dict[tuple[str, str], Reason] = {}  # by type and searched text

    def __len__(self) -> int:
        return len(self._reasons)

    def add(self, reference: int, reason: object) -> None:
        """Add an input. Secrets in the reason are masked as in error messages."""
        if reference not in self._reasons and len(self._reasons) >= _MOST:
            self.left_out += 1
            return
        kind, text, is_cut = _describe(reason)
        known = self._known.get((kind, text))
        if known is None:
            known = _OTHER
            if len(self._known) < _MOST_REASONS:
                known = self._known[kind, text] = Reason(kind, len(self._known) + 1, _without_secrets(text, is_cut=is_cut))
        self._reasons[reference] = known

    def pairs(self, table: Table, captured: Associations, run: str) -> FailedPairs:
        """Return the pairs of input and reason in a run. Inputs that were captured again are left out."""
        import pyarrow as pa
        import pyarrow.compute as pc

        asked = pa.array(list(self._reasons), pa.int64())
        again = {
            reference for inputs, _ in captured.batches() for reference in inputs.filter(pc.is_in(inputs, value_set=asked)).to_pylist()
        }
        failed = {reference: reason for reference, reason in self._reasons.items() if reference not in again}
        table.reasons = {reason.key(run): reason.text for reason in failed.values()}
        return FailedPairs({reference: table[reason.key(run)] for reference, reason in failed.items()})

    def clear(self) -> None:
        self._reasons.clear()
        self.left_out = 0


class FailedPairs:
    dropped = 0

    def __init__(self, pairs: dict[int, int]) -> None:
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def batches(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        import pyarrow as pa

        yield pa.array(list(self._pairs), pa.int64()), pa.array(list(self._pairs.values()), pa.int64())


def name_of(job: str) -> str:
    return f"{job}{FAILED_INPUTS}"


def _describe(reason: object) -> tuple[str, str, bool]:
    """Return the type of a reason, the searched part of its text, and whether the text is longer. Never raises."""
    kind, start = _TEXT, ""
    try:
        if isinstance(reason, BaseException):
            kind = type(reason).__name__[:_LONGEST_TYPE]
            start = f"{kind}: "
        whole = "" if reason is None else str(reason)
    except Exception:  # noqa: BLE001 - of the program's own class
        whole = "" if start else f"a {type(reason).__name__} without a text"
    text = f"{start}{whole[:_SEARCHED].strip()}".strip()
    return kind, text or "no reason was given", len(whole) > _SEARCHED


def _without_secrets(text: str, *, is_cut: bool) -> str:
    shown = redact(text.encode(errors="replace").decode())
    if is_cut:
        shown = shown[: max(0, len(shown) - _MOST_SECRET)]
    return shown[:_LONGEST] or REDACTED
