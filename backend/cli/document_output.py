"""Writes documents in chunks, to standard output or to a file. A file is written wholly or not at all."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

from headwater.backend.cli.output import note
from headwater.errors import ConfigurationError


async def put_out(chunks: AsyncIterator[bytes], output: Path | None) -> None:
    """Write a document to a file, or to standard output if no file is named.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    if output is None:
        async for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    await _save(chunks, output)
    note(f"Wrote {output}.")


async def _save(chunks: AsyncIterator[bytes], output: Path) -> None:
    draft = output.with_name(f".{output.name}.{uuid4().hex}.tmp")
    try:
        with draft.open("wb") as file:
            async for chunk in chunks:
                file.write(chunk)
        draft.replace(output)
    except OSError as error:
        raise ConfigurationError(f"{output} cannot be written: {error.strerror}.", hint="Name another file with -o.") from error
    finally:
        draft.unlink(missing_ok=True)
