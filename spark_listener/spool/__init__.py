"""The spool: what an application wrote and nobody acknowledged yet. Bounded, on disk, checksummed, resent by whoever comes next."""

from headwater.spark_listener.spool.folder import SpoolFolder, applications, has_ended
from headwater.spark_listener.spool.log import Item, ItemKind, SpoolLog

__all__ = ["Item", "ItemKind", "SpoolFolder", "SpoolLog", "applications", "has_ended"]
