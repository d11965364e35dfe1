"""Texts that come later in a document than in its source. A long text is in a temporary file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from tempfile import SpooledTemporaryFile

from headwater.graph.prov.model import Item, Opened, Statement

_IN_MEMORY = 256 * 1024
_CHUNK = 256 * 1024


class Spool:
    """A list of texts that is read once, in order."""

    def __init__(self) -> None:
        # Closed where it is read to its end or forgotten: a generator that is given up closes its spools by reference count.
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self.count = 0

    def add(self, text: str) -> None:
        self._file.write(text.encode())
        self.count += 1

    def drain(self) -> Iterator[str]:
        """Yield all texts in chunks. Afterwards, the temporary file is removed."""
        self._file.seek(0)
        # Decoded line by line in effect: a chunk ends where a text may not, so the bytes are cut at line ends.
        rest = b""
        while chunk := self._file.read(_CHUNK):
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield (rest + chunk[:cut]).decode()
                rest = chunk[cut:]
            else:
                rest += chunk
        self._file.close()
        if rest:
            yield rest.decode()


def bundles_last(items: Iterable[Item], write: Callable[[Statement], str], opened: Callable[[str], str], closed: str) -> Iterator[str]:
    """Statements as they come, then the bundles, for grammars that want them last: `opened` begins one of an id, `closed` ends it."""
    bundles = Spool()
    inside = False
    for item in items:
        if isinstance(item, Statement):
            text = write(item)
            if inside:
                bundles.add(text)
            else:
                yield text
        else:
            inside = isinstance(item, Opened)
            bundles.add(opened(item.id) if inside else closed)
    yield from bundles.drain()
