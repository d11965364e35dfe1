"""Events from the objects below a prefix of an object store: JSON lines, or one document or array if the name ends with .json.

    url = "s3://lake/events"               # below a root of storage.toml, which has endpoint and credentials
    seconds = 10                           # between two listings, the default

An object whose name ends with .gz is decompressed. An object is read once, as a whole, and again after it is replaced. Progress is recorded
by name and tag. Nothing is deleted: use a lifecycle rule of the bucket, because each listing lists all objects. One replica at a time
lists them. An object that cannot be read, or whose name is too long for a request, is reported, and tried again after all others.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator

from headwater.backend.intakes.protocol import IntakeSettings, Surroundings
from headwater.backend.intakes.settings import require_known, text_of
from headwater.errors import ConfigurationError, HeadwaterError, UnavailableError
from headwater.graph.storage.object_folder import Place
from headwater.graph.storage.protocol import Stat

_LEASE = 60.0  # seconds
_PART = 4 << 20
_AT_ONCE = 256  # documents
_SETTLED = 5000  # milliseconds after which a replaced object has another time for certain; times are in seconds


class ObjectsIntake:
    """An intake for objects (see the module's docstring)."""

    def __init__(self, settings: IntakeSettings) -> None:
        require_known(settings, {"url", "seconds"})
        seconds = settings.options.get("seconds", 10)
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= 86400:
            raise ConfigurationError(f"seconds of the intake {settings.name} is no number of seconds up to a day.")
        self.name = settings.name
        self.tenant = settings.tenant
        self._url = text_of(settings, "url")
        self._seconds = float(seconds)
        self._lag: int | None = None
        self._seen: dict[str, Stat] = {}  # objects listed without a tag that were already checked
        self._refused: set[tuple[str, str]] = set()  # unreadable objects, by name and tag, which are read last

    def run(self, around: Surroundings) -> None:
        place = around.remote.folder(self._url)
        source = f"objects:{place.url}"
        while not around.stopping.is_set():
            if around.log.take_lease(source, seconds=_LEASE):
                try:
                    self._look(place, source, around)
                finally:
                    around.log.end_lease(source)
            else:
                self._lag = None  # another replica measures it
            around.stopping.wait(self._seconds)

    def lag(self) -> int | None:
        return self._lag

    def _look(self, place: Place, source: str, around: Surroundings) -> None:
        noted = around.log.marks(source)
        found, odd = place.files_of_any_name()
        new = [(name, stat) for name, stat in found if noted.get(name) != _tag(stat) and self._seen.get(name) != stat]
        self._refused &= {(name, _tag(stat)) for name, stat in new}
        new.sort(key=lambda found: ((found[0], _tag(found[1])) in self._refused, found[1].modified, found[0]))
        for number, (name, stat) in enumerate(new):
            self._lag = len(new) - number
            if around.stopping.is_set() or not around.log.take_lease(source, seconds=_LEASE):
                return
            try:
                now = stat if stat.tag else place.stat(name)
                is_new = now is not None and noted.get(name) != _tag(now)
                if is_new and now is not None and not self._read(place, name, now, around):
                    return
            except HeadwaterError:
                self._refused.add((name, _tag(stat)))
                raise
            if is_new and now is not None:
                around.log.mark(source, name, _tag(now)).result()
            if not stat.tag and time.time() * 1000 - stat.modified > _SETTLED:
                self._seen[name] = stat
        self._lag = len(odd)
        if odd:
            raise UnavailableError(
                f"{len(odd)} objects have names that no request can bear, with a control character or an empty part, as {odd[0][:200]!r}.",
                hint="Put them again under other names.",
            )

    def _read(self, place: Place, name: str, stat: Stat, around: Surroundings) -> bool:
        """Read an object. Returns whether all its documents are durable or dead letters."""
        is_packed = name.endswith(".gz")
        is_whole = name.removesuffix(".gz").endswith(".json")
        parts = _unpacked(place.parts(name, stat, _PART)) if is_packed else place.parts(name, stat, _PART)
        batch: list[bytes] = []
        try:
            for body in _documents(parts, around.door.longest, is_whole=is_whole):
                if not around.stopping.is_set() and len(batch) < _AT_ONCE and sum(map(len, batch)) < _PART:
                    batch.append(body)
                    continue
                if not around.door.take(batch):
                    return False
                batch = [body]
        except zlib.error:
            if not around.door.take(batch):
                return False
            return around.door.refuse(f"{self._url}: {name}".encode(), f"The object {name} cannot be unpacked.")
        return around.door.take(batch)


def _documents(parts: Iterator[bytes], longest: int, *, is_whole: bool) -> Iterator[bytes]:
    """Yield the documents of an object. A document above the limit is cut to one byte more, so that it is refused."""
    rest, skipping = b"", False
    for part in parts:
        rest += part
        if not is_whole:
            *lines, rest = rest.split(b"\n")
            if skipping and lines:
                lines, skipping = lines[1:], False
            yield from (line[: longest + 1] for line in lines if line.strip())
        if len(rest) > longest:
            if not skipping:
                yield rest[: longest + 1]
            if is_whole:
                return
            rest, skipping = b"", True
    if rest.strip() and not skipping:
        yield rest


def _unpacked(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress a gzip stream with little memory, whatever its size.

    Raises:
        zlib.error: the stream is not gzip, or is truncated.
    """
    unpacking = zlib.decompressobj(wbits=31)
    for part in parts:
        left = part
        while left:
            yield unpacking.decompress(left, _PART)
            left = unpacking.unconsumed_tail
            if unpacking.eof:
                left = unpacking.unused_data
                if left:  # another member follows
                    unpacking = zlib.decompressobj(wbits=31)
    if not unpacking.eof:
        raise zlib.error("it is cut off")


def _tag(stat: Stat) -> str:
    return stat.tag or f"{stat.length}-{stat.modified}"
