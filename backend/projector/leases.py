"""Runs work under a lease, so that one replica at a time does it. The lease is renewed until the work ends.

A lease expires soon after its holder is gone, so that another replica continues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from headwater.backend.ingest.log import IngestLog
from headwater.errors import HeadwaterError

_SECONDS = 5.0  # another replica may continue after this time
_RENEWED = 1.0
_log = logging.getLogger("headwater.leases")


@asynccontextmanager
async def leased(log: IngestLog, work: str) -> AsyncIterator[bool]:
    """Take a lease for a block. Yields whether the lease was granted.

    Raises:
        UnavailableError: the log does not answer.
    """
    if not await asyncio.to_thread(log.take_lease, work, seconds=_SECONDS):
        yield False
        return
    renewing = asyncio.create_task(_renew(log, work))
    try:
        yield True
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        with suppress(HeadwaterError):  # the lease expires by itself
            await asyncio.to_thread(log.end_lease, work)


async def _renew(log: IngestLog, work: str) -> None:
    while True:
        await asyncio.sleep(_RENEWED)
        try:
            if not await asyncio.to_thread(log.take_lease, work, seconds=_SECONDS):
                _log.info("another replica goes on with %s", work)
                return
        except HeadwaterError as error:
            _log.warning("the lease of %s cannot be renewed: %s", work, error)
