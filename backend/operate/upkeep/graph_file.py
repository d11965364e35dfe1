"""`headwater store export` and `import`: a tenant's graph in a file, between stores of any kind.

If the file comes from the same log (the graph moves to another store), the projector continues from its offset. The graph of another home
is merged into this home's graph, and this home's log is projected as before.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, cast

from headwater.backend.ingest.log import IngestLog
from headwater.errors import ConfigurationError
from headwater.graph.stores import GraphStore
from headwater.graph.stores.portable import Head, Tail, read_graph, read_head, write_graph


async def export_graph(log: IngestLog, store: GraphStore, tenant: str, target: Path) -> Tail:
    """Write a tenant's graph to a file, compressed if its name ends in .gz. An existing file is replaced after the new file is complete.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    offset = await store.offset(tenant)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with _writing(draft, packed=target.suffix == ".gz") as file:
            tail = await write_graph(store, tenant, Head(offset, log.key_at(tenant, offset)), file.write)
        os.replace(draft, target)
    except OSError as error:
        raise ConfigurationError(
            f"{target} cannot be written: {error.strerror}.", hint="Name a file in a folder that you may write to."
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return tail


async def import_graph(log: IngestLog, store: GraphStore, tenant: str, source: Path) -> Tail:
    """Merge the graph in a file into a tenant's graph.

    Raises:
        ConfigurationError: the file cannot be read.
        InvalidInputError: the file is not a graph file, damaged, or truncated.
    """
    try:
        with _reading(source) as lines:
            head = read_head(lines)
            ours = head.offset > 0 and log.key_at(tenant, head.offset) == head.entry
            return await read_graph(store, tenant, lines, offset=head.offset if ours else None)
    except (OSError, EOFError) as error:
        raise ConfigurationError(f"{source} cannot be read: {error}.", hint="Name a file that `headwater store export` wrote.") from error


@contextmanager
def _writing(path: Path, *, packed: bool) -> Iterator[TextIO]:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as raw:
        # Level 1 is four times as fast as the default, for a tenth more bytes.
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=1, mtime=0)) if packed else raw
        with io.TextIOWrapper(binary, encoding="utf-8", newline="\n", write_through=False) as text:
            yield text
            text.flush()
            if not packed:
                os.fsync(raw.fileno())


@contextmanager
def _reading(path: Path) -> Iterator[Iterator[str]]:
    with path.open("rb") as raw:
        binary = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if path.suffix == ".gz" else raw
        with io.TextIOWrapper(binary, encoding="utf-8") as text:
            yield iter(text)
