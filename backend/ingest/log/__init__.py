"""The ingest log: every accepted document, once, byte for byte until it is erased, in the order of acceptance.

`protocol` states the duties of a log. `sqlite` is the embedded log, `postgres` the log that several replicas of a service share. `registry`
opens the log that the settings name.
"""

from __future__ import annotations

from headwater.backend.ingest.log.model import DeadLetter, Draft, Entry, EntryKind, Receipt, Stage
from headwater.backend.ingest.log.protocol import IngestLog

__all__ = ["DeadLetter", "Draft", "Entry", "EntryKind", "IngestLog", "Receipt", "Stage"]
