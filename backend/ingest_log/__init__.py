"""The ingest log: everything that was accepted, once, byte for byte, in the order of acceptance.

`protocol` says what a log must do, `sqlite` is the embedded one, `postgres` the one that several replicas of a service share; `registry`
opens the one that the settings name.
"""

from __future__ import annotations

from headwater.backend.ingest_log.model import DeadLetter, Draft, Entry, EntryKind, Receipt, Stage
from headwater.backend.ingest_log.protocol import IngestLog

__all__ = ["DeadLetter", "Draft", "Entry", "EntryKind", "IngestLog", "Receipt", "Stage"]
