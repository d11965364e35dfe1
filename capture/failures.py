"""The inputs of an actor that failed, each with the reason that the program gave, until they are kept.

They are kept as records of a table of their own, one key for each reason: so a trace of an input shows in which actor it failed and why,
and a trace of the table shows which inputs failed. An input that was captured again before the commit did not fail in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
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
_SEARCHED = 2_000  # characters of a reason in which secrets are looked for
_MOST_SECRET = 1_000  # characters at the end of these, in which a secret may be cut so that it is not recognized
_OTHER = "another reason"


class Failures:
    """Of one actor."""

    def __init__(self) -> None:
        self.left_out = 0  # inputs that had no room
        self._reasons: dict[int, str] = {}  # by the reference to an input
        self._known: dict[str, str] = {}  # by the text of a reason, as far as it is searched: what is kept of it

    def __len__(self) -> int:
        return len(self._reasons)

    def add(self, reference: int, reason: object) -> None:
        """Note an input. A secret in the reason is masked as in messages of errors."""
        if reference not in self._reasons and len(self._reasons) >= _MOST:
            self.left_out += 1
            return
        text, is_cut = _text(reason)
        kept = self._known.get(text)
        if kept is None:
            kept = _OTHER
            if len(self._known) < _MOST_REASONS:
                kept = self._known[text] = _without_secrets(text, is_cut=is_cut)
        self._reasons[reference] = kept

    def pairs(self, table: Table, captured: Associations) -> FailedPairs:
        """Pairs of an input and its reason, without those that were captured again."""
        import pyarrow as pa
        import pyarrow.compute as pc

        asked = pa.array(list(self._reasons), pa.int64())
        again = {
            reference for inputs, _ in captured.batches() for reference in inputs.filter(pc.is_in(inputs, value_set=asked)).to_pylist()
        }
        return FailedPairs({reference: table[reason] for reference, reason in self._reasons.items() if reference not in again})

    def clear(self) -> None:
        """Forget the inputs."""
        self._reasons.clear()
        self.left_out = 0


class FailedPairs:
    """What a session keeps as it keeps associations."""

    dropped = 0

    def __init__(self, pairs: dict[int, int]) -> None:
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def batches(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        """All pairs in one batch."""
        import pyarrow as pa

        yield pa.array(list(self._pairs), pa.int64()), pa.array(list(self._pairs.values()), pa.int64())


def name_of(job: str) -> str:
    """The table of the inputs that failed in an actor."""
    return f"{job}{FAILED_INPUTS}"


def _text(reason: object) -> tuple[str, bool]:
    """The text of a reason, as far as it is searched, and whether it goes on. Never raises, whatever the program's own class does."""
    name = type(reason).__name__
    try:
        text = "" if reason is None else str(reason)
    except Exception:  # noqa: BLE001 - of the program's own `__str__`
        text = "" if isinstance(reason, BaseException) else f"a {name} without a text"
    text, is_cut = text[:_SEARCHED].strip(), len(text) > _SEARCHED
    if isinstance(reason, BaseException):
        text = f"{name}: {text}".strip()
    return text or "no reason was given", is_cut


def _without_secrets(text: str, *, is_cut: bool) -> str:
    shown = redact(text.encode(errors="replace").decode())
    if is_cut:
        shown = shown[: max(0, len(shown) - _MOST_SECRET)]
    return shown[:_LONGEST] or REDACTED
